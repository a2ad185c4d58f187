//! A provider, whichever it is.

use crate::email::{Ses, Smtp};
use crate::push::Fcm;
use crate::slack::Slack;
use crate::sms::EndUserMessaging;
use crate::{NotSent, Outgoing, Receipt};

/// Somebody who carries messages to their addressees.
pub enum Provider {
    /// SES v2.
    Ses(Ses),
    /// A mail server.
    Smtp(Smtp),
    /// AWS End User Messaging.
    EndUserMessaging(EndUserMessaging),
    /// Firebase Cloud Messaging.
    Fcm(Fcm),
    /// Slack's incoming webhooks.
    Slack(Slack),
}

impl Provider {
    /// The name in receipts, metrics and logs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ses(_) => Ses::NAME,
            Self::Smtp(_) => Smtp::NAME,
            Self::EndUserMessaging(_) => EndUserMessaging::NAME,
            Self::Fcm(_) => Fcm::NAME,
            Self::Slack(_) => Slack::NAME,
        }
    }

    /// Whether the provider recognises a repetition by its key. If not, sending again what is [`NotSent::Unknown`] may
    /// tell somebody twice.
    pub fn takes_idempotency_key(&self) -> bool {
        match self {
            Self::Ses(_) | Self::Smtp(_) | Self::EndUserMessaging(_) | Self::Fcm(_) | Self::Slack(_) => false,
        }
    }

    /// Sends once, within the time limit.
    pub async fn send(&self, outgoing: &Outgoing) -> Result<Receipt, NotSent> {
        let message_id = match self {
            Self::Ses(ses) => ses.send(outgoing).await,
            Self::Smtp(smtp) => smtp.send(outgoing).await,
            Self::EndUserMessaging(sms) => sms.send(outgoing).await,
            Self::Fcm(fcm) => fcm.send(outgoing).await,
            Self::Slack(slack) => slack.send(outgoing).await,
        }?;
        Ok(Receipt { provider: self.name(), message_id })
    }
}
