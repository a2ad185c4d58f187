//! The console's own template: sealed as the local host seals it.

use super::resolve;
use super::text;
use std::collections::BTreeMap;

const TEMPLATE: &str = include_str!("../../../../console.yaml");

#[test]
fn the_policy_is_the_local_hosts_and_names_this_stacks_own_addresses() {
    let said = [
        ("AWS::StackName", "console"),
        ("AWS::Region", "eu-west-1"),
        ("AWS::AccountId", "000000000000"),
        ("AWS::Partition", "aws"),
        ("AWS::URLSuffix", "amazonaws.com"),
        ("HttpApiId", "http"),
        ("LiveApiId", "live"),
        ("SignInOrigin", "https://id.example.com"),
    ];
    let said: BTreeMap<_, _> = said.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let sections = resolve(TEMPLATE, &said).unwrap_or_else(|error| panic!("{error}"));
    let headers = &sections["Resources"]["ConsoleHeaders"]["Properties"]["ResponseHeadersPolicyConfig"];
    let policy = text(&headers["SecurityHeadersConfig"]["ContentSecurityPolicy"], "ContentSecurityPolicy");
    let own = "connect-src 'self' wss://live.execute-api.eu-west-1.amazonaws.com https://id.example.com";
    assert_eq!(policy, format!("{}; {own}", crate::console::POLICY));
}
