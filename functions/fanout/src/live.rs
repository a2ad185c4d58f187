//! Tells those who listen right now: right after the commit of a chunk, its recipients' live sockets.
//!
//! One query for each recipient, ten at once, and one call for each of their sockets. Best effort, at most once: what a
//! socket misses, the inbox has.

use std::time::Duration;

use domain::live::{Message, News};
use domain::notification::{NotificationView, Reading};
use domain::recipient::{Channel, Recipient};
use domain::{Audience, UserId};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sockets::Sockets;
use tokio::time::Instant;

use crate::told::Told;

/// What all chunks of one message may spend on sockets. Without an end, an API Gateway that is slow would keep a large
/// audience from being told within the function's timeout.
const PATIENCE: Duration = Duration::from_secs(20);

/// The sockets, for one message.
#[derive(Debug)]
pub struct Live {
    sockets: Sockets,
    left: Duration,
}

/// Somebody who may have a socket open, and how they read.
#[derive(Debug, Clone)]
pub struct Listener {
    user_id: UserId,
    reading: Reading,
}

impl Listener {
    /// A recipient, unless they do not want to hear of this event type live.
    pub fn new(user_id: &UserId, recipient: Option<&Recipient>, event_type: &str) -> Option<Self> {
        let details = recipient.map(|recipient| &recipient.details);
        if details.is_some_and(|details| !details.wants(event_type, Channel::Websocket)) {
            return None;
        }
        Some(Self { user_id: user_id.clone(), reading: Reading::of(recipient, None) })
    }
}

impl Live {
    /// Nothing is spent yet.
    pub fn new(sockets: &Sockets) -> Self {
        Self { sockets: sockets.clone(), left: PATIENCE }
    }

    /// Tells the recipients of a chunk that is committed.
    pub async fn push(&mut self, told: &Told, listeners: &[Listener]) {
        self.push_all(messages(told, listeners)).await;
    }

    /// The same as something to do after a commit.
    pub fn after_commit(mut self, told: &Told, listeners: &[Listener]) -> BoxFuture<'static, ()> {
        let messages = messages(told, listeners);
        async move { self.push_all(messages).await }.boxed()
    }

    async fn push_all(&mut self, messages: Vec<(Audience, UserId, Message)>) {
        if self.left.is_zero() {
            return;
        }
        let began = Instant::now();
        self.sockets.push_all(messages).await;
        self.left = self.left.saturating_sub(began.elapsed());
        if self.left.is_zero() {
            tracing::warn!("sockets are slow: nobody else is told live of this event");
        }
    }
}

fn messages(told: &Told, listeners: &[Listener]) -> Vec<(Audience, UserId, Message)> {
    let message = |listener: &Listener| {
        let notification = NotificationView::new(told.to(&listener.user_id), told.shared.clone(), &listener.reading);
        (told.shared.audience, listener.user_id.clone(), Message { news: News::Notification, notification })
    };
    listeners.iter().map(message).collect()
}
