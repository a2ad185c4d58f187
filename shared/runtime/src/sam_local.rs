//! Containers of `sam local`: a function on a laptop, with a developer's credentials in its environment.
//!
//! There, nothing may be sent to AWS or to a provider. Every endpoint must be set, and name this machine or a private network;
//! a function that misses one refuses to start.

pub(crate) use belfry_core::endpoint::is_local;
pub use belfry_core::endpoint::is_local_host;

use crate::settings::{BadSetting, Settings};

/// SAM sets it to `true` in every container that it starts.
pub(crate) const AWS_SAM_LOCAL: &str = "AWS_SAM_LOCAL";

/// Where an AWS client ends up that has no endpoint of its own: at a port of the container that nobody listens on.
pub(crate) const NOWHERE: &str = "http://127.0.0.1:9";

impl Settings {
    /// Whether the function runs in a container of `sam local`.
    pub fn in_sam_local(&self) -> bool {
        self.text(AWS_SAM_LOCAL).is_ok()
    }

    /// Where something answers, if that is set. In a container of `sam local` it must be set, and be local.
    pub fn endpoint_url(&self, name: &str) -> Result<Option<String>, BadSetting> {
        let url = self.text(name).ok();
        if self.in_sam_local() {
            must_be_local(name, url.as_deref())?;
        }
        Ok(url)
    }
}

/// Refuses an endpoint that is not set or not local.
pub(crate) fn must_be_local(name: &str, url: Option<&str>) -> Result<(), BadSetting> {
    let state = match url {
        Some(url) if is_local(url) => return Ok(()),
        Some(url) => format!("\"{url}\", which is not on this machine"),
        None => "not".to_owned(),
    };
    Err(BadSetting::NotLocal { name: name.to_owned(), state })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(values: &[(&str, &str)]) -> Settings {
        values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn an_endpoint_may_be_missing_or_anywhere_in_a_deployed_function() {
        let deployed = settings(&[("BELFRY_PAYMENT_URL", "https://api.stripe.com")]);
        assert_eq!(deployed.endpoint_url("BELFRY_PAYMENT_URL"), Ok(Some("https://api.stripe.com".to_owned())));
        assert_eq!(deployed.endpoint_url("BELFRY_FCM_URL"), Ok(None));
    }

    #[test]
    fn an_endpoint_that_is_missing_empty_or_elsewhere_is_refused_in_sam_local() {
        let endpoint =
            |url: &str| settings(&[(AWS_SAM_LOCAL, "true"), ("BELFRY_FCM_URL", url)]).endpoint_url("BELFRY_FCM_URL");
        let local = "http://host.docker.internal:1".to_owned();
        assert_eq!(endpoint(&local), Ok(Some(local)));
        let problem = endpoint("").expect_err("empty").to_string();
        let what_to_do = "start the local stack with \"cargo run -- --containers\" and pass --env-vars \
                          target/environment.json";
        assert_eq!(problem, format!("AWS_SAM_LOCAL is set but BELFRY_FCM_URL is not: {what_to_do}"));
        let problem = endpoint("https://fcm.googleapis.com").expect_err("elsewhere").to_string();
        let elsewhere = "AWS_SAM_LOCAL is set but BELFRY_FCM_URL is \"https://fcm.googleapis.com\", which is not on this \
                         machine: ";
        assert_eq!(problem, format!("{elsewhere}{what_to_do}"));
        assert!(settings(&[(AWS_SAM_LOCAL, "true")]).endpoint_url("BELFRY_FCM_URL").is_err());
    }
}
