//! No connection is reused: a kept one that the server has closed would leave a message's outcome unknown.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::extract::{ConnectInfo, State};
use axum::{Json, Router};
use channels::{Outgoing, Provider};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{PATIENT, Stage, device, email, fcm, outgoing, phone, ses, slack, sms, webhook};

/// The addresses of the clients.
type Peers = Arc<Mutex<BTreeSet<SocketAddr>>>;

/// Accepts everything, in a format that every client understands, and keeps its connections open.
async fn keep_alive_server() -> (String, Peers) {
    let peers = Peers::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().fallback(yes).with_state(Arc::clone(&peers));
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async { axum::serve(listener, service).await });
    (url, peers)
}

async fn yes(State(peers): State<Peers>, ConnectInfo(peer): ConnectInfo<SocketAddr>) -> Json<Value> {
    peers.lock().unwrap().insert(peer);
    Json(json!({ "MessageId": "m", "name": "m" }))
}

async fn connections(provider: Provider, outgoing: Outgoing, peers: Peers) -> usize {
    for _ in 0..3 {
        provider.send(&outgoing).await.unwrap();
    }
    peers.lock().unwrap().len()
}

#[tokio::test]
async fn each_message_has_its_own_connection() {
    let (url, peers) = keep_alive_server().await;
    assert_eq!(connections(ses::ses(PATIENT, &url), outgoing(email("ada@example.test")), peers).await, 3);
    let (url, peers) = keep_alive_server().await;
    assert_eq!(connections(sms::sms(PATIENT, &url), outgoing(phone()), peers).await, 3);
    let (stage, (url, peers)) = (Stage::start().await, keep_alive_server().await);
    assert_eq!(connections(fcm::fcm(PATIENT, &url, &stage.url), outgoing(device()), peers).await, 3);
    let (url, peers) = keep_alive_server().await;
    assert_eq!(connections(slack::slack(PATIENT), outgoing(webhook(&url)), peers).await, 3);
}
