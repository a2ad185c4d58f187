#![doc = include_str!("../README.md")]

mod aws;
mod channels;
pub mod email;
mod http_error;
mod outgoing;
mod provider;
pub mod push;
mod send_error;
pub mod slack;
pub mod sms;

pub use channels::{Channels, Providers};
pub use outgoing::{Address, Message, Outgoing, Receipt};
pub use provider::Provider;
pub use provider_http::time_limit;
pub use reqwest::Url;
pub use send_error::{Reason, SendError};
