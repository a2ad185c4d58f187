//! Claiming a send, and what follows from the claim.
//!
//! One batch get of the send, the recipient and the event notification, and one conditional put of the send.

use belfry_aws::{
    Command, Commit, Context, Corrupt, Entity, Error, Found, Get, GetItem, Item, Received, Revision, Stored, Timestamp,
};
use domain::send::{AttemptOutcome, ChannelSend, Claim, DeliveryPolicy, SendId};
use store::{delivery_job, event_notifications, recipients, sends};
use uuid::Uuid;

use crate::{Deliver, JobOutcome, Links};

/// How often to look again if others change a send that is to be given up.
const MAX_RACES: u32 = 5;

/// Claims a send.
struct ClaimSend<'a> {
    id: &'a SendId,
    claim: Uuid,
    redrive: Option<Uuid>,
    policy: &'a DeliveryPolicy,
}

/// The result of a claim.
enum Claimed {
    Taken(Box<ClaimedSend>),
    /// The worker that held it died, and the channel gives up.
    GivenUp(Box<Revision<ChannelSend>>),
    Early(Timestamp),
    Ended(&'static str),
    Missing,
}

/// A claimed send, with what its delivery needs.
struct ClaimedSend {
    send: Stored<ChannelSend>,
    recipient: Option<Item>,
    notification: Option<Item>,
}

impl Command for ClaimSend<'_> {
    const NAME: &'static str = "claim send";
    type Reads = (Get<ChannelSend>, GetItem, GetItem);
    type Output = Claimed;
    type Refusal = std::convert::Infallible;

    fn reads(&self) -> Self::Reads {
        let SendId { event_id, audience, user_id, group, .. } = self.id;
        let notification = event_notifications::place(event_id, *audience, group).read();
        (ChannelSend::by_id(self.id), recipients::place(*audience, user_id).read(), notification)
    }

    fn decide(
        &self,
        (send, recipient, notification): Found<Self>,
        ctx: &Context,
    ) -> Result<Commit<Claimed>, Self::Refusal> {
        let Some(send) = send else { return Ok(ctx.commit().output(Claimed::Missing)) };
        // Stored by an earlier attempt whose response was lost.
        if send.is_held_by(self.claim) {
            return Ok(ctx.commit().output(Claimed::taken(send, recipient, notification)));
        }
        Ok(match send.claim(self.claim, self.redrive, self.policy, ctx.now()) {
            Claim::Taken(next) => {
                let next = send.becomes(*next);
                // A claimed send has not ended, so it has no expiry.
                let commit = sends::put(ctx.commit(), &next, None);
                commit.output(Claimed::taken(next.written(), recipient, notification))
            }
            Claim::GivenUp(next) => ctx.commit().output(Claimed::GivenUp(Box::new(send.becomes(*next)))),
            Claim::Wait(at) => ctx.commit().output(Claimed::Early(at)),
            Claim::Settled => ctx.commit().output(Claimed::Ended(send.state.as_str())),
        })
    }
}

impl Claimed {
    fn taken(send: Stored<ChannelSend>, recipient: Option<Item>, notification: Option<Item>) -> Self {
        Self::Taken(Box::new(ClaimedSend { send, recipient, notification }))
    }
}

impl Deliver {
    pub(crate) async fn work(&self, id: &SendId, message: &Received, links: &Links<'_>) -> Result<JobOutcome, Error> {
        let redrive = delivery_job::redrive(&message.attributes);
        let command = ClaimSend { id, claim: Uuid::now_v7(), redrive, policy: &self.policy };
        for _ in 0..MAX_RACES {
            match self.claim(&command, message).await? {
                Claimed::Taken(claimed) => return self.attempt_claimed(*claimed, links).await,
                Claimed::GivenUp(next) => {
                    if let Some(outcome) = self.record(&next).await? {
                        return Ok(JobOutcome::Attempted(outcome));
                    }
                }
                Claimed::Early(at) => return Ok(JobOutcome::Early(at)),
                Claimed::Ended(status) => {
                    tracing::info!(status, "send has ended; nothing to do");
                    return Ok(JobOutcome::NothingToDo);
                }
                Claimed::Missing => {
                    tracing::warn!("send does not exist; its retention is over");
                    return Ok(JobOutcome::NothingToDo);
                }
            }
        }
        Err(Error::Contended { attempts: MAX_RACES })
    }

    async fn claim(&self, command: &ClaimSend<'_>, message: &Received) -> Result<Claimed, Error> {
        let ctx = Context::begin().with_deadline(message.deadline);
        let claimed = match self.belfry.run(&ctx, command).await {
            // The claim may be stored, and would then hold the send for nothing until its lease ends.
            Err(Error::Unavailable { .. }) => self.belfry.run(&ctx, command).await,
            claimed => claimed,
        };
        Ok(match claimed? {
            Ok(claimed) => claimed,
            Err(never) => match never {},
        })
    }

    async fn attempt_claimed(&self, claimed: ClaimedSend, links: &Links<'_>) -> Result<JobOutcome, Error> {
        let ClaimedSend { send, recipient, notification } = claimed;
        let read = || -> Result<_, Corrupt> {
            let recipient = recipient.map(recipients::parse).transpose()?;
            Ok((recipient, notification.map(event_notifications::parse).transpose()?))
        };
        let (recipient, attempted) = match read() {
            Ok((recipient, notification)) => {
                let attempted = self.attempt(&send, recipient.as_deref(), notification.as_ref(), links).await;
                (recipient, attempted)
            }
            Err(corrupt) => (None, AttemptOutcome::Refused(corrupt.to_string()).into()),
        };
        self.conclude(&send, attempted, recipient.as_ref()).await.map(JobOutcome::Attempted)
    }
}
