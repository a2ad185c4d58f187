//! The two ways to lose an answer: hold it back, or close the connection.

use std::io;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;

/// Longer than our clients wait (10 s), short enough not to delay the end of a test run.
const HOLD: Duration = Duration::from_secs(30);

/// Holds the answer back, then closes the connection. If the client disconnects first, the server drops this future.
pub(crate) async fn hold() -> Response {
    tokio::time::sleep(HOLD).await;
    drop_connection()
}

/// Returns an answer that closes the connection without sending a byte: the server reads the body, which fails at once,
/// before it flushes the head.
pub(crate) fn drop_connection() -> Response {
    let aborted = io::Error::from(io::ErrorKind::ConnectionAborted);
    Response::new(Body::from_stream(tokio_stream::once(Err::<Bytes, io::Error>(aborted))))
}
