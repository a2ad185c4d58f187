//! One attempt: to every address of the recipient that was not reached yet, at the same time, through the channel's
//! provider; and the outcome of all of them together.

use channels::{Address, Outgoing, Provider, Receipt, SendError as NotSent};
use domain::Time;
use domain::notification::EventNotification;
use domain::recipient::{Channel, Recipient, Skip, address_hash};
use domain::send::{AddressReceipt, AttemptOutcome, ChannelSend};
use futures_util::future::join_all;

use crate::render::render;
use crate::{Deliver, Links};

/// The result of an attempt.
pub struct Attempted {
    /// The outcome of all addresses together.
    pub outcome: AttemptOutcome,
    /// The receipts of the addresses that were reached.
    pub receipts: Vec<AddressReceipt>,
    /// The addresses that the provider calls dead.
    pub dead: Vec<String>,
}

impl From<AttemptOutcome> for Attempted {
    fn from(outcome: AttemptOutcome) -> Self {
        Self { outcome, receipts: Vec::new(), dead: Vec::new() }
    }
}

impl Deliver {
    /// Attempts a send once. Changes since the fan-out count: an address may be gone, or the recipient may have opted out.
    pub(crate) async fn attempt(
        &self,
        send: &ChannelSend,
        recipient: Option<&Recipient>,
        notification: Option<&EventNotification>,
        links: &Links<'_>,
    ) -> Attempted {
        let Some(recipient) = recipient else { return AttemptOutcome::Skipped(Skip::NoAddress).into() };
        if let Some(skip) = recipient.skip(&send.event_type, self.channel) {
            // It was sent if an earlier attempt reached any address.
            let is_sent = !send.receipts.is_empty();
            return if is_sent { AttemptOutcome::Sent } else { AttemptOutcome::Skipped(skip) }.into();
        }
        let Some(notification) = notification else {
            return AttemptOutcome::Refused("its notification is gone".to_owned()).into();
        };
        let links = match links.as_ref().map_err(|unavailable| unavailable.to_string()) {
            Ok(links) => links.as_ref(),
            Err(reason) => return AttemptOutcome::Unavailable(reason, None).into(),
        };
        let message = match render(&self.texts, self.channel, notification, recipient, links) {
            Ok(message) => message,
            Err(problem) => return AttemptOutcome::Refused(problem.to_string()).into(),
        };
        let addresses = addresses(self.channel, recipient);
        let left = addresses.into_iter().filter(|(text, _)| !send.has_receipt(&address_hash(text)));
        let tries = left.map(|(text, to)| {
            let outgoing =
                Outgoing { idempotency_key: send.idempotency_key(&address_hash(&text)), to, message: message.clone() };
            async move { (text, self.through_providers(&outgoing).await) }
        });
        combined(join_all(tries).await, !send.receipts.is_empty(), Time::now())
    }

    /// The second provider gets what the first one has definitely refused.
    async fn through_providers(&self, outgoing: &Outgoing) -> Result<Receipt, NotReached> {
        match (self.providers.first.send(outgoing).await, &self.providers.second) {
            (Ok(receipt), _) => Ok(receipt),
            (Err(refused @ NotSent::Refused { .. }), Some(second)) => {
                tracing::warn!(provider = self.providers.first.name(), reason = %refused, "first provider refused; trying the second");
                second.send(outgoing).await.map_err(|not_sent| NotReached::new(second, not_sent))
            }
            (Err(not_sent), _) => Err(NotReached::new(&self.providers.first, not_sent)),
        }
    }
}

/// An address that was not reached.
struct NotReached {
    not_sent: NotSent,
    provider: &'static str,
    knows_repetitions: bool,
}

impl NotReached {
    fn new(provider: &Provider, not_sent: NotSent) -> Self {
        Self { not_sent, provider: provider.name(), knows_repetitions: provider.takes_idempotency_key() }
    }

    fn reason(&self) -> String {
        format!("{}: {}", self.provider, self.not_sent.reason())
    }
}

fn addresses(channel: Channel, recipient: &Recipient) -> Vec<(String, Address)> {
    let details = &recipient.details;
    let with_text = |text: &str, address| (text.to_owned(), address);
    match channel {
        Channel::Email => {
            details.email.iter().map(|email| with_text(email.as_str(), Address::Email(email.clone()))).collect()
        }
        Channel::Sms => {
            details.phone.iter().map(|phone| with_text(phone.as_str(), Address::Phone(phone.clone()))).collect()
        }
        Channel::Push => details
            .push_tokens
            .iter()
            .map(|token| with_text(token.as_str(), Address::PushToken(token.clone())))
            .collect(),
        Channel::Slack => details
            .slack_webhook_url
            .iter()
            .map(|url| with_text(url.as_str(), Address::SlackWebhook(url.clone())))
            .collect(),
        Channel::Websocket => Vec::new(),
    }
}

/// The outcome of all addresses together. An unknown outcome goes first, because it must not look like a plain failure. Then
/// a failure that a retry may help, because addresses that were reached are left out of it. Then one reached address is
/// enough.
fn combined(tried: Vec<(String, Result<Receipt, NotReached>)>, reached_before: bool, at: Time) -> Attempted {
    let mut attempted = Attempted::from(AttemptOutcome::Sent);
    let (mut unknown, mut failed, mut away, mut refused) = (None, None, None, None);
    for (address, tried) in tried {
        let tried = match tried {
            Ok(Receipt { provider, message_id }) => {
                let (address, provider) = (address_hash(&address), provider.to_owned());
                attempted.receipts.push(AddressReceipt { address, provider, message_id, at });
                continue;
            }
            Err(tried) => tried,
        };
        let reason = tried.reason();
        match tried.not_sent {
            // The provider recognises a repetition.
            NotSent::Unknown { .. } if tried.knows_repetitions => failed = Some(AttemptOutcome::Failed(reason)),
            NotSent::Unknown { .. } => unknown = Some(AttemptOutcome::Unknown(reason)),
            NotSent::Failed { .. } => failed = Some(AttemptOutcome::Failed(reason)),
            NotSent::Unavailable { retry_after, .. } => away = Some(AttemptOutcome::Unavailable(reason, retry_after)),
            NotSent::Refused { .. } => refused = Some(AttemptOutcome::Refused(reason)),
            NotSent::AddressDead { .. } => attempted.dead.push(address),
        }
    }
    let sent = (reached_before || !attempted.receipts.is_empty()).then_some(AttemptOutcome::Sent);
    let dead = AttemptOutcome::Skipped(Skip::Suppressed);
    attempted.outcome = unknown.or(failed).or(away).or(sent).or(refused).unwrap_or(dead);
    attempted
}
