//! The queues: each of the code's with its dead letter queue, its consumer, its times and its alarm.

use super::alarms::alarmed;
use super::{deployed, each_of, items, text, variable};
use crate::template::{Queue, ScheduleMapping, Template, Value};
use domain::routing::Queue as Subscribed;
use runtime::Settings;
use std::collections::{BTreeMap, BTreeSet};

fn named<'t>(template: &'t Template, name: &str) -> &'t Queue {
    let full = format!("stack-{name}");
    template.queues.iter().find(|queue| queue.name == full).unwrap_or_else(|| panic!("no queue {full}"))
}

#[test]
fn every_queue_has_its_dead_letter_queue_its_consumer_and_its_alarm() {
    let template = deployed(&[]);
    let mut expected = BTreeSet::from(["stack-relay-failures", "stack-email-feedback"].map(str::to_owned));
    let visible = alarmed("AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName");
    // What the recorder cannot take goes round, and is hidden most of the time.
    let hidden = alarmed("AWS/SQS", "ApproximateNumberOfMessagesNotVisible", "QueueName");
    let oldest = alarmed("AWS/SQS", "ApproximateAgeOfOldestMessage", "QueueName");
    let mut sources = BTreeMap::new();
    for subscribed in Subscribed::ALL {
        let queue = named(&template, subscribed.name());
        let redrive = queue.redrive.as_ref().expect("a redrive policy");
        let dead = named(&template, &format!("{}-dlq", subscribed.name()));
        assert_eq!(redrive.dead_letter_queue, dead.logical_id);
        assert!(dead.redrive.is_none() && dead.retention == 1_209_600, "{} keeps for 14 days", dead.name);
        assert!(queue.retention < dead.retention, "a message keeps its age in the dead letter queue");
        let name = |queue: &Queue| [queue.name.clone(), format!("${{{}.QueueName}}", queue.logical_id)];
        let has_alarm = |alarmed: &BTreeSet<String>, queue| name(queue).iter().any(|name| alarmed.contains(name));
        assert!(has_alarm(&visible, dead) && has_alarm(&hidden, dead), "no alarm for {}", dead.name);
        assert!(has_alarm(&oldest, queue), "no alarm for a backlog of {}", queue.name);
        for (queue, by) in [(queue, None), (dead, Some("DeadLettersFunction"))] {
            let functions = template.functions.iter();
            let mut consumers =
                functions.filter(|function| function.queues.iter().any(|it| it.queue == queue.logical_id));
            let consumer = consumers.next().unwrap_or_else(|| panic!("nobody consumes {}", queue.name));
            assert_eq!(consumers.next(), None, "{} has one consumer", queue.name);
            assert!(by.is_none_or(|by| by == consumer.logical_id));
            let mapping = consumer.queues.iter().find(|it| it.queue == queue.logical_id).expect("the mapping");
            assert!(mapping.report_batch_item_failures, "{}", queue.name);
            assert!(mapping.maximum_concurrency.is_some(), "{} has a concurrency of its own", queue.name);
            assert!(queue.visibility_timeout >= 6 * consumer.timeout, "{} hides too shortly", queue.name);
            expected.insert(queue.name.clone());
        }
        sources.insert(dead.logical_id.clone(), format!("arn:aws:sqs:eu-west-1:000000000000:{}", queue.name));
    }
    assert_eq!(template.queues.iter().map(|queue| queue.name.clone()).collect::<BTreeSet<_>>(), expected);
    assert!(visible.contains("${RelayFailuresQueue.QueueName}"));

    each_of("AWS::SQS::Queue", &[], |logical_id, queue| {
        let properties = &queue["Properties"];
        assert_eq!(text(properties, "SqsManagedSseEnabled"), "true", "{logical_id} is encrypted");
        let allowed = properties.get("RedriveAllowPolicy").map(|policy| {
            let sources = items(policy, "sourceQueueArns");
            let sources = sources.iter().map(|arn| Value::read(arn).expect("an ARN").to_string()).collect::<Vec<_>>();
            (text(policy, "redrivePermission"), sources)
        });
        let expected = match (sources.get(logical_id), logical_id) {
            (Some(source), _) => Some(("byQueue".to_owned(), vec![source.clone()])),
            (None, "RelayFailuresQueue" | "EmailFeedbackQueue") => Some(("denyAll".to_owned(), Vec::new())),
            (None, _) => None,
        };
        assert_eq!(allowed, expected, "{logical_id}");
    });
}

