//! The link that a mail program unsubscribes with (RFC 8058): signed, so that whoever holds the mail needs no token, and
//! nobody else can make one.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::{Audience, UserId};

/// The key that links are signed with.
#[derive(Clone)]
pub struct UnsubscribeKey {
    key: Vec<u8>,
}

/// The key is too short to be one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be at least 32 characters")]
pub struct WeakKey;

impl UnsubscribeKey {
    /// A key from a secret text.
    pub fn parse(secret: &str) -> Result<Self, WeakKey> {
        if secret.len() < 32 { Err(WeakKey) } else { Ok(Self { key: secret.as_bytes().to_vec() }) }
    }

    /// The signed name of a recipient, safe in a path.
    pub fn sign(&self, audience: Audience, user_id: &UserId) -> String {
        let name = URL_SAFE_NO_PAD.encode(format!("{audience}#{user_id}"));
        let mac = self.mac(&name).map(|mac| URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()));
        format!("{name}.{}", mac.unwrap_or_default())
    }

    /// The recipient whom a link names, if it was signed with this key.
    pub fn open(&self, signed: &str) -> Option<(Audience, UserId)> {
        let (name, mac) = signed.split_once('.')?;
        // Compares in constant time.
        self.mac(name)?.verify_slice(&URL_SAFE_NO_PAD.decode(mac).ok()?).ok()?;
        let name = String::from_utf8(URL_SAFE_NO_PAD.decode(name).ok()?).ok()?;
        let (audience, user_id) = name.split_once('#')?;
        Some((audience.parse().ok()?, UserId::parse(user_id.to_owned()).ok()?))
    }

    fn mac(&self, name: &str) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).ok()?;
        // What is signed says what it is for: the key may come to sign something else one day.
        mac.update(b"unsubscribe:");
        mac.update(name.as_bytes());
        Some(mac)
    }
}

impl std::fmt::Debug for UnsubscribeKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("UnsubscribeKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(secret: &str) -> UnsubscribeKey {
        UnsubscribeKey::parse(secret).expect("a key")
    }

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn a_link_names_its_recipient_and_nobody_elses_key_makes_one() {
        let user = UserId::parse("a#b/c").expect("an id");
        let signed = key(SECRET).sign(Audience::RestaurantUser, &user);
        assert!(signed.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.')), "{signed}");
        assert_eq!(key(SECRET).open(&signed), Some((Audience::RestaurantUser, user)));
        assert_eq!(key("another key of thirty-two letters").open(&signed), None);
    }

    #[test]
    fn a_link_that_was_changed_names_nobody() {
        let of = |name: &str| key(SECRET).sign(Audience::Customer, &UserId::parse(name).expect("an id"));
        let (mine, yours) = (of("mine"), of("yours"));
        let (name, _) = yours.split_once('.').expect("two parts");
        let (_, mac) = mine.split_once('.').expect("two parts");
        for forged in [format!("{name}.{mac}"), format!("{name}."), name.to_owned(), String::new(), ".".to_owned()] {
            assert_eq!(key(SECRET).open(&forged), None, "{forged}");
        }
    }

    #[test]
    fn a_key_has_thirty_two_characters_and_is_never_shown() {
        assert!(UnsubscribeKey::parse("short").is_err());
        assert!(!format!("{:?}", key(SECRET)).contains("0123"));
    }
}
