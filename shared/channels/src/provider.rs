//! One type for all providers.

use crate::email::{Ses, Smtp};
use crate::push::Fcm;
use crate::slack::Slack;
use crate::sms::EndUserMessaging;
use crate::{Outgoing, Receipt, SendError};

/// A provider that sends messages.
pub enum Provider {
    /// SES v2.
    Ses(Ses),
    /// An SMTP server.
    Smtp(Smtp),
    /// AWS End User Messaging.
    EndUserMessaging(EndUserMessaging),
    /// Firebase Cloud Messaging.
    Fcm(Fcm),
    /// Slack's incoming webhooks.
    Slack(Slack),
}

impl Provider {
    /// Returns the name in receipts, metrics and logs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ses(_) => Ses::NAME,
            Self::Smtp(_) => Smtp::NAME,
            Self::EndUserMessaging(_) => EndUserMessaging::NAME,
            Self::Fcm(_) => Fcm::NAME,
            Self::Slack(_) => Slack::NAME,
        }
    }

    /// Returns whether the provider deduplicates by idempotency key. If not, a retry after [`SendError::Unknown`] may send
    /// the message twice.
    pub fn takes_idempotency_key(&self) -> bool {
        match self {
            Self::Ses(_) | Self::Smtp(_) | Self::EndUserMessaging(_) | Self::Fcm(_) | Self::Slack(_) => false,
        }
    }

    /// Sends once, within the time limit.
    pub async fn send(&self, outgoing: &Outgoing) -> Result<Receipt, SendError> {
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
