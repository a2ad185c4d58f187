//! Live sockets. They are opened by API Gateway, which bills them itself: the function alone is metered.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::metered::Metered;

/// The function behind the sockets.
const LIVE: &str = "LiveFunction";

impl Metered {
    pub async fn live(&mut self) {
        let ada = self.stack.customer("ada").await;
        self.begin().await;
        let issued = ada.send(ada.request(Method::POST, "/v1/live/tickets")).await;
        self.note("a ticket for a socket", &issued, StatusCode::CREATED).await;
        let mut connect = socket("$connect", "CONNECT");
        connect["queryStringParameters"] = json!({"ticket": issued.json()["ticket"]});
        let connected = self.stack.ask_function(LIVE, connect).await;
        assert_eq!(connected["statusCode"], 200, "{connected}");
        self.write_down("a socket opened with it", Some(LIVE)).await;
        let closed = self.stack.ask_function(LIVE, socket("$disconnect", "DISCONNECT")).await;
        assert_eq!(closed["statusCode"], 200, "{closed}");
        self.write_down("the socket closed", Some(LIVE)).await;
    }
}

/// What API Gateway says of a socket.
fn socket(route: &str, kind: &str) -> Value {
    json!({
        "requestContext": {
            "routeKey": route, "eventType": kind, "connectionId": "a-socket", "connectedAt": 0, "requestTimeEpoch": 0,
        },
    })
}
