//! The kernel on real engines: every test has a pair of its own.

mod bad_commits;
mod commands;
mod consumers;
mod dead_letters;
mod library;
mod outbox;
mod world;
