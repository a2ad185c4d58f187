//! The two ways in which an answer does not arrive: held back, and cut off.

use std::io;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;

/// Longer than any client of ours waits (10 s), short enough not to keep a test run from ending.
const HELD_FOR: Duration = Duration::from_secs(30);

/// Holds the answer back, then breaks the connection. If the client hangs up before, the server drops this future
/// with the connection, so nothing lingers.
pub(crate) async fn held() -> Response {
    tokio::time::sleep(HELD_FOR).await;
    broken()
}

/// An answer that breaks the connection instead. Its body fails on the first read; the server reads the body before
/// it flushes the head, so it closes the socket without having sent a byte, and the client cannot know whether its
/// request was worked on.
pub(crate) fn broken() -> Response {
    let cut_off = io::Error::from(io::ErrorKind::ConnectionAborted);
    Response::new(Body::from_stream(tokio_stream::once(Err::<Bytes, io::Error>(cut_off))))
}
