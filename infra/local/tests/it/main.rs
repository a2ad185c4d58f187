//! The real binary, killed and started again.

mod belfry;
mod crash;
mod process;
