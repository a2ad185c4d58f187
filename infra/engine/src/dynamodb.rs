//! DynamoDB and DynamoDB Streams over HTTP: `POST /` with the operation in `X-Amz-Target`, as the AWS clients send it.
//!
//! dynoxide's own server is not used: it cannot be wrapped and does not report writes.

mod expiry;
mod iterator;
mod operation;
mod records;
mod region;
mod template;

use std::convert::Infallible;

use bytes::Bytes;
use dynoxide::Database;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use tokio::sync::watch;
use uuid::Uuid;

use crate::EngineError;
use crate::server::BoundPort;
use operation::Operation;

/// AWS's limit for one request.
const MAX_REQUEST: usize = 16 * 1024 * 1024;

const UNKNOWN_OPERATION: &str = r#"{"__type":"com.amazon.coral.service#UnknownOperationException"}"#;
const TOO_LARGE: &str = r#"{"__type":"com.amazon.coral.service#RequestEntityTooLargeException"}"#;

/// Serves the tables and deletes expired items.
pub(crate) async fn run(port: BoundPort, tables: Tables) {
    let service = {
        let tables = tables.clone();
        service_fn(move |request| {
            let tables = tables.clone();
            async move { Ok::<_, Infallible>(tables.answer(request).await) }
        })
    };
    tokio::join!(port.serve(service), expiry::run(&tables));
}

/// The database, and a counter of its writes.
#[derive(Clone)]
pub(crate) struct Tables {
    database: Database,
    writes: watch::Sender<u64>,
}

impl Tables {
    /// Returns a database without tables.
    pub(crate) fn empty() -> Result<Tables, EngineError> {
        Ok(Tables { database: template::database()?, writes: watch::Sender::new(0) })
    }

    /// A counter that changes with every write.
    pub(crate) fn writes(&self) -> watch::Receiver<u64> {
        self.writes.subscribe()
    }

    fn count_write(&self) {
        self.writes.send_modify(|count| *count = count.wrapping_add(1));
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        match *request.method() {
            Method::POST => {}
            Method::GET => return response(StatusCode::OK, "healthy: dynamodb.us-east-1.amazonaws.com "),
            _ => return response(StatusCode::NOT_FOUND, UNKNOWN_OPERATION),
        }
        let target = request.headers().get("x-amz-target").and_then(|value| value.to_str().ok());
        let Some(operation) = target.and_then(Operation::parse) else {
            return response(StatusCode::BAD_REQUEST, UNKNOWN_OPERATION);
        };
        let Ok(body) = Limited::new(request.into_body(), MAX_REQUEST).collect().await else {
            return response(StatusCode::PAYLOAD_TOO_LARGE, TOO_LARGE);
        };
        // Blocks this thread, which is the engine's own, until the database has answered.
        match operation.run(&self.database, &body.to_bytes()) {
            Ok(answer) => {
                if operation.writes() {
                    self.count_write();
                }
                response(StatusCode::OK, answer)
            }
            Err(refusal) => {
                let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
                response(status, refusal.json)
            }
        }
    }
}

fn response(status: StatusCode, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let body = body.into();
    let checksum = HeaderValue::from(crc32fast::hash(&body));
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-amz-json-1.0"));
    headers.insert(HeaderName::from_static("x-amz-crc32"), checksum);
    if let Ok(id) = HeaderValue::try_from(Uuid::now_v7().to_string()) {
        headers.insert(HeaderName::from_static("x-amzn-requestid"), id);
    }
    response
}
