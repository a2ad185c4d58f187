//! Our account at the provider, from the secret.

use std::fmt;

use reqwest::header::HeaderValue;
use serde::Deserialize;

/// Our account at the provider.
pub struct Account {
    /// Marked sensitive, so that it is not printed.
    pub(crate) authorization: HeaderValue,
    /// The secrets with which the provider signs its webhooks.
    pub webhook_secrets: Vec<String>,
    /// The payment method to charge if the order names none.
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
        let not_a_key = "is JSON whose key is not printable ASCII";
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
    fn secret_requires_a_key_and_may_hold_more() {
        let least = Account::parse(r#"{"key": "sk"}"#).expect("an account");
        assert!(least.webhook_secrets.is_empty() && least.default_method.is_none());
        let most = r#"{"key": "sk", "webhook_secrets": ["a", "b"], "default_method": "pm_1", "note": 1}"#;
        let most = Account::parse(most).expect("an account");
        assert_eq!((most.webhook_secrets.len(), most.default_method.as_deref()), (2, Some("pm_1")));
        assert!(!format!("{most:?}").contains("sk"));
    }

    #[test]
    fn secret_without_valid_key_is_refused() {
        for text in ["sk_test", "{}", r#"{"key": 1}"#, r#"{"key": ""}"#, r#"{"key": "sk test"}"#, r#"{"key": "sk\n"}"#]
        {
            assert!(Account::parse(text).is_err(), "{text}");
        }
    }
}
