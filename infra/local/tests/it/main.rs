//! Runs the real binary, kills it, and starts it again.

mod announced;
mod belfry;
mod crash;
mod crash_dead_letters;
mod crash_delivery;
mod crash_fanout;
mod crash_saga;
mod crash_sends;
mod process;
mod show;
mod soak;
mod staff;
mod verify;
mod world;
