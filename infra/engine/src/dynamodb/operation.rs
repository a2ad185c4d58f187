//! The operations, and how each calls the database.
//!
//! PartiQL, vector search and tags are left out: Belfry does not use them.

use dynoxide::actions::query::QueryRequest;
use dynoxide::actions::scan::ScanRequest;
use dynoxide::actions::transact_write_items::TransactWriteItemsRequest;
use dynoxide::{Database, DynoxideError};
use serde::de::value::{Error as UnknownName, StrDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer};
use serde::{Deserialize, Serialize};

use super::{iterator, records, region};

/// An operation, by AWS's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum Operation {
    CreateTable,
    DeleteTable,
    DescribeTable,
    ListTables,
    UpdateTable,
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
    /// Reads the header `X-Amz-Target`. `None` if there is no such operation.
    pub(super) fn parse(target: &str) -> Option<Operation> {
        let name =
            target.strip_prefix("DynamoDB_20120810.").or_else(|| target.strip_prefix("DynamoDBStreams_20120810."))?;
        let name: StrDeserializer<UnknownName> = name.into_deserializer();
        Operation::deserialize(name).ok()
    }

    /// Whether it changes items, and so may write stream records.
    pub(super) fn writes(self) -> bool {
        use Operation::{BatchWriteItem, DeleteItem, PutItem, TransactWriteItems, UpdateItem};
        matches!(self, PutItem | UpdateItem | DeleteItem | BatchWriteItem | TransactWriteItems)
    }

    /// Whether its request or answer contains ARNs of tables or streams.
    fn carries_arns(self) -> bool {
        use Operation::{
            CreateTable, DeleteTable, DescribeStream, DescribeTable, GetShardIterator, ListStreams, UpdateTable,
        };
        matches!(
            self,
            CreateTable | DeleteTable | DescribeStream | DescribeTable | GetShardIterator | ListStreams | UpdateTable
        )
    }

    /// Runs the operation. Request and answer are JSON in AWS's format.
    pub(super) fn run(self, database: &Database, body: &[u8]) -> Result<Vec<u8>, Refusal> {
        if self.carries_arns() {
            self.dispatch(database, &region::to_dynoxide(body))
                .map(region::to_aws)
                .map_err(|refusal| Refusal { json: region::to_aws(refusal.json), ..refusal })
        } else {
            self.dispatch(database, body)
        }
    }

    fn dispatch(self, database: &Database, body: &[u8]) -> Result<Vec<u8>, Refusal> {
        match self {
            Operation::CreateTable => call(body, |req| database.create_table(req)),
            Operation::DeleteTable => call(body, |req| database.delete_table(req)),
            Operation::DescribeTable => call(body, |req| database.describe_table(req)),
            Operation::ListTables => call(body, |req| database.list_tables(req)),
            Operation::UpdateTable => call(body, |req| database.update_table(req)),
            Operation::UpdateTimeToLive => call(body, |req| database.update_time_to_live(req)),
            Operation::DescribeTimeToLive => call(body, |req| database.describe_time_to_live(req)),
            Operation::PutItem => call(body, |req| database.put_item(req)),
            Operation::GetItem => call(body, |req| database.get_item(req)),
            Operation::UpdateItem => call(body, |req| database.update_item(req)),
            Operation::DeleteItem => call(body, |req| database.delete_item(req)),
            Operation::Query => {
                call(body, |req: QueryRequest| database.query(QueryRequest { limit: page_limit(req.limit), ..req }))
            }
            Operation::Scan => {
                call(body, |req: ScanRequest| database.scan(ScanRequest { limit: page_limit(req.limit), ..req }))
            }
            Operation::BatchGetItem => call(body, |req| database.batch_get_item(req)),
            Operation::BatchWriteItem => call(body, |req| database.batch_write_item(req)),
            Operation::TransactGetItems => call(body, |req| database.transact_get_items(req)),
            Operation::TransactWriteItems => call(body, |req| database.transact_write_items(without_token(req))),
            Operation::ListStreams => call(body, |req| database.list_streams(req)),
            Operation::DescribeStream => call(body, |req| database.describe_stream(req).map(records::with_open_shard)),
            Operation::GetShardIterator => call(body, |req| iterator::first(database, req)),
            Operation::GetRecords => call(body, |req| iterator::records(database, req)),
        }
    }
}

/// The error answer.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) json: Vec<u8>,
}

impl From<DynoxideError> for Refusal {
    /// dynoxide's errors have AWS's format, with the reasons of a cancelled transaction and the item that failed a
    /// condition.
    fn from(error: DynoxideError) -> Refusal {
        Refusal { status: error.status_code(), json: error.to_json().into_bytes() }
    }
}

fn call<Req: DeserializeOwned, Answer: Serialize>(
    body: &[u8],
    run: impl FnOnce(Req) -> Result<Answer, DynoxideError>,
) -> Result<Vec<u8>, Refusal> {
    let request = serde_json::from_slice(body).map_err(|error| unreadable(&error))?;
    let answer = run(request)?;
    serde_json::to_vec(&answer).map_err(|error| DynoxideError::InternalServerError(error.to_string()).into())
}

/// Classifies a request that cannot be parsed: its JSON is malformed, or a value is invalid.
fn unreadable(error: &serde_json::Error) -> DynoxideError {
    let text = error.to_string();
    // dynoxide puts its error class in front, and serde_json the position behind.
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

/// Removes the client request token. dynoxide keeps each token for ten minutes and scans all of them in every transaction
/// that has one, and the AWS client always sends one. Belfry does not rely on the token: a retry after a lost answer
/// fails its condition.
fn without_token(request: TransactWriteItemsRequest) -> TransactWriteItemsRequest {
    TransactWriteItemsRequest { client_request_token: None, ..request }
}

/// Limits a page to as many items as fit in 1 MB if each has 64 bytes.
///
/// Without a limit, dynoxide loads the rest of the table or partition before it cuts off a page of 1 MB, so reading all
/// pages would take quadratic time. A page of smaller items ends early, which clients must expect anyway.
fn page_limit(requested: Option<usize>) -> Option<usize> {
    const MAX_ITEMS: usize = 1024 * 1024 / 64;
    Some(requested.unwrap_or(MAX_ITEMS).min(MAX_ITEMS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_of_both_services_are_parsed() {
        assert_eq!(Operation::parse("DynamoDB_20120810.PutItem"), Some(Operation::PutItem));
        assert_eq!(Operation::parse("DynamoDBStreams_20120810.GetRecords"), Some(Operation::GetRecords));
        assert_eq!(Operation::parse("DynamoDB_20120810.ExecuteStatement"), None);
        assert_eq!(Operation::parse("AmazonSQS.SendMessage"), None);
    }

    #[test]
    fn page_is_limited_without_a_requested_limit() {
        assert_eq!(page_limit(Some(10)), Some(10));
        assert_eq!(page_limit(None), Some(16_384));
        assert_eq!(page_limit(Some(1_000_000)), Some(16_384));
    }

    #[test]
    fn refusal_does_not_contain_the_parser_position() {
        let refusal = unreadable(&serde_json::from_str::<TransactWriteItemsRequest>("{}").unwrap_err());
        assert!(matches!(refusal, DynoxideError::ValidationException(ref text) if text.ends_with("`TransactItems`")));
        let refusal = unreadable(&serde_json::from_str::<TransactWriteItemsRequest>("[1").unwrap_err());
        assert!(matches!(refusal, DynoxideError::SerializationException(ref text) if !text.contains("line")));
    }
}
