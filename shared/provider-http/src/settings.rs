//! Settings of provider clients: the time limit, and endpoint URLs that are safe to call.

use std::time::Duration;

pub use domain::webhook::is_loopback;
use reqwest::Url;
use runtime::{BadSetting, Settings, is_local_host};

const TIME_LIMIT: &str = "BELFRY_PROVIDER_TIME_LIMIT";

/// Reads `BELFRY_PROVIDER_TIME_LIMIT`, which bounds one send or one payment request (10 s by default, at most 20 s).
///
/// A send's lease ends after 30 s, and a result that arrives later is not recorded.
pub fn time_limit(settings: &Settings) -> Result<Duration, BadSetting> {
    let limit = settings.duration(TIME_LIMIT, Duration::from_secs(10), Duration::from_secs(1))?;
    if limit > Duration::from_secs(20) {
        return Err(invalid_setting(TIME_LIMIT, "at most 20s", settings.text(TIME_LIMIT)?));
    }
    Ok(limit)
}

/// Returns the time limit for connecting: a part of the whole, so that an unreachable address is told from a slow answer.
pub fn connect_limit(limit: Duration) -> Duration {
    (limit / 2).min(Duration::from_secs(3))
}

/// Reads the endpoint URL of a provider, if one is set. It must be https, or http on loopback. In a container of
/// `sam local` it is required and must be the local stack's.
pub fn endpoint(settings: &Settings, name: &str) -> Result<Option<Url>, BadSetting> {
    let Some(text) = settings.endpoint_url(name)? else { return Ok(None) };
    match Url::parse(&text) {
        Ok(url) if may_call(settings, &url) => Ok(Some(url)),
        _ => Err(invalid_setting(name, "an https URL, or an http URL on loopback", text)),
    }
}

/// Returns whether requests may be sent to this URL: https anywhere, http on loopback only.
///
/// A container of `sam local` may call nothing but this machine, which has another host name there.
pub fn may_call(settings: &Settings, url: &Url) -> bool {
    if settings.in_sam_local() {
        return matches!(url.scheme(), "http" | "https") && url.host_str().is_some_and(is_local_host);
    }
    url.scheme() == "https" || (url.scheme() == "http" && url.host_str().is_some_and(is_loopback))
}

/// Returns the error for a setting with an invalid value.
pub fn invalid_setting(name: &str, expected: &str, value: impl Into<String>) -> BadSetting {
    BadSetting::Wrong { name: name.to_owned(), expected: expected.to_owned(), value: value.into() }
}

/// Returns the error for an invalid value that must not be logged.
pub fn invalid_secret(name: &str, expected: &str) -> BadSetting {
    invalid_setting(name, expected, "(not shown)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_allowed_on_loopback_only() {
        let deployed = Settings::from_iter([]);
        for safe in ["https://fcm.googleapis.com", "http://127.0.0.1:9", "http://[::1]:9", "http://localhost"] {
            assert!(may_call(&deployed, &Url::parse(safe).expect("a URL")), "{safe}");
        }
        for unsafe_ in [
            "http://example.com",
            "http://127.0.0.1.example.com",
            "http://10.0.0.1",
            "http://host.docker.internal:9",
            "ftp://127.0.0.1",
        ] {
            assert!(!may_call(&deployed, &Url::parse(unsafe_).expect("a URL")), "{unsafe_}");
        }
    }

    #[test]
    fn sam_local_containers_call_the_local_stack_only() {
        let endpoint = |values: &[(&str, &str)]| {
            let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            endpoint(&values.iter().chain(&[("AWS_SAM_LOCAL", "true")]).map(own).collect(), "BELFRY_FCM_URL")
        };
        let url = "http://host.docker.internal:9/fcm";
        let local = endpoint(&[("BELFRY_FCM_URL", url)]).expect("local").map(String::from);
        assert_eq!(local.as_deref(), Some(url));
        for elsewhere in ["https://fcm.googleapis.com", "http://example.com", "ftp://127.0.0.1", ""] {
            assert!(endpoint(&[("BELFRY_FCM_URL", elsewhere)]).is_err(), "{elsewhere}");
        }
        assert!(endpoint(&[]).is_err(), "there is no default");
    }

    #[test]
    fn time_limit_is_shorter_than_a_send_lease() {
        let limit = |text: &str| time_limit(&[(TIME_LIMIT.to_owned(), text.to_owned())].into_iter().collect());
        assert_eq!(limit("5s"), Ok(Duration::from_secs(5)));
        assert!(limit("30s").is_err());
        assert_eq!(time_limit(&Settings::from_iter([])), Ok(Duration::from_secs(10)));
    }
}
