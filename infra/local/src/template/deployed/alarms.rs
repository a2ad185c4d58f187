//! Alarms and the dashboard: what they look at exists. A misspelt metric is no error in CloudWatch: it never rings.

use super::{deployed, each_of, items, section, text, variable};
use crate::metrics::RecentMetrics;
use crate::template::Value;
use belfry_aws::metrics::{CommandOutcome, Consumed, Relayed};
use domain::order::OrderStatus;
use domain::recipient::Channel;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use store::metrics::{Anomalies, Delivered};
use yaml_serde::Value as Yaml;

/// A metric that somebody looks at: namespace, name, and its dimensions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Watched {
    namespace: String,
    name: String,
    dimensions: BTreeMap<String, String>,
}

/// Alarms exist only where somebody is told of them.
const TOPIC: &str = "arn:aws:sns:eu-west-1:000000000000:pager";
const RINGING: [(&str, &str); 1] = [("AlarmTarget", TOPIC)];

/// Every metric that an alarm looks at, with the alarm.
fn watched_by_alarms() -> Vec<(String, Watched)> {
    let mut all = Vec::new();
    each_of("AWS::CloudWatch::Alarm", &RINGING, |logical_id, alarm| {
        let properties = &alarm["Properties"];
        let metrics = items(properties, "Metrics");
        let parts = metrics.iter().filter_map(|metric| metric.get("MetricStat"));
        let parts: Vec<_> = parts.map(|stat| watched(&stat["Metric"])).collect();
        let parts = if metrics.is_empty() { vec![watched(properties)] } else { parts };
        all.extend(parts.into_iter().map(|metric| (logical_id.to_owned(), metric)));
    });
    all
}

fn watched(metric: &Yaml) -> Watched {
    let dimensions = items(metric, "Dimensions");
    Watched {
        namespace: text(metric, "Namespace"),
        name: text(metric, "MetricName"),
        dimensions: dimensions.iter().map(|it| (text(it, "Name"), text(it, "Value"))).collect(),
    }
}

/// Every metric on the dashboard.
fn watched_by_the_dashboard() -> Vec<Watched> {
    let mut all = Vec::new();
    each_of("AWS::CloudWatch::Dashboard", &[], |_, dashboard| {
        let body = text(&dashboard["Properties"], "DashboardBody");
        let body: Json = serde_json::from_str(&body).expect("a dashboard is JSON");
        for widget in body["widgets"].as_array().expect("widgets") {
            let mut before: Vec<&str> = Vec::new();
            for metric in widget["properties"]["metrics"].as_array().expect("metrics") {
                // Namespace, name, pairs of a dimension; how it is drawn comes last. "..." repeats all but the last word.
                let mut words: Vec<_> = metric.as_array().expect("a list").iter().filter_map(Json::as_str).collect();
                if words[0] == "..." {
                    words.splice(..1, before[..before.len() - 1].iter().copied());
                }
                assert!(!words.contains(&".") && words.len().is_multiple_of(2), "{words:?}");
                before.clone_from(&words);
                let dimensions = words[2..].chunks(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned())).collect();
                all.push(Watched { namespace: words[0].to_owned(), name: words[1].to_owned(), dimensions });
            }
        }
    });
    all
}

/// What the alarms on a metric of AWS's have for this dimension.
pub(super) fn alarmed(namespace: &str, name: &str, dimension: &str) -> BTreeSet<String> {
    let all = watched_by_alarms().into_iter().map(|(_, metric)| metric);
    let of_metric = all.filter(|metric| metric.namespace == namespace && metric.name == name);
    of_metric.filter_map(|metric| metric.dimensions.get(dimension).cloned()).collect()
}

