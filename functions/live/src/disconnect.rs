//! `$disconnect`: a socket is closed, and forgotten.
//!
//! Two round trips, four write units. API Gateway does not promise to call this: what it leaves out is forgotten when a
//! message does not get through, or when it expires.

use ledger::LedgerError;

use crate::{Answer, Live};

impl Live {
    pub(crate) async fn disconnect(&self, connection_id: &str) -> Result<Answer, LedgerError> {
        self.connections.forget_by_id(&self.ledger, connection_id).await?;
        tracing::info!(connection_id, "socket closed");
        Ok(Answer::OK)
    }
}
