//! Shard iterators that begin with their stream's ARN, as AWS's do. dynoxide's do not name the stream in a readable way.
//! Whoever authorises GetRecords needs it.

use dynoxide::actions::get_records::GetRecordsRequest;
use dynoxide::actions::get_shard_iterator::{GetShardIteratorRequest, GetShardIteratorResponse};
use dynoxide::{Database, DynoxideError};

use super::records::{self, Records};

/// GetShardIterator.
pub(super) fn first(
    database: &Database,
    request: GetShardIteratorRequest,
) -> Result<GetShardIteratorResponse, DynoxideError> {
    let stream = request.stream_arn.clone();
    let mut answer = database.get_shard_iterator(request)?;
    answer.shard_iterator = answer.shard_iterator.map(|iterator| with_stream(&stream, &iterator));
    Ok(answer)
}

/// GetRecords.
pub(super) fn records(database: &Database, mut request: GetRecordsRequest) -> Result<Records, DynoxideError> {
    let stream = match request.shard_iterator.rsplit_once("|1|") {
        Some((stream, iterator)) => {
            let stream = stream.to_owned();
            request.shard_iterator = iterator.to_owned();
            stream
        }
        // Not an iterator of this engine; dynoxide refuses it.
        None => String::new(),
    };
    let mut answer = database.get_records(request)?;
    answer.next_shard_iterator = answer.next_shard_iterator.map(|next| with_stream(&stream, &next));
    Ok(records::to_aws_format(answer))
}

fn with_stream(stream: &str, iterator: &str) -> String {
    format!("{stream}|1|{iterator}")
}
