//! `/@connections/{id}`: API Gateway's management API. Signatures are not checked.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::sync::mpsc::error::TrySendError;

use super::{LONGEST_MESSAGE, Open, Outgoing, WebSocketGateway};

type Shared = State<Arc<WebSocketGateway>>;

pub async fn send(State(live): Shared, Path(id): Path<String>, body: Bytes) -> Result<StatusCode, Refused> {
    let open = live.find(&id)?;
    if body.len() > LONGEST_MESSAGE {
        return Err(Refused(StatusCode::PAYLOAD_TOO_LARGE, "PayloadTooLargeException"));
    }
    // API Gateway sends text.
    let message = String::from_utf8_lossy(&body).into_owned();
    match open.outbox.try_send(Outgoing::Message(message)) {
        Ok(()) => Ok(StatusCode::OK),
        Err(TrySendError::Full(_)) => Err(Refused(StatusCode::TOO_MANY_REQUESTS, "LimitExceededException")),
        Err(TrySendError::Closed(_)) => Err(Refused::GONE),
    }
}

pub async fn show(State(live): Shared, Path(id): Path<String>) -> Result<Json<Value>, Refused> {
    let open = live.find(&id)?;
    let identity = json!({"sourceIp": "127.0.0.1", "userAgent": ""});
    Ok(Json(json!({"connectedAt": open.connected_at, "lastActiveAt": open.connected_at, "identity": identity})))
}

pub async fn close(State(live): Shared, Path(id): Path<String>) -> Result<StatusCode, Refused> {
    // If the outbox is full, dropping the sender ends the connection.
    let Some(open) = live.open_sockets().remove(&id) else { return Err(Refused::GONE) };
    drop(open.outbox.try_send(Outgoing::Close));
    Ok(StatusCode::NO_CONTENT)
}

impl WebSocketGateway {
    fn find(&self, id: &str) -> Result<Open, Refused> {
        self.open_sockets().get(id).cloned().ok_or(Refused::GONE)
    }
}

/// A refusal. Clients read its name from the header.
pub struct Refused(StatusCode, &'static str);

impl Refused {
    const GONE: Self = Self(StatusCode::GONE, "GoneException");
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        (self.0, [("x-amzn-errortype", self.1)], Json(json!({"message": self.1}))).into_response()
    }
}