/// What the code emits: the name of each metric, with the names of its dimensions.
fn emitted() -> BTreeSet<(String, BTreeSet<String>)> {
    let recent = RecentMetrics::default();
    let metrics = recent.sink();
    metrics.command("grant", CommandOutcome::Accepted, 0);
    runtime::Metrics::of(metrics.sink()).events_in(1, 0);
    metrics.consumed("order", &Consumed::default());
    store::metrics::saga_ended(&metrics, OrderStatus::Completed);
    store::metrics::delivered(&metrics, Channel::Email, &Delivered::default());
    metrics.relayed("stream", &Relayed { lag: vec![Duration::from_millis(1)], ..Relayed::default() });
    store::metrics::anomalies(&metrics, &Anomalies::default());
    let mut all = BTreeSet::new();
    for line in recent.lines() {
        for directive in line["_aws"]["CloudWatchMetrics"].as_array().expect("directives") {
            for dimensions in directive["Dimensions"].as_array().expect("sets") {
                let names = dimensions.as_array().expect("names").iter();
                let names: BTreeSet<_> = names.filter_map(Json::as_str).map(str::to_owned).collect();
                for metric in directive["Metrics"].as_array().expect("metrics") {
                    all.insert((metric["Name"].as_str().expect("a name").to_owned(), names.clone()));
                }
            }
        }
    }
    all
}

#[test]
fn every_metric_that_is_watched_is_emitted_with_those_dimensions() {
    let namespaces: BTreeSet<_> =
        deployed(&[]).functions.iter().filter_map(|function| variable(function, "BELFRY_METRICS_NAMESPACE")).collect();
    let emitted = emitted();
    let channels = Channel::SENT.map(Channel::as_str);
    let on_dashboard = watched_by_the_dashboard().into_iter().map(|metric| ("Dashboard".to_owned(), metric));
    let mut ours = 0;
    for (by, metric) in watched_by_alarms().into_iter().chain(on_dashboard) {
        if metric.namespace.starts_with("AWS/") {
            continue;
        }
        ours += 1;
        assert!(namespaces.contains(&metric.namespace), "{by}: nobody emits into {}", metric.namespace);
        let names: BTreeSet<String> = metric.dimensions.keys().cloned().collect();
        assert!(emitted.contains(&(metric.name.clone(), names)), "{by}: nobody emits {metric:?}");
        for (dimension, value) in &metric.dimensions {
            assert!(dimension == "Channel" && channels.contains(&value.as_str()), "{by}: {dimension} {value}");
        }
    }
    assert!(ours > 40, "{ours}");
}

/// The metrics of AWS's that are watched, and what each is divided by.
const OF_AWS: [(&str, &[&str], &str); 4] = [
    (
        "AWS/Lambda",
        &["ConcurrentExecutions", "Duration", "Errors", "Invocations", "IteratorAge", "Throttles"],
        "FunctionName",
    ),
    (
        "AWS/SQS",
        &[
            "ApproximateAgeOfOldestMessage",
            "ApproximateNumberOfMessagesNotVisible",
            "ApproximateNumberOfMessagesVisible",
        ],
        "QueueName",
    ),
    (
        "AWS/ApiGateway",
        &["4xx", "5xx", "ClientError", "ConnectCount", "Count", "ExecutionError", "Latency", "MessageCount"],
        "ApiId",
    ),
    ("AWS/DynamoDB", &["ConsumedWriteCapacityUnits", "ReadThrottleEvents", "WriteThrottleEvents"], "TableName"),
];

#[test]
fn metrics_of_aws_are_watched_by_their_names_and_of_this_stack_alone() {
    let template = deployed(&[]);
    let queues =
        template.queues.iter().map(|queue| [queue.name.clone(), format!("${{{}.QueueName}}", queue.logical_id)]);
    let functions = function_names().into_iter();
    let functions = functions.map(|(logical_id, name)| [name, format!("${{{logical_id}}}")]);
    let tables = template.tables.iter().map(|table| table.name.clone());
    let apis = ["${HttpApi}", "${LiveApi}"].map(str::to_owned);
    let there: BTreeSet<String> = queues.chain(functions).flatten().chain(tables).chain(apis).collect();
    let alarms = watched_by_alarms().into_iter().map(|(_, metric)| metric);
    for metric in alarms.chain(watched_by_the_dashboard()).filter(|metric| metric.namespace.starts_with("AWS/")) {
        let known = OF_AWS
            .iter()
            .find(|(namespace, names, _)| *namespace == metric.namespace && names.contains(&metric.name.as_str()));
        let (_, _, dimension) = known.unwrap_or_else(|| panic!("{metric:?}"));
        let dimensions: Vec<_> = metric.dimensions.iter().collect();
        let [(name, value)] = dimensions.as_slice() else { panic!("{metric:?}") };
        assert!(name == dimension && there.contains(value.as_str()), "{metric:?}");
    }
}

