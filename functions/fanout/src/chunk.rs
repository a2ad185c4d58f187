//! One chunk of recipients: their notifications and sends.

use std::collections::BTreeMap;

use belfry_aws::{Belfry, Commit, Delivery, Event, Failure};
use domain::UserId;
use domain::recipient::Channel;
use domain::routing::Group;
use store::metrics::{self, Delivered};
use store::{notifications, recipients, sends};

use crate::group_notification::GroupNotification;
use crate::live::Listener;
use crate::{Fanout, unwritable};

/// The most recipients of one transaction: with four sends each it stays under 100 items.
pub(crate) const CHUNK: u16 = 19;

/// What some recipients get.
pub(crate) struct Chunk {
    pub(crate) commit: Commit<()>,
    pub(crate) listeners: Vec<Listener>,
    /// How many sends are SKIPPED from the start.
    pub(crate) skipped: BTreeMap<Channel, u32>,
}

impl Fanout {
    /// The notifications and sends of these recipients, each of which may exist already. A recipient who has left the group
    /// since its members were read gets none.
    pub(crate) async fn chunk(
        &self,
        delivery: &Delivery<Event>,
        notification: &GroupNotification,
        group: &Group,
        user_ids: &[UserId],
    ) -> Result<Chunk, Failure> {
        let recipients = recipients::get_all(&self.belfry, notification.shared.audience, user_ids).await?;
        let (now, grace) = (self.belfry.now(), self.belfry.config().stream_grace);
        let mut commit = delivery.commit();
        let mut listeners = Vec::with_capacity(user_ids.len());
        let mut skipped = BTreeMap::new();
        for (user_id, recipient) in user_ids.iter().zip(&recipients) {
            let recipient = recipient.as_deref();
            if recipient.is_some_and(|recipient| !recipient.belongs_to(group)) {
                continue;
            }
            let own = notification.of(user_id, now);
            commit = commit.write(notifications::create_if_absent(&own, self.retention).map_err(unwritable)?);
            for send in notification.sends(&own, recipient, &self.enabled, now, grace) {
                *skipped.entry(send.id.channel).or_default() += u32::from(send.state.ended_at().is_some());
                commit = sends::create_if_absent(commit, &send, self.retention);
            }
            listeners.extend(Listener::new(user_id, recipient, &notification.shared.event_type));
        }
        Ok(Chunk { commit, listeners, skipped })
    }
}

/// Counts the sends that were SKIPPED from the start. The channels' own functions count the others.
pub(crate) fn count_skipped(belfry: &Belfry, skipped: &BTreeMap<Channel, u32>) {
    for (channel, skipped) in skipped.iter().filter(|(_, skipped)| **skipped > 0) {
        metrics::delivered(belfry.metrics(), *channel, &Delivered { skipped: *skipped, ..Delivered::default() });
    }
}
