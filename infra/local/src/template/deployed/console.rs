//! The console: left out where nobody asks for it, and sealed as the local host seals it.

use super::{deployed, each_of, text};

const HEADERS: &str = "AWS::CloudFront::ResponseHeadersPolicy";

#[test]
fn the_policy_is_the_local_hosts_and_names_this_stacks_own_addresses() {
    let mut policies = Vec::new();
    let console = [("ConsoleEnabled", "true"), ("ConsoleSignInOrigin", "https://id.example.com")];
    each_of(HEADERS, &console, |_, headers| {
        let security = &headers["Properties"]["ResponseHeadersPolicyConfig"]["SecurityHeadersConfig"];
        policies.push(text(&security["ContentSecurityPolicy"], "ContentSecurityPolicy"));
    });
    let own = "connect-src 'self' wss://${LiveApi}.execute-api.eu-west-1.amazonaws.com https://id.example.com";
    assert_eq!(policies, [format!("{}; {own}", crate::console::POLICY)]);
}

#[test]
fn nothing_of_it_is_there_unless_it_is_asked_for() {
    let kinds = [
        "AWS::S3::Bucket",
        "AWS::S3::BucketPolicy",
        "AWS::CloudFront::OriginAccessControl",
        HEADERS,
        "AWS::CloudFront::Distribution",
    ];
    for kind in kinds {
        for (enabled, expected) in [("true", 1), ("false", 0)] {
            let mut found = 0;
            each_of(kind, &[("ConsoleEnabled", enabled)], |_, _| found += 1);
            assert_eq!(found, expected, "{kind}");
        }
    }
    // And the local host reads the template either way.
    deployed(&[("ConsoleEnabled", "true")]);
}
