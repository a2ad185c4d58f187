//! The region in ARNs.
//!
//! dynoxide names a region of its own, `dynoxide`, in every ARN. A client, an event source mapping or a policy
//! that takes an ARN apart should find one that exists: what leaves the engine names us-east-1, and what comes back
//! is turned round. Done on the JSON text, and only for operations whose JSON holds no items: a table's name has no
//! colon, and a tag that happens to look like an ARN comes out as it went in.

use std::borrow::Cow;

use dynoxide::streams::{LOCAL_ACCOUNT, LOCAL_REGION};

/// The region that this engine says it is in.
pub(super) const REGION: &str = "us-east-1";

/// A request as dynoxide knows its ARNs.
pub(super) fn inward(body: &[u8]) -> Cow<'_, [u8]> {
    match std::str::from_utf8(body) {
        Ok(text) => Cow::Owned(renamed(text, REGION, LOCAL_REGION)),
        // Not JSON; whoever reads it next says so.
        Err(_) => Cow::Borrowed(body),
    }
}

/// An answer as AWS would name its ARNs.
pub(super) fn outward(json: Vec<u8>) -> Vec<u8> {
    match std::str::from_utf8(&json) {
        Ok(text) => renamed(text, LOCAL_REGION, REGION),
        Err(_) => json,
    }
}

fn renamed(text: &str, from: &str, to: &str) -> Vec<u8> {
    let in_an_arn = |region: &str| format!(":{region}:{LOCAL_ACCOUNT}:");
    text.replace(&in_an_arn(from), &in_an_arn(to)).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arn_that_went_out_comes_back_as_it_was() {
        let inside = br#"{"StreamArn":"arn:aws:dynamodb:dynoxide:000000000000:table/dynoxide/stream/1.2"}"#.to_vec();
        let outside = outward(inside.clone());
        assert_eq!(outside, br#"{"StreamArn":"arn:aws:dynamodb:us-east-1:000000000000:table/dynoxide/stream/1.2"}"#);
        assert_eq!(*inward(&outside), *inside);
    }
}