/// The names of the functions, by their logical ids.
fn function_names() -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    each_of("AWS::Serverless::Function", &[], |logical_id, function| {
        names.insert(logical_id.to_owned(), text(&function["Properties"], "FunctionName"));
    });
    names
}

#[test]
fn every_function_has_an_alarm_for_errors_and_one_for_throttles() {
    let functions: BTreeSet<String> = function_names().into_values().collect();
    assert_eq!(alarmed("AWS/Lambda", "Errors", "FunctionName"), functions);
    assert_eq!(alarmed("AWS/Lambda", "Throttles", "FunctionName"), functions);
}

#[test]
fn every_table_has_an_alarm_for_throttling() {
    let tables: BTreeSet<String> = deployed(&[]).tables.into_iter().map(|table| table.name).collect();
    assert_eq!(alarmed("AWS/DynamoDB", "ReadThrottleEvents", "TableName"), tables);
    assert_eq!(alarmed("AWS/DynamoDB", "WriteThrottleEvents", "TableName"), tables);
}

#[test]
fn every_channel_has_an_alarm_for_sends_that_fail() {
    let channels: BTreeSet<String> = Channel::SENT.iter().map(|channel| channel.as_str().to_owned()).collect();
    assert_eq!(alarmed("Belfry/stack", "SendFailed", "Channel"), channels);
}

#[test]
fn there_are_no_alarms_without_a_target_and_each_has_its_actions_with_one() {
    each_of("AWS::CloudWatch::Alarm", &[], |logical_id, _| panic!("{logical_id} rings nobody"));
    let mut names = BTreeSet::new();
    each_of("AWS::CloudWatch::Alarm", &RINGING, |logical_id, alarm| {
        let properties = &alarm["Properties"];
        for actions in ["AlarmActions", "OKActions"] {
            let told: Vec<_> =
                items(properties, actions).iter().filter_map(Value::read).map(|it| it.to_string()).collect();
            assert_eq!(told, [TOPIC], "{logical_id}.{actions}");
        }
        assert!(names.insert(text(properties, "AlarmName")), "{logical_id} has a name of its own");
    });
    assert!(names.len() > 80, "{}", names.len());
}

#[test]
fn a_deployment_without_payments_has_no_alarm_for_them() {
    let without = [("AlarmTarget", TOPIC), ("PaymentSecret", "")];
    each_of("AWS::CloudWatch::Alarm", &without, |logical_id, _| {
        assert!(!logical_id.starts_with("Payment") || logical_id == "PaymentsThrottledAlarm", "{logical_id}");
    });
}

#[test]
fn every_alarm_is_in_the_runbook() {
    let runbook = include_str!("../../../../../docs/deploying.md");
    each_of("AWS::CloudWatch::Alarm", &RINGING, |_, alarm| {
        let name = text(&alarm["Properties"], "AlarmName");
        let name = name.strip_prefix("stack-").expect("the stack's name");
        // Those of which there is one for each queue, function or channel share a row.
        let end = name.rsplit('-').next().map(|end| format!("`…-{end}`"));
        let channel = name.strip_suffix("send-failed").map(|channel| format!("`{channel}`"));
        let mut rows = [Some(format!("`{name}`")), end, channel].into_iter().flatten();
        assert!(rows.any(|row| runbook.contains(&row)), "{name}");
    });
}

#[test]
fn outputs_refer_to_what_is_there() {
    for (name, output) in section("Outputs", &[]) {
        assert!(!text(&output, "Value").is_empty() && !text(&output, "Description").is_empty(), "{name:?}");
    }
}
