//! The channel and its delivery policy.

use std::time::Duration;

use belfry_aws::{BadSetting, Config, Settings};
use domain::recipient::Channel;
use domain::send::{DeliveryPolicy, WhenUncertain};

/// `BELFRY_CHANNEL`: the channel that this function delivers. Live connections have no sends.
pub fn channel(settings: &mut Settings) -> Option<Channel> {
    let name = settings.text("BELFRY_CHANNEL");
    let channel = Channel::SENT.into_iter().find(|channel| channel.as_str() == name);
    if channel.is_none() && !name.is_empty() {
        let names = Channel::SENT.map(Channel::as_str).join(", ");
        let mistake = format!("BELFRY_CHANNEL must be one of {names}, but is \"{name}\"");
        settings.mistake(BadSetting::new(mistake));
    }
    channel
}

/// `BELFRY_SEND_LEASE`, `BELFRY_SEND_ATTEMPTS`, and the channel's `BELFRY_…_GIVE_UP_AFTER` and `BELFRY_…_WHEN_UNCERTAIN`.
/// The lease must be longer than the providers may take, or two workers could send.
pub fn policy(settings: &mut Settings, config: &Config, channel: Channel, longest: Duration) -> DeliveryPolicy {
    let lease = settings.duration("BELFRY_SEND_LEASE", Duration::from_secs(30), Duration::from_secs(1));
    if lease <= longest {
        settings.mistake(BadSetting::new(format!(
            "BELFRY_SEND_LEASE must be longer than the channel's providers may take, {}s, but is \"{}s\"",
            longest.as_secs(),
            lease.as_secs()
        )));
    }
    let of_channel = |setting: &str| format!("BELFRY_{}_{setting}", channel.as_str());
    let default = if channel == Channel::Sms { "hold" } else { "resend" };
    let when_uncertain = match settings.one_of(&of_channel("WHEN_UNCERTAIN"), default, &["resend", "hold"]) {
        "hold" => WhenUncertain::Hold,
        _ => WhenUncertain::Resend,
    };
    let six_hours = Duration::from_secs(6 * 3_600);
    DeliveryPolicy {
        lease,
        max_attempts: settings.whole("BELFRY_SEND_ATTEMPTS", 5, 1..=1000),
        give_up_after: settings.duration(&of_channel("GIVE_UP_AFTER"), six_hours, Duration::ZERO),
        when_uncertain,
        backoff: config.backoff,
        grace: config.stream_grace,
    }
}

#[cfg(test)]
mod tests {
    use belfry_aws::Tables;

    use super::*;

    fn settings(values: &[(&str, &str)]) -> Settings {
        values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn policy_of(channel: Channel, settings: &mut Settings) -> DeliveryPolicy {
        policy(settings, &Config::new(Tables::default()), channel, Duration::from_secs(10))
    }

    #[test]
    fn the_defaults_are_the_specifications() {
        let mut none = settings(&[]);
        let email = policy_of(Channel::Email, &mut none);
        assert_eq!((email.lease.as_secs(), email.max_attempts, email.give_up_after.as_secs()), (30, 5, 6 * 3_600));
        assert_eq!(email.when_uncertain, WhenUncertain::Resend);
        assert_eq!(policy_of(Channel::Sms, &mut none).when_uncertain, WhenUncertain::Hold);
        none.finish().expect("no mistakes");
    }

    #[test]
    fn a_lease_that_a_provider_could_outlast_is_refused() {
        let mut settings = settings(&[("BELFRY_SEND_LEASE", "10s")]);
        policy_of(Channel::Slack, &mut settings);
        let problem = settings.finish().expect_err("too short");
        assert!(problem.to_string().starts_with("BELFRY_SEND_LEASE must be longer than"), "{problem}");
    }

    #[test]
    fn a_channel_without_sends_is_refused_by_name() {
        let mut settings = settings(&[("BELFRY_CHANNEL", "WEBSOCKET")]);
        assert_eq!(channel(&mut settings), None);
        let problem = settings.finish().expect_err("no sends");
        assert!(problem.to_string().starts_with("BELFRY_CHANNEL must be one of EMAIL"), "{problem}");
    }
}
