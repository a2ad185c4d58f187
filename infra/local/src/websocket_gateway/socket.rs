//! `GET /live?ticket=…`: one connection from the handshake to its end.
//!
//! The function behind `$connect` accepts or refuses it. Client messages go to `$default`, or are answered with
//! Forbidden if there is no such route. `$disconnect` is invoked however the connection ends.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::event::About;
use super::{LONGEST_MESSAGE, Open, Outgoing, WAITING, WebSocketGateway};
use crate::template::Route;

/// A slow client must not delay the host.
const SEND_TIMEOUT: Duration = Duration::from_secs(5);

pub async fn open(
    State(live): State<Arc<WebSocketGateway>>,
    Query(query): Query<Vec<(String, String)>>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    let about = About { connection_id: new_id(), connected_at: jiff::Timestamp::now() };
    let refused = match live.invoke(Route::Connect, live.connect_event(&about, &headers, &query)).await {
        Some(Ok(answer)) => refusal(&answer),
        Some(Err(problem)) => {
            tracing::warn!(problem, "$connect failed; handshake refused with 502");
            Some(StatusCode::BAD_GATEWAY)
        }
        None => Some(StatusCode::FORBIDDEN),
    };
    if let Some(status) = refused {
        return status.into_response();
    }
    // From here on messages are kept, so functions can send as soon as the client sees the handshake.
    let (outbox, messages) = mpsc::channel(WAITING);
    let open = Open { outbox, connected_at: about.connected_at };
    live.open_sockets().insert(about.connection_id.clone(), open);
    let (running, failed) = (live.tasks.token(), (Arc::clone(&live), about.clone()));
    upgrade
        .max_message_size(LONGEST_MESSAGE)
        .on_failed_upgrade(move |_| {
            let (live, about) = failed;
            let task = live.tasks.clone();
            task.spawn(async move { live.end(&about, close_code::ABNORMAL, "handshake not completed").await });
        })
        .on_upgrade(move |socket| async move {
            live.run_connection(&about, socket, messages).await;
            drop(running);
        })
}

/// The status of a refused handshake. `None` for 2xx.
fn refusal(answer: &Value) -> Option<StatusCode> {
    let status = answer["statusCode"].as_u64().and_then(|status| u16::try_from(status).ok());
    let status = status.and_then(|status| StatusCode::from_u16(status).ok()).unwrap_or(StatusCode::BAD_GATEWAY);
    (!status.is_success()).then_some(status)
}

/// Like API Gateway's ids, which contain `=` that must be escaped in a path.
fn new_id() -> String {
    URL_SAFE.encode(rand::random::<[u8; 11]>())
}

impl WebSocketGateway {
    async fn run_connection(
        self: &Arc<Self>,
        about: &About,
        mut socket: WebSocket,
        mut messages: mpsc::Receiver<Outgoing>,
    ) {
        let (code, reason) = loop {
            let outgoing = tokio::select! {
                () = self.stop.cancelled() => break (close_code::AWAY, "server stopped"),
                said = socket.recv() => match said {
                    Some(Ok(Message::Close(frame))) => break (frame.map_or(close_code::STATUS, |frame| frame.code), ""),
                    Some(Ok(said)) => match self.deliver(about, said) {
                        Some(refusal) => Some(Outgoing::Message(refusal)),
                        None => continue,
                    },
                    Some(Err(_)) | None => break (close_code::ABNORMAL, "connection lost"),
                },
                outgoing = messages.recv() => outgoing,
            };
            match outgoing {
                Some(Outgoing::Message(text)) => {
                    let sent = tokio::time::timeout(SEND_TIMEOUT, socket.send(Message::Text(text.into()))).await;
                    if !matches!(sent, Ok(Ok(()))) {
                        break (close_code::ABNORMAL, "client does not read");
                    }
                }
                Some(Outgoing::Close) | None => break (close_code::NORMAL, "closed by the server"),
            }
        };
        self.end(about, code, reason).await;
        let farewell = Message::Close(Some(CloseFrame { code, reason: reason.into() }));
        // The client may be gone.
        drop(tokio::time::timeout(SEND_TIMEOUT, socket.send(farewell)).await);
    }

    /// Invokes `$default` with a client's message without waiting for it. Returns the answer to the client if there is
    /// no such route.
    fn deliver(self: &Arc<Self>, about: &About, said: Message) -> Option<String> {
        let event = match said {
            Message::Text(text) => self.message_event(about, &text, false),
            Message::Binary(bytes) => self.message_event(about, &STANDARD.encode(bytes), true),
            Message::Ping(_) | Message::Pong(_) | Message::Close(_) => return None,
        };
        if !self.functions.contains_key(&Route::Default) {
            let request = &event["requestContext"]["requestId"];
            let refusal = json!({"message": "Forbidden", "connectionId": about.connection_id, "requestId": request});
            return Some(refusal.to_string());
        }
        let live = Arc::clone(self);
        self.tasks.spawn(async move {
            if let Some(Err(problem)) = live.invoke(Route::Default, event).await {
                tracing::warn!(problem, "$default failed; client message dropped");
            }
        });
        None
    }

    async fn end(&self, about: &About, code: u16, reason: &str) {
        self.open_sockets().remove(&about.connection_id);
        if let Some(Err(problem)) = self.invoke(Route::Disconnect, self.disconnect_event(about, code, reason)).await {
            tracing::warn!(problem, "$disconnect failed; the connection stays registered");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_status_of_success_opens_a_socket() {
        assert_eq!(refusal(&json!({"statusCode": 200})), None);
        assert_eq!(refusal(&json!({"statusCode": 401})), Some(StatusCode::UNAUTHORIZED));
        for nonsense in [json!({}), json!({"statusCode": 20}), json!({"statusCode": "200"}), json!(null)] {
            assert_eq!(refusal(&nonsense), Some(StatusCode::BAD_GATEWAY), "{nonsense}");
        }
    }
}
