//! Accepts `maxReceiveCount` as a string.
//!
//! AWS accepts a number and a string; its console, many templates and the AWS CLI's examples write a string. rustack
//! accepts a number only.

use std::collections::HashMap;

use bytes::Bytes;
use rustack_sqs_model::error::SqsError;
use rustack_sqs_model::types::RedrivePolicy;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

const POLICY: &str = "RedrivePolicy";

/// A CreateQueue or SetQueueAttributes request: its attributes, and the rest unchanged.
#[derive(Deserialize, Serialize)]
struct Request {
    #[serde(rename = "Attributes", default)]
    attributes: HashMap<String, String>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AwsPolicy {
    dead_letter_target_arn: String,
    max_receive_count: Count,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Count {
    Number(i32),
    Text(String),
}

/// Returns the request with `maxReceiveCount` as a number.
pub(super) fn with_numeric_count(body: Bytes) -> Result<Bytes, SqsError> {
    let mut request: Request = super::parsed(&body)?;
    match request.attributes.get_mut(POLICY) {
        // An empty policy removes the policy.
        Some(policy) if !policy.is_empty() => *policy = numeric(policy)?,
        _ => return Ok(body),
    }
    serde_json::to_vec(&request).map(Bytes::from).map_err(|error| SqsError::internal_error(error.to_string()))
}

/// Serialised by rustack's own type, so that creating the queue again with the same policy compares equal.
fn numeric(policy: &str) -> Result<String, SqsError> {
    let refused = |reason: String| {
        SqsError::invalid_parameter_value(format!(
            "Value {policy} for parameter RedrivePolicy is invalid. Reason: {reason}"
        ))
    };
    let given: AwsPolicy = serde_json::from_str(policy).map_err(|error| refused(error.to_string()))?;
    let max_receive_count = match given.max_receive_count {
        Count::Number(count) => count,
        Count::Text(count) => {
            count.trim().parse().map_err(|_| refused("maxReceiveCount is not a number.".to_owned()))?
        }
    };
    if !(1..=1000).contains(&max_receive_count) {
        return Err(refused("maxReceiveCount must be between 1 and 1000.".to_owned()));
    }
    let policy = RedrivePolicy { dead_letter_target_arn: given.dead_letter_target_arn, max_receive_count };
    serde_json::to_string(&policy).map_err(|error| SqsError::internal_error(error.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn create(policy: &str) -> Bytes {
        let request = json!({"QueueName": "orders", "Attributes": {"RedrivePolicy": policy, "DelaySeconds": "1"}});
        Bytes::from(request.to_string())
    }

    fn policy_of(body: &Bytes) -> Value {
        let request: Value = serde_json::from_slice(body).unwrap();
        assert_eq!(request["QueueName"], "orders");
        assert_eq!(request["Attributes"]["DelaySeconds"], "1");
        serde_json::from_str(request["Attributes"]["RedrivePolicy"].as_str().unwrap()).unwrap()
    }

    #[test]
    fn count_may_be_string_or_number() {
        for count in [r#""3""#, "3"] {
            let given = format!(r#"{{"deadLetterTargetArn":"arn:of:a:queue","maxReceiveCount":{count}}}"#);
            let body = with_numeric_count(create(&given)).unwrap();
            assert_eq!(policy_of(&body), json!({"deadLetterTargetArn": "arn:of:a:queue", "maxReceiveCount": 3}));
        }
    }

    #[test]
    fn invalid_count_is_refused() {
        for count in [r#""three""#, "0", "1001", "null"] {
            let given = format!(r#"{{"deadLetterTargetArn":"arn:of:a:queue","maxReceiveCount":{count}}}"#);
            assert!(with_numeric_count(create(&given)).is_err(), "{count}");
        }
    }

    #[test]
    fn request_without_policy_is_unchanged() {
        for body in [r#"{"QueueName":"orders"}"#, r#"{"QueueUrl":"u","Attributes":{"RedrivePolicy":""}}"#] {
            assert_eq!(with_numeric_count(Bytes::from(body)).unwrap(), body);
        }
    }
}
