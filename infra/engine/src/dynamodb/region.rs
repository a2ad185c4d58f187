//! The region in ARNs.
//!
//! dynoxide names a region `dynoxide` in every ARN. A client, an event source mapping or a policy that parses an ARN
//! expects one that exists. So answers name us-east-1, and requests are translated back. The JSON text is rewritten, and
//! only for operations without items in their JSON; a table's name cannot contain the pattern.

use std::borrow::Cow;

use dynoxide::streams::{LOCAL_ACCOUNT, LOCAL_REGION};

/// The region that this engine reports.
pub(super) const REGION: &str = "us-east-1";

/// Rewrites a request's ARNs for dynoxide.
pub(super) fn to_dynoxide(body: &[u8]) -> Cow<'_, [u8]> {
    match std::str::from_utf8(body) {
        Ok(text) => Cow::Owned(renamed(text, REGION, LOCAL_REGION)),
        // Not JSON; parsing it reports the error.
        Err(_) => Cow::Borrowed(body),
    }
}

/// Rewrites an answer's ARNs for clients.
pub(super) fn to_aws(json: Vec<u8>) -> Vec<u8> {
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
    fn arn_survives_the_round_trip() {
        let internal = br#"{"StreamArn":"arn:aws:dynamodb:dynoxide:000000000000:table/dynoxide/stream/1.2"}"#.to_vec();
        let external = to_aws(internal.clone());
        assert_eq!(external, br#"{"StreamArn":"arn:aws:dynamodb:us-east-1:000000000000:table/dynoxide/stream/1.2"}"#);
        assert_eq!(*to_dynoxide(&external), *internal);
    }
}
