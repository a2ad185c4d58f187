//! Alarms and the dashboard: what they look at exists. A misspelt metric is no error in CloudWatch: it never rings.

use super::{deployed, each_of, items, section, text, variable};
use crate::metrics::RecentMetrics;
use crate::template::Value;
use domain::recipient::Channel;
use runtime::metrics::{Anomalies, Consumed, Delivered, Ended, Relayed, SagaEnded};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use yaml_serde::Value as Yaml;

/// A metric that somebody looks at: namespace, name, and its dimensions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Watched {
    namespace: String,
    name: String,
    dimensions: BTreeMap<String, String>,
}

/// Every metric that an alarm looks at, with the alarm.
fn watched_by_alarms() -> Vec<(String, Watched)> {
    let mut all = Vec::new();
    each_of("AWS::CloudWatch::Alarm", &[], |logical_id, alarm| {
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
            for metric in widget["properties"]["metrics"].as_array().expect("metrics") {
                // Namespace, name, pairs of a dimension; how it is drawn comes last.
                let words: Vec<_> = metric.as_array().expect("a list").iter().filter_map(Json::as_str).collect();
                assert!(!words.contains(&".") && words.len().is_multiple_of(2), "{words:?}");
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
    metrics.command("grant", Ended::Accepted, 0);
    metrics.events_in(1, 0);
    metrics.consumed("order", &Consumed::default());
    metrics.saga(SagaEnded::Completed);
    metrics.delivered("EMAIL", &Delivered::default());
    metrics.relayed("stream", &Relayed { lag: vec![Duration::from_millis(1)], ..Relayed::default() });
    metrics.anomalies(&Anomalies::default());
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
    ("AWS/DynamoDB", &["ConsumedWriteCapacityUnits"], "TableName"),
];

#[test]
fn metrics_of_aws_are_watched_by_their_names_and_of_this_stack_alone() {
    let alarms = watched_by_alarms().into_iter().map(|(_, metric)| metric);
    for metric in alarms.chain(watched_by_the_dashboard()).filter(|metric| metric.namespace.starts_with("AWS/")) {
        let known = OF_AWS
            .iter()
            .find(|(namespace, names, _)| *namespace == metric.namespace && names.contains(&metric.name.as_str()));
        let (_, _, dimension) = known.unwrap_or_else(|| panic!("{metric:?}"));
        let dimensions: Vec<_> = metric.dimensions.iter().collect();
        let [(name, value)] = dimensions.as_slice() else { panic!("{metric:?}") };
        assert!(name == dimension && value.starts_with("${"), "{metric:?}");
    }
}

#[test]
fn every_function_has_an_alarm_for_errors_and_one_for_throttles() {
    let errors = alarmed("AWS/Lambda", "Errors", "FunctionName");
    let throttles = alarmed("AWS/Lambda", "Throttles", "FunctionName");
    let functions: BTreeSet<String> =
        deployed(&[]).functions.iter().map(|function| format!("${{{}}}", function.logical_id)).collect();
    assert_eq!(errors, functions);
    assert_eq!(throttles, functions);
}

#[test]
fn every_channel_has_an_alarm_for_sends_that_fail() {
    let channels: BTreeSet<String> = Channel::SENT.iter().map(|channel| channel.as_str().to_owned()).collect();
    assert_eq!(alarmed("Belfry/stack", "SendFailed", "Channel"), channels);
}

#[test]
fn alarms_ring_where_a_deployment_says_and_nowhere_else() {
    let topic = "arn:aws:sns:eu-west-1:000000000000:pager";
    for (otherwise, expected) in [
        (&[][..], None),
        (&[("AlarmTopicArn", topic)], Some(topic)),
        (&[("AlarmEmail", "ops@example.com")], Some("${AlarmTopic}")),
        (&[("AlarmEmail", "ops@example.com"), ("AlarmTopicArn", topic)], Some(topic)),
    ] {
        let mut names = BTreeSet::new();
        each_of("AWS::CloudWatch::Alarm", otherwise, |logical_id, alarm| {
            let properties = &alarm["Properties"];
            let actions = items(properties, "AlarmActions");
            let actions: Vec<_> = actions.iter().map(|it| Value::read(it).expect("a topic").to_string()).collect();
            assert_eq!(actions, expected.into_iter().collect::<Vec<_>>(), "{logical_id}");
            assert!(names.insert(text(properties, "AlarmName")), "{logical_id} has a name of its own");
        });
        assert!(names.len() > 40, "{}", names.len());
    }
}

#[test]
fn every_alarm_is_in_the_runbook() {
    let runbook = include_str!("../../../../../docs/deploying.md");
    each_of("AWS::CloudWatch::Alarm", &[], |_, alarm| {
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
    for (name, output) in section("Outputs", &[("ConsoleEnabled", "true"), ("AlarmEmail", "ops@example.com")]) {
        assert!(!text(&output, "Value").is_empty() && !text(&output, "Description").is_empty(), "{name:?}");
    }
}
