//! Webhooks: where a recipient wants SLACK to go, and whether anything may be posted there.
//!
//! People choose their webhooks. Without a list of hosts they could have us post to what only we can reach, Lambda's own
//! runtime API on the loopback among it; so both the door and whoever sends ask [`WebhookHosts`].

pub use belfry_core::endpoint::{is_loopback, scheme_and_host};

use crate::recipient::WebhookUrl;

/// The hosts that webhooks may point at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookHosts(Vec<String>);

/// The text is no list of hosts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be host names with commas between them")]
pub struct NotHosts;

impl WebhookHosts {
    /// Slack's own.
    pub const SLACK: &str = "hooks.slack.com,hooks.slack-gov.com";

    /// In place of a host: whichever.
    pub const ANY: &str = "*";

    /// Takes host names with commas between them.
    pub fn parse(list: &str) -> Result<Self, NotHosts> {
        let hosts: Vec<String> = list.split(',').map(|host| host.trim().to_ascii_lowercase()).collect();
        if hosts.iter().any(String::is_empty) { Err(NotHosts) } else { Ok(Self(hosts)) }
    }

    /// Whether the webhook points at one of them.
    pub fn allow(&self, webhook: &WebhookUrl) -> bool {
        host(webhook.as_str()).is_some_and(|host| self.are_any() || self.0.contains(&host))
    }

    /// Whether any host will do.
    pub fn are_any(&self) -> bool {
        self.0.iter().any(|host| host == Self::ANY)
    }
}

/// The host of a URL that can be posted to without being read on the way: https, or http on the loopback.
pub(crate) fn host(url: &str) -> Option<String> {
    let (scheme, host) = scheme_and_host(url)?;
    let is_safe = scheme == "https" || scheme == "http" && is_loopback(host);
    is_safe.then(|| host.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(hosts: &str, webhook: &str) -> bool {
        let webhook = WebhookUrl::try_from(webhook.to_owned());
        webhook.is_ok_and(|webhook| WebhookHosts::parse(hosts).expect("hosts").allow(&webhook))
    }

    #[test]
    fn a_webhook_points_at_slack_unless_told_otherwise() {
        for slack in [
            "https://hooks.slack.com/services/a/b/c",
            "https://HOOKS.slack.com:443/services/a@b",
            "https://hooks.slack-gov.com",
        ] {
            assert!(allows(WebhookHosts::SLACK, slack), "{slack}");
        }
        for elsewhere in [
            "https://hooks.slack.com.example.com/",
            "https://hooks.slack.com@example.com/",
            "https://hooks.slack.com\\@example.com/",
            "https://hooks.slack.com:443@example.com/",
            "https://hooks%2eslack.com/",
            "https://example.com/hooks.slack.com",
            "https://example.com?https://hooks.slack.com/",
            "https://example.com#hooks.slack.com",
            "https:hooks.slack.com/",
            "http://hooks.slack.com/",
            "https://10.0.0.1/",
            "http://127.0.0.1:9001/2018-06-01/runtime/init/error",
            "http://localhost:9001/",
            "http://[::1]:9001/",
            "https://",
        ] {
            assert!(!allows(WebhookHosts::SLACK, elsewhere), "{elsewhere}");
        }
    }

    #[test]
    fn the_loopback_is_allowed_where_the_list_names_it() {
        assert!(allows("127.0.0.1", "http://127.0.0.1:9001/services"));
        assert!(allows("hooks.slack.com, [::1]", "http://[::1]:9001/services"));
        assert!(!allows("127.0.0.1", "http://127.0.0.2:9001/services"));
        assert!(!allows("10.0.0.1", "http://10.0.0.1/"), "plain http leaves the machine");
        assert!(allows("10.0.0.1", "https://10.0.0.1/"));
    }

    #[test]
    fn a_list_with_a_gap_is_refused() {
        assert_eq!(WebhookHosts::parse("hooks.slack.com,"), Err(NotHosts));
        assert!(allows("Hooks.Example.com", "https://hooks.example.com/a"));
    }

    #[test]
    fn a_star_allows_any_host_that_can_be_posted_to_safely() {
        assert!(allows("*", "https://anywhere.example.com/a"));
        assert!(!allows("*", "http://anywhere.example.com/a"));
    }
}
