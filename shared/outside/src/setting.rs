//! How the settings of providers are read: the time limit, texts that may be left out, and URLs that must be safe.

use std::time::Duration;

pub use domain::webhook::is_loopback;
use reqwest::Url;
use runtime::{BadSetting, Settings, is_local_host};

const TIME_LIMIT: &str = "BELFRY_PROVIDER_TIME_LIMIT";

/// How long one send, or one request of a payment, may take in all. Bounded, because a claim's lease ends after 30 s, and what is recorded after that
/// is recorded by nobody.
pub fn time_limit(settings: &Settings) -> Result<Duration, BadSetting> {
    let limit = settings.duration(TIME_LIMIT, Duration::from_secs(10), Duration::from_secs(1))?;
    if limit > Duration::from_secs(20) {
        return Err(wrong(TIME_LIMIT, "at most 20s", settings.text(TIME_LIMIT)?));
    }
    Ok(limit)
}

/// How long connecting may take: part of the limit only, so that an address that swallows packets is told apart from a
/// provider that holds its answer.
pub fn connect_limit(limit: Duration) -> Duration {
    (limit / 2).min(Duration::from_secs(3))
}

/// Where a provider answers, if that is set: https, or http on the loopback. In a container of `sam local` it must be set,
/// and be the local stack's.
pub fn endpoint(settings: &Settings, name: &str) -> Result<Option<Url>, BadSetting> {
    let Some(text) = settings.endpoint_url(name)? else { return Ok(None) };
    match Url::parse(&text) {
        Ok(url) if may_call(settings, &url) => Ok(Some(url)),
        _ => Err(wrong(name, "an https URL, or an http URL of the loopback", text)),
    }
}

/// Whether anything may be sent there: what is sent must not be read on the way. From a container of `sam local` nothing may
/// leave the machine, and the machine has another name there than the loopback's.
pub fn may_call(settings: &Settings, url: &Url) -> bool {
    if settings.in_sam_local() {
        return matches!(url.scheme(), "http" | "https") && url.host_str().is_some_and(is_local_host);
    }
    url.scheme() == "https" || (url.scheme() == "http" && url.host_str().is_some_and(is_loopback))
}

/// A setting that cannot be what it is.
pub fn wrong(name: &str, expected: &str, value: impl Into<String>) -> BadSetting {
    BadSetting::Wrong { name: name.to_owned(), expected: expected.to_owned(), value: value.into() }
}

/// Wrong, and secret: the error will be logged.
pub fn wrong_secret(name: &str, expected: &str) -> BadSetting {
    wrong(name, expected, "(not shown)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_the_loopback_alone() {
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
    fn only_the_local_stack_is_called_from_a_container_of_sam_local() {
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
    fn the_time_limit_ends_before_a_lease_does() {
        let limit = |text: &str| time_limit(&[(TIME_LIMIT.to_owned(), text.to_owned())].into_iter().collect());
        assert_eq!(limit("5s"), Ok(Duration::from_secs(5)));
        assert!(limit("30s").is_err());
        assert_eq!(time_limit(&Settings::from_iter([])), Ok(Duration::from_secs(10)));
    }
}
