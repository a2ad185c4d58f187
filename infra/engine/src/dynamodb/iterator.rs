//! Shard iterators. AWS's begin with the stream that they belong to; dynoxide's do not say it in a way that anybody
//! else can read. Whoever judges a call by the stream that it reads needs to see it.

use dynoxide::actions::get_records::GetRecordsRequest;
use dynoxide::actions::get_shard_iterator::{GetShardIteratorRequest, GetShardIteratorResponse};
use dynoxide::{Database, DynoxideError};

use super::records::{self, Records};

/// GetShardIterator.
pub(super) fn first(
    database: &Database,
    ask: GetShardIteratorRequest,
) -> Result<GetShardIteratorResponse, DynoxideError> {
    let stream = ask.stream_arn.clone();
    let mut answer = database.get_shard_iterator(ask)?;
    answer.shard_iterator = answer.shard_iterator.map(|iterator| named(&stream, &iterator));
    Ok(answer)
}

/// GetRecords.
pub(super) fn records(database: &Database, mut ask: GetRecordsRequest) -> Result<Records, DynoxideError> {
    let stream = match ask.shard_iterator.rsplit_once("|1|") {
        Some((stream, iterator)) => {
            let stream = stream.to_owned();
            ask.shard_iterator = iterator.to_owned();
            stream
        }
        // Not one of ours; dynoxide says so.
        None => String::new(),
    };
    let mut answer = database.get_records(ask)?;
    answer.next_shard_iterator = answer.next_shard_iterator.map(|next| named(&stream, &next));
    Ok(records::as_aws_tells_them(answer))
}

fn named(stream: &str, iterator: &str) -> String {
    format!("{stream}|1|{iterator}")
}
