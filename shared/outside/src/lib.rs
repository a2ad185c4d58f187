#![doc = include_str!("../README.md")]

pub mod http;
mod setting;

pub use reqwest::Url;
pub use setting::{connect_limit, endpoint, is_loopback, may_call, time_limit, wrong, wrong_secret};
