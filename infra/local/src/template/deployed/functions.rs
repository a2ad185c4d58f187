//! The functions: names, logs, secrets, settings and what a deployment may leave out.

use super::{deployed, each_of, text, variable};
use std::collections::{BTreeMap, BTreeSet};

const SETTINGS: &str = include_str!("../../../../../docs/settings.md");
const SAMCONFIG: &str = include_str!("../../../../../samconfig.toml");

#[test]
fn every_function_logs_to_a_group_of_its_own_that_forgets() {
    let mut groups = BTreeMap::new();
    each_of("AWS::Logs::LogGroup", &[("LogRetentionDays", "14")], |logical_id, group| {
        let properties = &group["Properties"];
        assert_eq!(text(properties, "RetentionInDays"), "14", "{logical_id}");
        groups.insert(format!("${{{logical_id}}}"), text(properties, "LogGroupName"));
    });
    let mut functions = 0;
    each_of("AWS::Serverless::Function", &[], |logical_id, function| {
        functions += 1;
        let properties = &function["Properties"];
        let name = text(properties, "FunctionName");
        let group = groups.remove(&text(&properties["LoggingConfig"], "LogGroup"));
        assert_eq!(group, Some(format!("/aws/lambda/{name}")), "{logical_id}");
    });
    assert_eq!(functions, deployed(&[]).functions.len());
    let left: Vec<_> = groups.into_values().collect();
    assert_eq!(left, ["/aws/vendedlogs/stack-api-access", "/aws/vendedlogs/stack-live-access"]);
}

/// Whether a row of the table lists a variable. Its first cell names one whole, and others by what differs (`…_SMS_…`).
fn lists(cell: &str, name: &str) -> bool {
    let mut words = cell.split('`').skip(1).step_by(2);
    let Some(first) = words.next() else { return false };
    let begin = |name: &str| name.split('_').take(2).map(str::to_owned).collect::<Vec<_>>();
    let another = |word: &str| match (word.trim_matches('…'), word.ends_with('…')) {
        (part, true) => name.contains(part) && name.rsplit('_').next() == first.rsplit('_').next(),
        (end, false) => word == name || (end != word && name.ends_with(end) && begin(name) == begin(first)),
    };
    first == name || words.any(another)
}

#[test]
fn every_setting_of_the_template_is_in_the_docs() {
    let cells: Vec<&str> = SETTINGS.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next()).collect();
    let smtp = [("EmailSecondProvider", "smtp"), ("SmtpUrl", "smtps://mail.example.com"), ("SmtpSecret", "smtp")];
    for function in deployed(&smtp).functions {
        for name in function.environment.keys() {
            assert!(cells.iter().any(|cell| lists(cell, name)), "docs/settings.md does not list {name}");
        }
    }
}

#[test]
fn secrets_come_from_secrets_manager() {
    let said = [("EmailProvider", "smtp"), ("SmtpUrl", "smtps://mail.example.com"), ("SmtpSecret", "smtp")];
    let mut secrets = BTreeSet::new();
    for function in deployed(&said).functions {
        for name in function.environment.keys() {
            let secret = ["_KEY", "_PASSWORD", "_USERNAME", "_SERVICE_ACCOUNT"].iter().any(|end| name.ends_with(end));
            if secret {
                let value = variable(&function, name).expect("a value");
                assert!(value.starts_with("{{resolve:secretsmanager:"), "{name} is {value}");
                secrets.insert(name.clone());
            }
        }
    }
    assert_eq!(secrets.len(), 5, "{secrets:?}");
}

#[test]
fn a_deployment_can_do_without_a_channel() {
    let without = deployed(&[("EmailFrom", ""), ("SmsOrigination", ""), ("FcmServiceAccountSecret", "")]);
    for (template, enabled) in [(deployed(&[]), "true"), (without, "false")] {
        let fanout = template.functions.iter().find(|function| function.binary == "fanout").expect("the fan-out");
        for name in ["BELFRY_EMAIL_ENABLED", "BELFRY_SMS_ENABLED", "BELFRY_PUSH_ENABLED"] {
            assert_eq!(variable(fanout, name).as_deref(), Some(enabled), "{name}");
        }
        let push = template.functions.iter().find(|function| function.logical_id == "DeliverPushFunction");
        let account = variable(push.expect("the function"), "BELFRY_FCM_SERVICE_ACCOUNT");
        assert_eq!(account.is_some(), enabled == "true", "a secret without a name would stop the deployment");
    }
}

#[test]
fn samconfig_names_parameters_that_are_there_and_a_stage_each() {
    let config: toml::Table = SAMCONFIG.parse().expect("toml");
    let parameters = ["dev", "staging", "production"].map(|environment| {
        let deploy = &config[environment]["deploy"]["parameters"];
        assert_eq!(deploy["stack_name"].as_str(), Some(format!("belfry-{environment}").as_str()));
        let overrides = deploy["parameter_overrides"].as_array().expect("a list").iter();
        let overrides = overrides.map(|pair| pair.as_str().and_then(|pair| pair.split_once('=')).expect("Name=value"));
        (environment, overrides.collect::<Vec<_>>())
    });
    for (environment, overrides) in parameters {
        assert!(overrides.contains(&("Stage", environment)));
        // An unknown one, or one with a value that is not allowed, is refused here.
        deployed(&overrides);
    }
}
