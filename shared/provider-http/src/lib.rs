#![doc = include_str!("../README.md")]

mod client;
mod settings;

pub use client::{client, read_body};
pub use reqwest::Url;
pub use settings::{connect_limit, endpoint, invalid_secret, invalid_setting, is_loopback, may_call, time_limit};
