//! The channel and its terms, as the settings give them.

use std::time::Duration;

use channels::Providers;
use domain::recipient::Channel;
use domain::send::{Terms, WhenUncertain};
use runtime::{BadSetting, Settings};

/// `BELFRY_CHANNEL`: which channel this function delivers.
pub fn channel(settings: &Settings) -> Result<Channel, BadSetting> {
    let named = settings.text("BELFRY_CHANNEL")?;
    Channel::SENT.into_iter().find(|channel| channel.as_str() == named).ok_or_else(|| BadSetting::Wrong {
        name: "BELFRY_CHANNEL".to_owned(),
        expected: format!("one of {}", Channel::SENT.map(Channel::as_str).join(", ")),
        value: named,
    })
}

/// `BELFRY_SEND_LEASE`, `BELFRY_SEND_ATTEMPTS`, and of the channel `BELFRY_…_GIVE_UP_AFTER` and
/// `BELFRY_…_WHEN_UNCERTAIN`. A lease that a provider could outlast would let two workers send.
pub fn terms(settings: &Settings, channel: Channel, providers: &Providers) -> Result<Terms, BadSetting> {
    let lease = settings.duration("BELFRY_SEND_LEASE", Duration::from_secs(30), Duration::from_secs(1))?;
    let longest = channels::time_limit(settings)? * (1 + u32::from(providers.second.is_some()));
    if lease <= longest {
        return Err(BadSetting::Wrong {
            name: "BELFRY_SEND_LEASE".to_owned(),
            expected: format!("longer than the channel's providers may take, {}s", longest.as_secs()),
            value: format!("{}s", lease.as_secs()),
        });
    }
    let of_channel = |setting: &str| format!("BELFRY_{}_{setting}", channel.as_str());
    let hours = Duration::from_secs(3_600);
    let default = if channel == Channel::Sms { "hold" } else { "resend" };
    let when_uncertain = match settings.one_of(&of_channel("WHEN_UNCERTAIN"), default, &["resend", "hold"])? {
        "hold" => WhenUncertain::Hold,
        _ => WhenUncertain::Resend,
    };
    Ok(Terms {
        lease,
        max_attempts: settings.whole("BELFRY_SEND_ATTEMPTS", 5, 1..=1000)?,
        give_up_after: settings.duration(&of_channel("GIVE_UP_AFTER"), 6 * hours, Duration::ZERO)?,
        when_uncertain,
        backoff: settings.backoff()?,
        grace: settings.stream_grace()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(more: &[(&str, &str)]) -> Settings {
        more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn terms_of(channel: Channel, more: &[(&str, &str)]) -> Result<Terms, BadSetting> {
        let settings = settings(more);
        terms(&settings, channel, &Providers::slack(&settings).expect("a provider"))
    }

    #[test]
    fn the_defaults_are_the_specifications() {
        let email = terms_of(Channel::Email, &[]).expect("terms");
        assert_eq!((email.lease.as_secs(), email.max_attempts, email.give_up_after.as_secs()), (30, 5, 6 * 3_600));
        assert_eq!(email.when_uncertain, WhenUncertain::Resend);
        assert_eq!(terms_of(Channel::Sms, &[]).expect("terms").when_uncertain, WhenUncertain::Hold);
    }

    #[test]
    fn a_lease_that_a_provider_could_outlast_is_refused() {
        let problem = terms_of(Channel::Slack, &[("BELFRY_SEND_LEASE", "10s")]).expect_err("too short");
        assert!(problem.to_string().starts_with("BELFRY_SEND_LEASE must be longer than"), "{problem}");
    }

    #[test]
    fn a_channel_without_sends_is_refused_by_name() {
        let problem = channel(&settings(&[("BELFRY_CHANNEL", "WEBSOCKET")])).expect_err("no sends");
        assert!(problem.to_string().starts_with("BELFRY_CHANNEL must be one of EMAIL"), "{problem}");
    }
}
