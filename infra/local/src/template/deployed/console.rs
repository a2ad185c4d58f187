//! The console: left out where nobody asks for it, and sealed as the local host seals it.

use super::{deployed, each_of, text};

const HEADERS: &str = "AWS::CloudFront::ResponseHeadersPolicy";

#[test]
fn the_policy_is_the_local_hosts_and_names_this_stacks_own_addresses() {
    let mut policies = Vec::new();
    each_of(HEADERS, &[("ConsoleSignInOrigin", "https://id.example.com")], |_, headers| {
        let config = headers.need("Properties").and_then(|all| all.need("ResponseHeadersPolicyConfig"));
        let security = config.and_then(|config| config.need("SecurityHeadersConfig")).expect("security headers");
        let policy = security.need("ContentSecurityPolicy").expect("a policy");
        policies.push(text(&policy, "ContentSecurityPolicy"));
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
        let mut found = 0;
        each_of(kind, &[], |logical_id, resource| {
            found += 1;
            assert_eq!(text(resource, "Condition"), "HasConsole", "{logical_id}");
        });
        assert_eq!(found, 1, "{kind}");
    }
    // And the local host reads the template either way.
    deployed(&[("ConsoleEnabled", "true")]);
}
