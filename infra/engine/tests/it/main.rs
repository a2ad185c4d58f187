//! The engines through the AWS clients. Every test has a pair and ports of its own.

mod clients;
mod dead_letters;
mod lifecycle;
mod queues;
mod streams;
mod tables;
mod transactions;
