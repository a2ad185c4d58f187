//! The providers of each channel, as the settings name them.

use aws_types::SdkConfig;
use domain::recipient::Channel;
use outside::wrong;
use runtime::{BadSetting, Settings};

use crate::email::{Ses, Smtp};
use crate::push::Fcm;
use crate::slack::Slack;
use crate::sms::EndUserMessaging;
use crate::{Address, Provider};

const EMAIL_SECOND_PROVIDER: &str = "BELFRY_EMAIL_SECOND_PROVIDER";

/// Every channel that has sends. A function that serves one of them alone takes that channel's [`Providers`].
pub struct Channels {
    /// EMAIL.
    pub email: Providers,
    /// SMS.
    pub sms: Providers,
    /// PUSH.
    pub push: Providers,
    /// SLACK.
    pub slack: Providers,
}

/// Who carries one channel's messages.
pub struct Providers {
    /// Asked first.
    pub first: Provider,
    /// For what the first one has definitely refused.
    pub second: Option<Provider>,
}

impl Channels {
    /// All four. Whatever a provider needs must be set.
    pub fn from_settings(settings: &Settings, aws: &SdkConfig) -> Result<Self, BadSetting> {
        Ok(Self {
            email: Providers::email(settings, aws)?,
            sms: Providers::sms(settings, aws)?,
            push: Providers::push(settings, aws)?,
            slack: Providers::slack(settings)?,
        })
    }

    /// A channel's providers; live sockets have none.
    pub fn of(&self, channel: Channel) -> Option<&Providers> {
        match channel {
            Channel::Email => Some(&self.email),
            Channel::Sms => Some(&self.sms),
            Channel::Push => Some(&self.push),
            Channel::Slack => Some(&self.slack),
            Channel::Websocket => None,
        }
    }
}

impl Providers {
    /// `BELFRY_EMAIL_PROVIDER`: `ses` or `smtp`; and `BELFRY_EMAIL_SECOND_PROVIDER`, the other one or nothing.
    pub fn email(settings: &Settings, aws: &SdkConfig) -> Result<Self, BadSetting> {
        let kinds = ["ses", "smtp"];
        let first = settings.one_of("BELFRY_EMAIL_PROVIDER", "ses", &kinds)?;
        // The empty word stands for "not set".
        let second = settings.one_of(EMAIL_SECOND_PROVIDER, "", &kinds)?;
        if first == second {
            return Err(wrong(EMAIL_SECOND_PROVIDER, "another one than the first", second));
        }
        let provider = |kind| match kind {
            "ses" => Ses::from_settings(settings, aws).map(Provider::Ses),
            _ => Smtp::from_settings(settings, aws).map(Provider::Smtp),
        };
        let second = Some(second).filter(|kind| !kind.is_empty()).map(provider).transpose()?;
        Ok(Self { first: provider(first)?, second })
    }

    /// AWS End User Messaging.
    pub fn sms(settings: &Settings, aws: &SdkConfig) -> Result<Self, BadSetting> {
        EndUserMessaging::from_settings(settings, aws).map(Provider::EndUserMessaging).map(Self::only)
    }

    /// Firebase Cloud Messaging.
    pub fn push(settings: &Settings, aws: &SdkConfig) -> Result<Self, BadSetting> {
        Fcm::from_settings(settings, aws).map(Provider::Fcm).map(Self::only)
    }

    /// Slack's incoming webhooks.
    pub fn slack(settings: &Settings) -> Result<Self, BadSetting> {
        Slack::from_settings(settings).map(Provider::Slack).map(Self::only)
    }

    fn only(first: Provider) -> Self {
        Self { first, second: None }
    }
}

impl Address {
    /// The channel that this address belongs to.
    pub fn channel(&self) -> Channel {
        match self {
            Self::Email(_) => Channel::Email,
            Self::Phone(_) => Channel::Sms,
            Self::PushToken(_) => Channel::Push,
            Self::SlackWebhook(_) => Channel::Slack,
        }
    }
}
