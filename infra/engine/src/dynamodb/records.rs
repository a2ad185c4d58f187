//! Stream records and shards in AWS's format.

use dynoxide::actions::describe_stream::DescribeStreamResponse;
use dynoxide::actions::get_records::{GetRecordsResponse, Record};
use serde::Serialize;

use super::region::REGION;

/// The answer to GetRecords.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Records {
    records: Vec<AwsRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_shard_iterator: Option<String>,
}

#[derive(Debug, Serialize)]
struct AwsRecord {
    #[serde(flatten)]
    record: Record,
    #[serde(rename = "userIdentity", skip_serializing_if = "Option::is_none")]
    user_identity: Option<Identity>,
}

/// The service that deleted an expired item. dynoxide writes these fields in lower case, as in a Lambda event; the API
/// has them in Pascal case.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Identity {
    principal_id: String,
    r#type: String,
}

/// Converts an answer, without the records of writes that changed nothing, which AWS does not create.
///
/// They are filtered when the stream is read, not when it is written: stored images are text, in which equal items may
/// have their attributes in another order. An answer without records may still have a next iterator, as AWS's may.
pub(super) fn to_aws_format(answer: GetRecordsResponse) -> Records {
    let changes = answer.records.into_iter().filter(|record| !changed_nothing(record));
    Records { records: changes.map(AwsRecord::from).collect(), next_shard_iterator: answer.next_shard_iterator }
}

fn changed_nothing(record: &Record) -> bool {
    match (&record.dynamodb.old_image, &record.dynamodb.new_image) {
        (Some(old), Some(new)) => old == new,
        _ => false,
    }
}

impl From<Record> for AwsRecord {
    fn from(mut record: Record) -> AwsRecord {
        record.aws_region = REGION.to_owned();
        let identity = record.user_identity.take();
        let user_identity = identity.map(|by| Identity { principal_id: by.principal_id, r#type: by.identity_type });
        AwsRecord { record, user_identity }
    }
}

/// Removes the ending sequence number, which marks a shard as closed. dynoxide reports its latest record there, although
/// its only shard never closes.
pub(super) fn with_open_shard(mut answer: DescribeStreamResponse) -> DescribeStreamResponse {
    for shard in &mut answer.stream_description.shards {
        shard.sequence_number_range.ending_sequence_number = None;
    }
    answer
}

#[cfg(test)]
mod tests {
    use dynoxide::actions::get_records::UserIdentity;
    use serde_json::{Value, json};

    use super::*;

    fn converted(record: Record) -> Value {
        let answer = GetRecordsResponse { records: vec![record], next_shard_iterator: Some("next".to_owned()) };
        serde_json::to_value(to_aws_format(answer)).unwrap()
    }

    #[test]
    fn user_identity_of_an_expired_item_has_the_api_format() {
        let by =
            UserIdentity { identity_type: "Service".to_owned(), principal_id: "dynamodb.amazonaws.com".to_owned() };
        let answer = converted(Record { user_identity: Some(by), ..Record::default() });
        let expected = json!({"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"});
        assert_eq!(answer["Records"][0]["userIdentity"], expected);
        assert_eq!(answer["NextShardIterator"], "next");
    }

    #[test]
    fn record_names_the_region_and_no_user_identity() {
        let answer = converted(Record { aws_region: "dynoxide".to_owned(), ..Record::default() });
        assert_eq!(answer["Records"][0]["awsRegion"], "us-east-1");
        assert_eq!(answer["Records"][0].get("userIdentity"), None);
    }
}
