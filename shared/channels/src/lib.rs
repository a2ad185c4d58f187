#![doc = include_str!("../README.md")]

mod aws;
mod channels;
pub mod email;
mod http;
mod not_sent;
mod outgoing;
mod provider;
pub mod push;
pub mod slack;
pub mod sms;

pub use channels::{Channels, Providers};
pub use not_sent::{NotSent, Reason};
pub use outgoing::{Address, Message, Outgoing, Receipt};
/// How long one send may take in all.
pub use outside::time_limit;
pub use provider::Provider;
/// Of `List-Unsubscribe`.
pub use reqwest::Url;