#[test]
fn a_consumer_gives_up_on_the_receive_on_which_its_queue_would() {
    let default = Settings::from_iter([]).last_receive().expect("a default");
    assert_eq!(default, 5, "as the specification says");
    for (count, expected) in [("5", default), ("7", 7)] {
        let template = super::TEMPLATE.replace(r#"ReceiveCount: "5""#, &format!(r#"ReceiveCount: "{count}""#));
        let template = Template::parse(&template, &super::parameters(&[])).expect("a template");
        for queue in &template.queues {
            assert!(
                queue.redrive.as_ref().is_none_or(|redrive| redrive.max_receive_count == expected),
                "{}",
                queue.name
            );
        }
        for function in template.functions.iter().filter(|function| !function.queues.is_empty()) {
            assert_eq!(
                variable(function, "BELFRY_RECEIVE_COUNT"),
                Some(expected.to_string()),
                "{}",
                function.logical_id
            );
        }
    }
}

#[test]
fn streams_are_relayed_in_bounds_and_what_is_given_up_is_told() {
    let template = deployed(&[]);
    let relay = template.functions.iter().find(|function| function.binary == "outbox-stream").expect("the relay");
    let tables: BTreeSet<&str> = relay.streams.iter().map(|stream| stream.table.as_str()).collect();
    assert_eq!(tables, BTreeSet::from(["EventsTable", "SendsTable"]));
    for stream in &relay.streams {
        assert!(stream.bisect && stream.report_batch_item_failures && !stream.filters.is_empty(), "{}", stream.name);
        assert!(stream.maximum_retry_attempts.is_some(), "{} retries within bounds", stream.name);
        assert!(
            stream.maximum_record_age.is_some_and(|age| age < 86_400),
            "{} gives up before the stream does",
            stream.name
        );
        assert!(stream.parallelization_factor > 1, "{}", stream.name);
        assert_eq!(stream.on_failure.as_deref(), Some("RelayFailuresQueue"));
    }
}

#[test]
fn sweepers_run_every_minute_and_look_for_anomalies_every_hour() {
    let template = deployed(&[]);
    let sweep = template.functions.iter().find(|function| function.binary == "sweep").expect("the sweeper");
    let task = |run: &ScheduleMapping| run.input["task"].as_str().expect("a task").to_owned();
    let runs: BTreeMap<String, u64> = sweep.schedules.iter().map(|run| (task(run), run.every.as_secs())).collect();
    let expected = [("outbox", 60), ("sends", 60), ("orders", 60), ("anomalies", 3_600)];
    assert_eq!(runs, expected.map(|(task, seconds)| (task.to_owned(), seconds)).into());
    assert!(sweep.timeout < 60, "a run ends before the next one begins");
}

#[test]
fn every_queue_refuses_plaintext_transport() {
    let mut refusing = BTreeSet::new();
    each_of("AWS::SQS::QueuePolicy", &[], |logical_id, policy| {
        let properties = &policy["Properties"];
        let denies = |statement: &yaml_serde::Value| {
            statement["Effect"] == "Deny"
                && statement["Action"] == "sqs:*"
                && statement["Principal"] == "*"
                && statement["Condition"]["Bool"]["aws:SecureTransport"] == "false"
        };
        assert!(items(&properties["PolicyDocument"], "Statement").iter().any(denies), "{logical_id}");
        refusing.extend(items(properties, "Queues").iter().filter_map(Value::read).map(|queue| queue.to_string()));
    });
    let queues = deployed(&[]).queues.into_iter().map(|queue| format!("${{{}}}", queue.logical_id));
    assert_eq!(refusing, queues.collect());
}
