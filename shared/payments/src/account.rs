//! The secret: what the provider knows us by.

use std::fmt;

use reqwest::header::HeaderValue;
use serde::Deserialize;

/// Our account at the provider.
pub struct Account {
    /// Marked as sensitive, so that it is not shown.
    pub(crate) authorization: HeaderValue,
    /// What the provider signs its webhooks with.
    pub webhook_secrets: Vec<String>,
    /// What is charged where a customer names nothing else.
    pub default_method: Option<String>,
}

#[derive(Deserialize)]
struct Content {
    key: String,
    #[serde(default)]
    webhook_secrets: Vec<String>,
    default_method: Option<String>,
}

impl Account {
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let content: Content = serde_json::from_str(text).map_err(|_| "is not JSON with a key")?;
        let not_a_key = "is JSON whose key is not visible ASCII characters";
        if content.key.is_empty() || !content.key.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(not_a_key);
        }
        let mut authorization = HeaderValue::try_from(format!("Bearer {}", content.key)).map_err(|_| not_a_key)?;
        authorization.set_sensitive(true);
        let Content { webhook_secrets, default_method, .. } = content;
        Ok(Self { authorization, webhook_secrets, default_method })
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account").field("default_method", &self.default_method).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payment_secret_needs_its_key_alone_and_may_hold_more() {
        let least = Account::parse(r#"{"key": "sk"}"#).expect("an account");
        assert!(least.webhook_secrets.is_empty() && least.default_method.is_none());
        let most = r#"{"key": "sk", "webhook_secrets": ["a", "b"], "default_method": "pm_1", "note": 1}"#;
        let most = Account::parse(most).expect("an account");
        assert_eq!((most.webhook_secrets.len(), most.default_method.as_deref()), (2, Some("pm_1")));
        assert!(!format!("{most:?}").contains("sk"));
    }

    #[test]
    fn a_payment_secret_without_a_usable_key_is_refused() {
        for text in ["sk_test", "{}", r#"{"key": 1}"#, r#"{"key": ""}"#, r#"{"key": "sk test"}"#, r#"{"key": "sk\n"}"#]
        {
            assert!(Account::parse(text).is_err(), "{text}");
        }
    }
}
