#![doc = include_str!("../README.md")]

mod aws;
mod channels;
pub mod email;
mod http;
mod not_sent;
mod outgoing;
mod provider;
pub mod push;
mod setting;
pub mod slack;
pub mod sms;

pub use channels::{Channels, Providers};
pub use not_sent::{NotSent, Reason};
pub use outgoing::{Address, Message, Outgoing, Receipt};
pub use provider::Provider;
/// Of `List-Unsubscribe`.
pub use reqwest::Url;
pub use setting::time_limit;
