//! `$disconnect`: deletes a closed connection.
//!
//! Two round trips, four write units. API Gateway does not promise to call this. Other connections are deleted when a push
//! finds them gone, or when they expire.

use belfry_aws::Error;
use store::connections;

use crate::{Live, SocketResponse};

impl Live {
    pub(crate) async fn disconnect(&self, connection_id: &str) -> Result<SocketResponse, Error> {
        connections::delete_by_id(&self.belfry, connection_id).await?;
        tracing::info!(connection_id, "connection closed");
        Ok(SocketResponse::OK)
    }
}
