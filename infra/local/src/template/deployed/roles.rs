//! The roles: each function's mappings have the permissions that they need, and no others.

use super::deployed;
use crate::template::{Function, Template};
use std::collections::BTreeSet;

pub fn granted(template: &Template, function: &Function) -> BTreeSet<(String, String)> {
    let role = template.role(function).unwrap_or_else(|| panic!("{} has no role", function.logical_id));
    role.permissions.iter().map(|permission| (permission.action.clone(), permission.resource.to_string())).collect()
}

/// What AWS does in a function's name and the local host does not, or not all of it.
const PLATFORM: [&str; 11] = [
    "dynamodb:DescribeStream",
    "dynamodb:GetRecords",
    "dynamodb:GetShardIterator",
    "dynamodb:ListStreams",
    "logs:CreateLogStream",
    "logs:PutLogEvents",
    "sqs:DeleteMessage",
    "sqs:GetQueueAttributes",
    "sqs:ReceiveMessage",
    "xray:PutTelemetryRecords",
    "xray:PutTraceSegments",
];

/// What the mappings of a function, its log group and its traces need.
fn needed(function: &Function) -> BTreeSet<(String, String)> {
    let name = function.logical_id.strip_suffix("Function").expect("a function");
    let words = name.chars().flat_map(|c| c.is_uppercase().then_some('-').into_iter().chain([c.to_ascii_lowercase()]));
    let log = format!("arn:aws:logs:eu-west-1:000000000000:log-group:/aws/lambda/stack{}:*", words.collect::<String>());
    let mut needed = vec![
        ("logs:CreateLogStream", log.clone()),
        ("logs:PutLogEvents", log),
        ("xray:PutTelemetryRecords", "*".to_owned()),
        ("xray:PutTraceSegments", "*".to_owned()),
    ];
    for mapping in &function.queues {
        let queue = format!("${{{}.Arn}}", mapping.queue);
        let actions = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"];
        needed.extend(actions.map(|action| (action, queue.clone())));
    }
    for mapping in &function.streams {
        let stream = format!("${{{}.StreamArn}}", mapping.table);
        let actions = ["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"];
        needed.extend(actions.map(|action| (action, stream.clone())));
        needed.push(("dynamodb:ListStreams", "*".to_owned()));
    }
    needed.into_iter().map(|(action, resource)| (action.to_owned(), resource)).collect()
}

#[test]
fn the_platform_may_do_in_a_functions_name_what_its_mappings_need_and_nothing_else() {
    let template = deployed(&[]);
    let roles: BTreeSet<_> = template.functions.iter().map(|function| &function.role).collect();
    assert_eq!(roles.len(), template.functions.len(), "each function has a role of its own");
    for function in &template.functions {
        let granted = granted(&template, function);
        let (platform, own): (BTreeSet<_>, BTreeSet<_>) =
            granted.into_iter().partition(|(action, _)| PLATFORM.contains(&action.as_str()));
        assert_eq!(platform, needed(function), "{}", function.logical_id);
        for mapping in &function.streams {
            let failures = mapping.on_failure.as_ref().expect("a queue for what is given up");
            let reported = ("sqs:SendMessage".to_owned(), format!("${{{failures}.Arn}}"));
            assert!(own.contains(&reported), "{reported:?}");
        }
        for (action, resource) in own.iter().filter(|(_, resource)| resource.contains('*')) {
            match action.as_str() {
                "execute-api:ManageConnections" => {
                    assert!(resource.ends_with("/POST/@connections/*"), "{resource}")
                }
                // Limited by the sender's address.
                "ses:SendEmail" => assert!(resource.ends_with(":identity/*"), "{resource}"),
                _ => panic!("{action} on {resource}"),
            }
        }
    }
}
