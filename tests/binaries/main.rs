//! The release binaries of the functions, each as its own process behind a stand-in of Lambda's Runtime API, invoked with
//! the sample events of `infra/events`.
//!
//! A test target of its own: it runs after the others, alone, because it builds what it tests.

mod breakage;
mod function;
mod matrix;
mod sam_local;
mod samples;
