//! Pushes a notification to the connected clients of its recipients, after the commit of their chunk.
//!
//! One query per recipient, ten at a time, and one call per connection. Best effort and at most once: a client that misses
//! it finds it in the inbox.

use std::time::Duration;

use domain::live::{Message, News};
use domain::notification::{NotificationView, Reading};
use domain::recipient::{Channel, Recipient};
use domain::{Audience, Timestamp, UserId};
use sockets::Sockets;
use tokio::time::Instant;

use crate::group_notification::GroupNotification;

/// How long all chunks of one message may push. Without a limit, a slow API Gateway would keep a large audience from being
/// notified within the function's timeout.
const TIME_LIMIT: Duration = Duration::from_secs(20);

/// The pushes of one message.
#[derive(Debug)]
pub struct LivePush {
    sockets: Sockets,
    left: Duration,
}

/// A recipient who may be connected, and how they read.
#[derive(Debug, Clone)]
pub struct Listener {
    user_id: UserId,
    reading: Reading,
}

impl Listener {
    /// A recipient, unless they opted out of live notifications of this event type.
    pub fn new(user_id: &UserId, recipient: Option<&Recipient>, event_type: &str) -> Option<Self> {
        let details = recipient.map(|recipient| &recipient.details);
        if details.is_some_and(|details| !details.wants(event_type, Channel::Websocket)) {
            return None;
        }
        Some(Self { user_id: user_id.clone(), reading: Reading::of(recipient, None) })
    }
}

impl LivePush {
    /// Starts with the whole time limit.
    pub fn new(sockets: &Sockets) -> Self {
        Self { sockets: sockets.clone(), left: TIME_LIMIT }
    }

    /// Pushes to the recipients of a committed chunk.
    pub async fn push(&mut self, notification: &GroupNotification, listeners: &[Listener]) {
        self.push_all(messages(notification, listeners)).await;
    }

    /// Pushes to the recipients of a chunk, once it is committed.
    pub fn after_commit(
        mut self,
        notification: &GroupNotification,
        listeners: &[Listener],
    ) -> impl Future<Output = ()> + Send + use<> {
        let messages = messages(notification, listeners);
        async move { self.push_all(messages).await }
    }

    async fn push_all(&mut self, messages: Vec<(Audience, UserId, Message)>) {
        if self.left.is_zero() {
            return;
        }
        let started = Instant::now();
        self.sockets.push_all(messages).await;
        self.left = self.left.saturating_sub(started.elapsed());
        if self.left.is_zero() {
            tracing::warn!("live pushes take too long; the other recipients of this event get none");
        }
    }
}

fn messages(notification: &GroupNotification, listeners: &[Listener]) -> Vec<(Audience, UserId, Message)> {
    let (shared, now) = (&notification.shared, Timestamp::now());
    let message = |listener: &Listener| {
        let own = notification.of(&listener.user_id, now);
        let notification = NotificationView::new(own, shared.clone(), &listener.reading);
        (shared.audience, listener.user_id.clone(), Message { news: News::Notification, notification })
    };
    listeners.iter().map(message).collect()
}
