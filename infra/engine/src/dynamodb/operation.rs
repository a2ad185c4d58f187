//! Which operations there are, and how each is handed to the database.
//!
//! All of dynoxide's but PartiQL and vector search, which Belfry has no use for.

use dynoxide::actions::query::QueryRequest;
use dynoxide::actions::scan::ScanRequest;
use dynoxide::actions::transact_write_items::TransactWriteItemsRequest;
use dynoxide::{Database, DynoxideError};
use serde::de::value::{Error as UnknownName, StrDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer};
use serde::{Deserialize, Serialize};

use super::{iterator, records, region};

/// An operation by AWS's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum Operation {
    CreateTable,
    DeleteTable,
    DescribeTable,
    ListTables,
    UpdateTable,
    TagResource,
    UntagResource,
    ListTagsOfResource,
    UpdateTimeToLive,
    DescribeTimeToLive,
    PutItem,
    GetItem,
    UpdateItem,
    DeleteItem,
    Query,
    Scan,
    BatchGetItem,
    BatchWriteItem,
    TransactGetItems,
    TransactWriteItems,
    ListStreams,
    DescribeStream,
    GetShardIterator,
    GetRecords,
}

impl Operation {
    /// Reads the header `X-Amz-Target`; `None` if there is no such operation.
    pub(super) fn parse(target: &str) -> Option<Operation> {
        let name =
            target.strip_prefix("DynamoDB_20120810.").or_else(|| target.strip_prefix("DynamoDBStreams_20120810."))?;
        let name: StrDeserializer<UnknownName> = name.into_deserializer();
        Operation::deserialize(name).ok()
    }

    /// Whether it changes items, and so may leave records in a stream.
    pub(super) fn writes(self) -> bool {
        use Operation::{BatchWriteItem, DeleteItem, PutItem, TransactWriteItems, UpdateItem};
        matches!(self, PutItem | UpdateItem | DeleteItem | BatchWriteItem | TransactWriteItems)
    }

    /// Whether ARNs of tables or streams go in or come out.
    fn carries_arns(self) -> bool {
        use Operation::{
            CreateTable, DeleteTable, DescribeStream, DescribeTable, GetShardIterator, ListStreams, ListTagsOfResource,
            TagResource, UntagResource, UpdateTable,
        };
        matches!(
            self,
            CreateTable
                | DeleteTable
                | DescribeStream
                | DescribeTable
                | GetShardIterator
                | ListStreams
                | ListTagsOfResource
                | TagResource
                | UntagResource
                | UpdateTable
        )
    }

    /// Runs it. `body` and what comes back are JSON in AWS's form.
    pub(super) fn run(self, database: &Database, body: &[u8]) -> Result<Vec<u8>, Refusal> {
        if self.carries_arns() {
            self.hand_over(database, &region::inward(body))
                .map(region::outward)
                .map_err(|refusal| Refusal { json: region::outward(refusal.json), ..refusal })
        } else {
            self.hand_over(database, body)
        }
    }

    fn hand_over(self, database: &Database, body: &[u8]) -> Result<Vec<u8>, Refusal> {
        match self {
            Operation::CreateTable => call(body, |ask| database.create_table(ask)),
            Operation::DeleteTable => call(body, |ask| database.delete_table(ask)),
            Operation::DescribeTable => call(body, |ask| database.describe_table(ask)),
            Operation::ListTables => call(body, |ask| database.list_tables(ask)),
            Operation::UpdateTable => call(body, |ask| database.update_table(ask)),
            Operation::TagResource => call(body, |ask| database.tag_resource(ask)),
            Operation::UntagResource => call(body, |ask| database.untag_resource(ask)),
            Operation::ListTagsOfResource => call(body, |ask| database.list_tags_of_resource(ask)),
            Operation::UpdateTimeToLive => call(body, |ask| database.update_time_to_live(ask)),
            Operation::DescribeTimeToLive => call(body, |ask| database.describe_time_to_live(ask)),
            Operation::PutItem => call(body, |ask| database.put_item(ask)),
            Operation::GetItem => call(body, |ask| database.get_item(ask)),
            Operation::UpdateItem => call(body, |ask| database.update_item(ask)),
            Operation::DeleteItem => call(body, |ask| database.delete_item(ask)),
            Operation::Query => {
                call(body, |ask: QueryRequest| database.query(QueryRequest { limit: page(ask.limit), ..ask }))
            }
            Operation::Scan => {
                call(body, |ask: ScanRequest| database.scan(ScanRequest { limit: page(ask.limit), ..ask }))
            }
            Operation::BatchGetItem => call(body, |ask| database.batch_get_item(ask)),
            Operation::BatchWriteItem => call(body, |ask| database.batch_write_item(ask)),
            Operation::TransactGetItems => call(body, |ask| database.transact_get_items(ask)),
            Operation::TransactWriteItems => call(body, |ask| database.transact_write_items(without_token(ask))),
            Operation::ListStreams => call(body, |ask| database.list_streams(ask)),
            Operation::DescribeStream => {
                call(body, |ask| database.describe_stream(ask).map(records::with_an_open_shard))
            }
            Operation::GetShardIterator => call(body, |ask| iterator::first(database, ask)),
            Operation::GetRecords => call(body, |ask| iterator::records(database, ask)),
        }
    }
}

