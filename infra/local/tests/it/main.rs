//! The real binary, killed and started again.

mod announced;
mod belfry;
mod crash;
mod crash_dead_letters;
mod crash_delivery;
mod process;
mod world;
