//! The engines as the AWS clients see them: every test has a pair of its own, on ports of its own.

mod clients;
mod dead_letters;
mod lifecycle;
mod queues;
mod streams;
mod tables;
mod transactions;
