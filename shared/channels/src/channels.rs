//! The providers of each channel, from the settings.

use aws_types::SdkConfig;
use domain::recipient::Channel;
use provider_http::invalid_setting;
use runtime::{BadSetting, Settings};

use crate::email::{Ses, Smtp};
use crate::push::Fcm;
use crate::slack::Slack;
use crate::sms::EndUserMessaging;
use crate::{Address, Provider};

const EMAIL_SECOND_PROVIDER: &str = "BELFRY_EMAIL_SECOND_PROVIDER";

/// The providers of all channels. A function for a single channel builds that channel's [`Providers`].
pub struct Channels {
    /// The providers of EMAIL.
    pub email: Providers,
    /// The provider of SMS.
    pub sms: Providers,
    /// The provider of PUSH.
    pub push: Providers,
    /// The provider of SLACK.
    pub slack: Providers,
}

/// The providers of one channel.
pub struct Providers {
    /// The provider of every first attempt.
    pub first: Provider,
    /// The provider of messages that the first one has refused.
    pub second: Option<Provider>,
}

impl Channels {
    /// Builds the providers of all four channels. Every required setting must be present.
    pub fn from_settings(settings: &Settings, aws: &SdkConfig) -> Result<Self, BadSetting> {
        Ok(Self {
            email: Providers::email(settings, aws)?,
            sms: Providers::sms(settings, aws)?,
            push: Providers::push(settings, aws)?,
            slack: Providers::slack(settings)?,
        })
    }

    /// Returns a channel's providers. WEBSOCKET has none.
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
    /// Reads `BELFRY_EMAIL_PROVIDER` (`ses` or `smtp`), and optionally `BELFRY_EMAIL_SECOND_PROVIDER`, the other one.
    pub fn email(settings: &Settings, aws: &SdkConfig) -> Result<Self, BadSetting> {
        let kinds = ["ses", "smtp"];
        let first = settings.one_of("BELFRY_EMAIL_PROVIDER", "ses", &kinds)?;
        // Empty means not set.
        let second = settings.one_of(EMAIL_SECOND_PROVIDER, "", &kinds)?;
        if first == second {
            return Err(invalid_setting(EMAIL_SECOND_PROVIDER, "different from BELFRY_EMAIL_PROVIDER", second));
        }
        let provider = |kind| match kind {
            "ses" => Ses::from_settings(settings, aws).map(Provider::Ses),
            _ => Smtp::from_settings(settings, aws).map(Provider::Smtp),
        };
        let second = Some(second).filter(|kind| !kind.is_empty()).map(provider).transpose()?;
        Ok(Self { first: provider(first)?, second })
    }

    /// Builds AWS End User Messaging.
    pub fn sms(settings: &Settings, aws: &SdkConfig) -> Result<Self, BadSetting> {
        EndUserMessaging::from_settings(settings, aws).map(Provider::EndUserMessaging).map(Self::only)
    }

    /// Builds Firebase Cloud Messaging.
    pub fn push(settings: &Settings, aws: &SdkConfig) -> Result<Self, BadSetting> {
        Fcm::from_settings(settings, aws).map(Provider::Fcm).map(Self::only)
    }

    /// Builds Slack's incoming webhooks.
    pub fn slack(settings: &Settings) -> Result<Self, BadSetting> {
        Slack::from_settings(settings).map(Provider::Slack).map(Self::only)
    }

    fn only(first: Provider) -> Self {
        Self { first, second: None }
    }
}

impl Address {
    /// Returns the channel of this kind of address.
    pub fn channel(&self) -> Channel {
        match self {
            Self::Email(_) => Channel::Email,
            Self::Phone(_) => Channel::Sms,
            Self::PushToken(_) => Channel::Push,
            Self::SlackWebhook(_) => Channel::Slack,
        }
    }
}
