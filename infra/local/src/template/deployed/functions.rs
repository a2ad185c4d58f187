//! The functions: names, logs, secrets, settings and what a deployment may leave out.

use super::{deployed, each_of, text, variable};
use std::collections::{BTreeMap, BTreeSet};

const SETTINGS: &str = include_str!("../../../../../docs/settings.md");
const SMTP_SECRET: &str = "arn:aws:secretsmanager:eu-south-1:123456789012:secret:smtp-AbCdEf";
const SLACK_SECRET: &str = "arn:aws:secretsmanager:eu-west-1:000000000000:secret:slack-AbCdEf";
const SAMCONFIG: &str = include_str!("../../../../../samconfig.toml");

#[test]
fn every_function_logs_to_a_group_of_its_own_that_forgets() {
    let mut groups = BTreeMap::new();
    each_of("AWS::Logs::LogGroup", &[("Stage", "staging")], |logical_id, group| {
        let properties = &group["Properties"];
        assert_eq!(text(properties, "RetentionInDays"), "30", "{logical_id}");
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
    for function in deployed(&[]).functions {
        for name in &function.declared {
            assert!(cells.iter().any(|cell| lists(cell, name)), "docs/settings.md does not list {name}");
        }
    }
}

/// A variable holds the ARN of a secret, never its content; and the function may read that secret alone.
#[test]
fn every_function_is_told_the_arn_of_its_secrets_and_may_read_no_other() {
    let said = [("SmtpSecret", SMTP_SECRET), ("SlackSecret", SLACK_SECRET)];
    let template = deployed(&said);
    let mut told = BTreeMap::new();
    for function in &template.functions {
        let named = function.environment.keys().filter(|name| name.ends_with("_SECRET"));
        let named: BTreeMap<_, _> =
            named.map(|name| (name.as_str(), variable(function, name).expect("a value"))).collect();
        let role = template.role(function).expect("a role");
        let may = role.permissions.iter().filter(|right| right.action.starts_with("secretsmanager:"));
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
        ("DeliverSlackFunction", vec!["BELFRY_SLACK_ALERTS_SECRET"]),
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
fn a_deployment_can_do_without_payments() {
    let template = deployed(&[("PaymentSecret", "")]);
    assert!(template.functions.iter().all(|function| function.binary != "payment"));
    assert!(template.queues.iter().all(|queue| !queue.name.contains("payment")));
    for function in &template.functions {
        assert!(function.declared.contains("BELFRY_PAYMENT_QUEUE_URL") || function.binary != "outbox-stream");
        assert_eq!(variable(function, "BELFRY_PAYMENT_QUEUE_URL"), None, "{}", function.logical_id);
        assert_eq!(variable(function, "BELFRY_PAYMENT_SECRET"), None, "{}", function.logical_id);
    }
}

/// `sam deploy --guided` asks for each.
#[test]
fn there_are_at_most_twelve_parameters() {
    let template: yaml_serde::Value = yaml_serde::from_str(super::TEMPLATE).expect("yaml");
    let parameters = template["Parameters"].as_mapping().expect("parameters");
    assert!(parameters.len() <= 12, "{}", parameters.len());
    for (name, parameter) in parameters {
        let has_default = parameter.get("Default").is_some();
        let is_required = ["JwtIssuer", "JwtAudience"].contains(&name.as_str().expect("a name"));
        assert_ne!(has_default, is_required, "{name:?}");
    }
}

#[test]
fn an_empty_issuer_or_audience_is_refused() {
    for name in ["JwtIssuer", "JwtAudience"] {
        let mut said = super::parameters(&[]);
        said.insert(name.to_owned(), String::new());
        let problem = crate::template::Template::parse(super::TEMPLATE, &said).expect_err("empty").to_string();
        assert!(problem.contains(name), "{problem}");
    }
}

/// Many accounts have a limit of 10, and Lambda refuses a stack that reserves too much.
#[test]
fn concurrency_is_reserved_only_where_the_mapping_says_so() {
    let reserved = |template: &str| {
        let sections = super::resolve(template, &super::parameters(&[])).unwrap_or_else(|error| panic!("{error}"));
        let resources = sections["Resources"].as_mapping().expect("resources").clone();
        let of_functions = resources.into_iter().filter(|(_, it)| it["Type"] == "AWS::Serverless::Function");
        let reserved = of_functions.filter(|(_, it)| it["Properties"].get("ReservedConcurrentExecutions").is_some());
        reserved.map(|(id, _)| id.as_str().expect("a logical id").to_owned()).collect::<BTreeSet<_>>()
    };
    assert!(reserved(super::TEMPLATE).is_empty());
    let asked = super::TEMPLATE.replace(r#"ReserveConcurrency: "false""#, r#"ReserveConcurrency: "true""#);
    let expected = ["ApiFunction", "LiveFunction", "OutboxStreamFunction", "PaymentFunction", "SweepFunction"];
    assert_eq!(reserved(&asked), expected.map(str::to_owned).into());
}

#[test]
fn mail_is_sent_from_the_one_address_and_reported_to_a_queue() {
    let template = deployed(&[]);
    let email = template.functions.iter().find(|function| function.logical_id == "DeliverEmailFunction");
    let email = email.expect("the function");
    assert_eq!(variable(email, "BELFRY_EMAIL_FROM").as_deref(), Some("Belfry <belfry@example.com>"));
    assert_eq!(variable(email, "BELFRY_EMAIL_PROVIDER").as_deref(), Some("ses"));
    assert!(template.queues.iter().any(|queue| queue.name == "stack-email-feedback"));
    let by_server = deployed(&[("SmtpSecret", SMTP_SECRET)]);
    let email = by_server.functions.iter().find(|function| function.logical_id == "DeliverEmailFunction");
    let email = email.expect("the function");
    assert_eq!(variable(email, "BELFRY_EMAIL_PROVIDER").as_deref(), Some("smtp"));
    assert!(by_server.role(email).expect("a role").permissions.iter().all(|right| right.action != "ses:SendEmail"));
}

#[test]
fn links_in_mails_have_the_public_address_where_there_is_one() {
    for (public_url, expected) in [
        ("", "https://${HttpApi}.execute-api.eu-west-1.amazonaws.com"),
        ("https://api.example.com", "https://api.example.com"),
    ] {
        let template = deployed(&[("PublicUrl", public_url)]);
        let email = template.functions.iter().find(|function| function.logical_id == "DeliverEmailFunction");
        assert_eq!(variable(email.expect("the function"), "BELFRY_PUBLIC_URL").as_deref(), Some(expected));
    }
}

#[test]
fn samconfig_names_parameters_that_are_there_and_a_stage_each() {
    let config: toml::Table = SAMCONFIG.parse().expect("toml");
    let parameters = ["dev", "staging", "production"].map(|environment| {
        // Config environments inherit nothing: `sam build --config-env staging` needs these as well.
        let build = &config[environment]["build"]["parameters"];
        assert_eq!(build["template_file"].as_str(), Some("infra/template.yaml"));
        // Without it, the binaries would be of the architecture of dev.
        let stage = build["parameter_overrides"][0].as_str();
        assert_eq!(stage, Some(format!("Stage={environment}").as_str()));
        assert_eq!(config[environment]["global"]["parameters"]["language_extensions"].as_bool(), Some(true));
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
