//! The functions: names, logs, secrets, settings and what a deployment may leave out.

use super::{deployed, each_of, text, variable};
use std::collections::{BTreeMap, BTreeSet};

const SETTINGS: &str = include_str!("../../../../../docs/settings.md");
const SMTP_SECRET: &str = "arn:aws:secretsmanager:eu-south-1:123456789012:secret:smtp-AbCdEf";
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
    let smtp = [("EmailSecondProvider", "smtp"), ("SmtpUrl", "smtps://mail.example.com"), ("SmtpSecret", SMTP_SECRET)];
    for function in deployed(&smtp).functions {
        for name in function.environment.keys() {
            assert!(cells.iter().any(|cell| lists(cell, name)), "docs/settings.md does not list {name}");
        }
    }
}

/// A variable holds the ARN of a secret, never its content; and the function may read that secret alone.
#[test]
fn every_function_is_told_the_arn_of_its_secrets_and_may_read_no_other() {
    let said = [("EmailProvider", "smtp"), ("SmtpUrl", "smtps://mail.example.com"), ("SmtpSecret", SMTP_SECRET)];
    let template = deployed(&said);
    let mut told = BTreeMap::new();
    for function in &template.functions {
        let named = function.environment.keys().filter(|name| name.ends_with("_SECRET"));
        let named: BTreeMap<_, _> =
            named.map(|name| (name.as_str(), variable(function, name).expect("a value"))).collect();
        let role = template.role(function).expect("a role");
        let may = role.rights.iter().filter(|right| right.action.starts_with("secretsmanager:"));
        let may: BTreeSet<(String, String)> =
            may.map(|right| (right.action.clone(), right.resource.to_string())).collect();
        // The API asks whether there are payments, and for nothing more.
        let read =
            named.iter().filter(|(name, _)| (function.binary.as_str(), **name) != ("api", "BELFRY_PAYMENT_SECRET"));
        let read = read.map(|(_, arn)| ("secretsmanager:GetSecretValue".to_owned(), arn.clone()));
        assert_eq!(may, read.collect(), "{}", function.logical_id);
        if !named.is_empty() {
            told.insert(function.logical_id.as_str(), named.into_keys().collect::<Vec<_>>());
        }
    }
    let expected = BTreeMap::from([
        ("ApiFunction", vec!["BELFRY_PAYMENT_SECRET", "BELFRY_UNSUBSCRIBE_SECRET"]),
        ("DeliverEmailFunction", vec!["BELFRY_SMTP_SECRET", "BELFRY_UNSUBSCRIBE_SECRET"]),
        ("DeliverPushFunction", vec!["BELFRY_FCM_SECRET"]),
        ("PaymentFunction", vec!["BELFRY_PAYMENT_SECRET"]),
    ]);
    assert_eq!(told, expected);
}

#[test]
fn a_deployment_can_do_without_a_channel() {
    let without = deployed(&[("EmailFrom", ""), ("SmsOrigination", ""), ("FcmSecret", "")]);
    for (template, enabled) in [(deployed(&[]), "true"), (without, "false")] {
        let fanout = template.functions.iter().find(|function| function.binary == "fanout").expect("the fan-out");
        for name in ["BELFRY_EMAIL_ENABLED", "BELFRY_SMS_ENABLED", "BELFRY_PUSH_ENABLED"] {
            assert_eq!(variable(fanout, name).as_deref(), Some(enabled), "{name}");
        }
        let push = template.functions.iter().find(|function| function.logical_id == "DeliverPushFunction");
        let account = variable(push.expect("the function"), "BELFRY_FCM_SECRET");
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
