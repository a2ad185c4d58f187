//! What a stream tells, as AWS tells it.

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
    by: Option<Identity>,
}

/// Who deleted an item, if it was not a client but its expiry. dynoxide writes these two as they look in a Lambda
/// event, in lower case; the API has them so.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Identity {
    principal_id: String,
    r#type: String,
}

/// Without the records of writes that changed nothing, which AWS does not make. They are left out when a stream is
/// read, not when they are written: stored images are text, in which the same item may be in another order.
/// An answer may so have no records and still a next iterator, as AWS's may.
pub(super) fn as_aws_tells_them(answer: GetRecordsResponse) -> Records {
    let told = answer.records.into_iter().filter(|record| !changed_nothing(record));
    Records { records: told.map(AwsRecord::from).collect(), next_shard_iterator: answer.next_shard_iterator }
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
        let by =
            record.user_identity.take().map(|by| Identity { principal_id: by.principal_id, r#type: by.identity_type });
        AwsRecord { record, by }
    }
}

/// A shard with a last number is closed, and a consumer that has read to there need not come back. dynoxide's only
/// shard never closes, but is described with the number of its latest record.
pub(super) fn with_an_open_shard(mut answer: DescribeStreamResponse) -> DescribeStreamResponse {
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

    fn told(record: Record) -> Value {
        let answer = GetRecordsResponse { records: vec![record], next_shard_iterator: Some("next".to_owned()) };
        serde_json::to_value(as_aws_tells_them(answer)).unwrap()
    }

    #[test]
    fn who_let_an_item_expire_is_told_in_the_words_of_the_api() {
        let by =
            UserIdentity { identity_type: "Service".to_owned(), principal_id: "dynamodb.amazonaws.com".to_owned() };
        let answer = told(Record { user_identity: Some(by), ..Record::default() });
        let expected = json!({"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"});
        assert_eq!(answer["Records"][0]["userIdentity"], expected);
        assert_eq!(answer["NextShardIterator"], "next");
    }

    #[test]
    fn a_record_names_the_region_and_nobody_who_was_not_there() {
        let answer = told(Record { aws_region: "dynoxide".to_owned(), ..Record::default() });
        assert_eq!(answer["Records"][0]["awsRegion"], "us-east-1");
        assert_eq!(answer["Records"][0].get("userIdentity"), None);
    }
}