/// What the client gets instead of an answer.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) json: Vec<u8>,
}

impl From<DynoxideError> for Refusal {
    /// dynoxide's own form is AWS's, down to the reasons of a cancelled transaction and the item that failed a
    /// condition.
    fn from(error: DynoxideError) -> Refusal {
        Refusal { status: error.status_code(), json: error.to_json().into_bytes() }
    }
}

fn call<Ask: DeserializeOwned, Answer: Serialize>(
    body: &[u8],
    ask: impl FnOnce(Ask) -> Result<Answer, DynoxideError>,
) -> Result<Vec<u8>, Refusal> {
    let request = serde_json::from_slice(body).map_err(|error| unreadable(&error))?;
    let answer = ask(request)?;
    serde_json::to_vec(&answer).map_err(|error| DynoxideError::InternalServerError(error.to_string()).into())
}

/// Why a request could not be read: its form is wrong, or a value in it.
fn unreadable(error: &serde_json::Error) -> DynoxideError {
    let text = error.to_string();
    // dynoxide's readers put the class of their own refusals in front, and serde_json where it stopped behind.
    let text = text.split(" at line ").next().unwrap_or_default();
    let (class, reason) = text.split_once(':').unwrap_or(("", text));
    let about_a_value = ["missing field", "unknown variant", "invalid type: null", "AttributeValue"];
    if class.starts_with("VALIDATION") {
        DynoxideError::ValidationException(reason.to_owned())
    } else if class.starts_with("SERIALIZATION") {
        DynoxideError::SerializationException(reason.to_owned())
    } else if about_a_value.iter().any(|hint| text.contains(hint)) {
        DynoxideError::ValidationException(text.to_owned())
    } else {
        DynoxideError::SerializationException(text.to_owned())
    }
}

/// dynoxide keeps every token for ten minutes and goes through all of them on each transaction that has one, and the
/// AWS client gives one to each: N transactions in ten minutes would cost N each. Belfry never relies on the token,
/// whose ten minutes are not deduplication; without it, an answer that got lost shows as a failed condition.
fn without_token(request: TransactWriteItemsRequest) -> TransactWriteItemsRequest {
    TransactWriteItemsRequest { client_request_token: None, ..request }
}

/// Without a limit, dynoxide loads everything that is left of a table or a partition before it cuts off a page of 1 MB:
/// reading all pages would cost the square of their number. Items take more than 64 bytes, with rare exceptions, so a
/// page is full before this limit is reached; and if not, it ends early, which a client has to expect anyway.
fn page(asked: Option<usize>) -> Option<usize> {
    const MOST: usize = 1024 * 1024 / 64;
    Some(asked.unwrap_or(MOST).min(MOST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_services_are_known_by_their_names() {
        assert_eq!(Operation::parse("DynamoDB_20120810.PutItem"), Some(Operation::PutItem));
        assert_eq!(Operation::parse("DynamoDBStreams_20120810.GetRecords"), Some(Operation::GetRecords));
        assert_eq!(Operation::parse("DynamoDB_20120810.ExecuteStatement"), None);
        assert_eq!(Operation::parse("AmazonSQS.SendMessage"), None);
    }

    #[test]
    fn a_page_is_limited_even_if_nobody_asks() {
        assert_eq!(page(Some(10)), Some(10));
        assert_eq!(page(None), Some(16_384));
        assert_eq!(page(Some(1_000_000)), Some(16_384));
    }

    #[test]
    fn a_refusal_does_not_show_where_the_parser_stopped() {
        let refusal = unreadable(&serde_json::from_str::<TransactWriteItemsRequest>("{}").unwrap_err());
        assert!(matches!(refusal, DynoxideError::ValidationException(ref text) if text.ends_with("`TransactItems`")));
        let refusal = unreadable(&serde_json::from_str::<TransactWriteItemsRequest>("[1").unwrap_err());
        assert!(matches!(refusal, DynoxideError::SerializationException(ref text) if !text.contains("line")));
    }
}
