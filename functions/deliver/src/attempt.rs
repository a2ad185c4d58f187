//! One attempt: every address of the recipient that does not have it yet, at the same time, through the channel's
//! provider, and what came of all of them together.

use channels::{Address, Outgoing, Provider, Receipt, SendError as NotSent};
use domain::Time;
use domain::notification::EventNotification;
use domain::recipient::{Channel, Recipient, Skip, address_hash};
use domain::send::{AddressReceipt, ChannelSend, Ended};
use futures_util::future::join_all;

use crate::render::render;
use crate::{Deliver, Links};

/// What came of an attempt.
pub struct Attempted {
    /// Of all addresses together.
    pub ended: Ended,
    /// Of those that have it now.
    pub receipts: Vec<AddressReceipt>,
    /// Those that the provider calls dead.
    pub dead: Vec<String>,
}

impl From<Ended> for Attempted {
    fn from(ended: Ended) -> Self {
        Self { ended, receipts: Vec::new(), dead: Vec::new() }
    }
}

impl Deliver {
    /// Tries once. What has changed since the fan-out counts: an address may be gone, a wish may have come.
    pub(crate) async fn attempt(
        &self,
        send: &ChannelSend,
        recipient: Option<&Recipient>,
        told: Option<&EventNotification>,
        links: &Links<'_>,
    ) -> Attempted {
        let Some(recipient) = recipient else { return Ended::Skipped(Skip::NoAddress).into() };
        if let Some(skip) = recipient.skip(&send.event_type, self.channel) {
            // What some of the addresses have was sent.
            let ended = if send.receipts.is_empty() { Ended::Skipped(skip) } else { Ended::Sent };
            return ended.into();
        }
        let Some(told) = told else { return Ended::Refused("its notification is gone".to_owned()).into() };
        let links = match links.as_ref().map_err(|unavailable| unavailable.to_string()) {
            Ok(links) => links.as_ref(),
            Err(reason) => return Ended::Unavailable(reason, None).into(),
        };
        let message = match render(&self.texts, self.channel, told, recipient, links) {
            Ok(message) => message,
            Err(problem) => return Ended::Refused(problem.to_string()).into(),
        };
        let addresses = addresses(self.channel, recipient);
        let left = addresses.into_iter().filter(|(text, _)| !send.has_receipt(&address_hash(text)));
        let tries = left.map(|(text, to)| {
            let outgoing =
                Outgoing { idempotency_key: send.idempotency_key(&address_hash(&text)), to, message: message.clone() };
            async move { (text, self.through_providers(&outgoing).await) }
        });
        settled(join_all(tries).await, !send.receipts.is_empty(), Time::now())
    }

    /// The second provider is for what the first one has definitely refused.
    async fn through_providers(&self, outgoing: &Outgoing) -> Result<Receipt, Tried> {
        match (self.providers.first.send(outgoing).await, &self.providers.second) {
            (Ok(receipt), _) => Ok(receipt),
            (Err(refused @ NotSent::Refused { .. }), Some(second)) => {
                tracing::warn!(provider = self.providers.first.name(), reason = %refused, "the second provider is asked");
                second.send(outgoing).await.map_err(|not_sent| Tried::new(second, not_sent))
            }
            (Err(not_sent), _) => Err(Tried::new(&self.providers.first, not_sent)),
        }
    }
}

/// An address that does not have it.
struct Tried {
    not_sent: NotSent,
    provider: &'static str,
    knows_repetitions: bool,
}

impl Tried {
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

/// What came of all addresses together. What nobody knows goes first: it must not look like a plain failure. Then
/// whatever may pass, since those that have it are not asked again. Then one that has it is enough.
fn settled(tried: Vec<(String, Result<Receipt, Tried>)>, some_have_it: bool, at: Time) -> Attempted {
    let mut attempted = Attempted::from(Ended::Sent);
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
            // The provider will recognise the second one.
            NotSent::Unknown { .. } if tried.knows_repetitions => failed = Some(Ended::Failed(reason)),
            NotSent::Unknown { .. } => unknown = Some(Ended::Unknown(reason)),
            NotSent::Failed { .. } => failed = Some(Ended::Failed(reason)),
            NotSent::Unavailable { retry_after, .. } => away = Some(Ended::Unavailable(reason, retry_after)),
            NotSent::Refused { .. } => refused = Some(Ended::Refused(reason)),
            NotSent::AddressDead { .. } => attempted.dead.push(address),
        }
    }
    let sent = (some_have_it || !attempted.receipts.is_empty()).then_some(Ended::Sent);
    let dead = Ended::Skipped(Skip::Suppressed);
    attempted.ended = unknown.or(failed).or(away).or(sent).or(refused).unwrap_or(dead);
    attempted
}
