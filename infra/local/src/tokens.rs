//! The tokens of the local gateway: JSON web tokens signed with HS256. The gateway accepts only its own tokens, so
//! there is one algorithm and one key.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Map, Value, json};
use sha2::Sha256;

/// Signs and checks tokens. The key is new at every start, so tokens of an earlier host are invalid.
#[derive(Clone)]
pub(crate) struct TokenKey {
    mac: Hmac<Sha256>,
}

impl TokenKey {
    /// As long as the blocks of the hash.
    pub(crate) fn random() -> Self {
        let key: [u8; 64] = rand::random();
        Self { mac: Hmac::new(&key.into()) }
    }

    pub(crate) fn sign(&self, claims: &Value) -> String {
        let header = json!({"typ": "JWT", "alg": "HS256"});
        let [header, claims] = [&header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
        let signed = format!("{header}.{claims}");
        let signature = self.mac.clone().chain_update(&signed).finalize().into_bytes();
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    /// The claims of a token that this key has signed and that is not expired at `now`, in Unix seconds.
    pub(crate) fn claims(&self, token: &str, now: i64) -> Option<Map<String, Value>> {
        let (signed, signature) = token.rsplit_once('.')?;
        // Compares in constant time.
        self.mac.clone().chain_update(signed).verify_slice(&URL_SAFE_NO_PAD.decode(signature).ok()?).ok()?;
        let (_, claims) = signed.split_once('.')?;
        let claims: Map<String, Value> = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()?;
        (claims.get("exp")?.as_i64()? > now).then_some(claims)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000;

    #[test]
    fn signed_token_has_its_claims_until_it_expires() {
        let key = TokenKey::random();
        let claims = json!({"sub": "u-1", "exp": NOW + 1});
        let token = key.sign(&claims);
        assert_eq!(key.claims(&token, NOW).map(Value::Object), Some(claims));
        assert_eq!(key.claims(&token, NOW + 1), None);
    }

    #[test]
    fn token_is_three_parts_that_anybody_can_read() {
        let token = TokenKey::random().sign(&json!({"sub": "u-1"}));
        let parts: Vec<_> = token.split('.').map(|part| URL_SAFE_NO_PAD.decode(part).expect("base64")).collect();
        let [header, claims, signature] = parts.as_slice() else { panic!("{token}") };
        let read = |part: &[u8]| serde_json::from_slice::<Value>(part).expect("JSON");
        assert_eq!(read(header), json!({"typ": "JWT", "alg": "HS256"}));
        assert_eq!(read(claims), json!({"sub": "u-1"}));
        assert_eq!(signature.len(), 32);
    }

    #[test]
    fn changed_unsigned_and_foreign_tokens_are_refused() {
        let key = TokenKey::random();
        let token = key.sign(&json!({"sub": "u-1", "exp": NOW + 1}));
        let (signed, signature) = token.rsplit_once('.').expect("a signature");
        let (header, _) = signed.split_once('.').expect("claims");
        let others = URL_SAFE_NO_PAD.encode(json!({"sub": "u-2", "exp": NOW + 1}).to_string());
        let unsigned = URL_SAFE_NO_PAD.encode(json!({"typ": "JWT", "alg": "none"}).to_string());
        let (_, claims) = signed.split_once('.').expect("claims");
        let foreign = TokenKey::random().sign(&json!({"sub": "u-1", "exp": NOW + 1}));
        let refused =
            [format!("{header}.{others}.{signature}"), format!("{unsigned}.{claims}."), format!("{signed}."), foreign];
        for token in refused.iter().map(String::as_str).chain([signed, "", ".", "..", "nonsense"]) {
            assert_eq!(key.claims(token, NOW), None, "{token}");
        }
        let endless = key.sign(&json!({"sub": "u-1"}));
        assert_eq!(key.claims(&endless, NOW), None, "a token without an expiry");
    }
}
