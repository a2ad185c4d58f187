//! Writes demo data through the public API: recipients of all four kinds, stock, and a few events.

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use domain::Audience;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::gateway::{Gateway, TokenRequest};

/// Writes the demo data. A second call changes nothing: recipients are put, commands have fixed keys, events have fixed
/// ids, and existing stock is kept.
pub async fn fill(api: Router, gateway: &Gateway) -> Result<(), String> {
    let scopes = ["commands:write", "events:write", "recipients:write", "operate"];
    let token = gateway.issue(&TokenRequest::operator("demo", &scopes));
    let demo = Demo { api, token };
    for Person { user_type, user_id, details } in people() {
        demo.call(Method::PUT, &format!("/v1/recipients/{user_type}/{user_id}"), "", &details).await?;
    }
    for (unit, available, unit_price) in [("espresso", 100, 250), ("tasting-menu", 8, 9_500)] {
        let path = format!("/v1/inventory/{unit}");
        if demo.send(Method::GET, &path, "", &Value::Null).await? == StatusCode::NOT_FOUND {
            let stock = json!({"available": available, "unit_price": unit_price, "currency": "EUR"});
            demo.call(Method::PUT, &path, "", &stock).await?;
        }
    }
    for (user_id, unit) in [("carla", "premium"), ("carla", "wine-pairing"), ("chen", "premium")] {
        let grant = json!({
            "user_id": user_id, "stock_keeping_unit": unit, "reason": "PURCHASE", "purchase_id": format!("demo-{unit}"),
        });
        demo.call(Method::POST, "/v1/entitlements/grants", &format!("demo-{user_id}-{unit}"), &grant).await?;
    }
    let lines = json!([{"stock_keeping_unit": "espresso", "quantity": 2}]);
    let order = json!({"customer_id": "chen", "lines": lines});
    demo.call(Method::POST, "/v1/orders", "demo-order", &order).await?;
    let tomorrow = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(24);
    let reservation = json!({
        "customer_id": "carla", "restaurant_id": "trattoria", "agency_id": "viaggi", "party_size": 4,
        "slot_time": tomorrow.to_string(),
    });
    demo.call(Method::POST, "/v1/reservations", "demo-reservation", &reservation).await?;
    let announcement = json!({
        "event_id": "demo-welcome", "event_type": "Announcement", "aggregate_type": "Notice", "aggregate_id": "welcome",
        "payload": {"title": "Welcome to Belfry", "body": "This came from a source system.", "audience": "ADMIN_USER"},
    });
    demo.call(Method::POST, "/v1/events", "", &announcement).await
}

#[derive(Debug)]
pub struct Person {
    pub user_type: Audience,
    pub user_id: &'static str,
    /// The recipient record.
    pub details: Value,
}

pub fn people() -> [Person; 6] {
    let person = |user_type, user_id: &'static str, name: &str, more: Value| {
        let mut details = json!({
            "name": name, "email": format!("{user_id}@example.com"), "locale": "en", "time_zone": "Europe/Rome",
        });
        for (field, value) in more.as_object().into_iter().flatten() {
            details[field] = value.clone();
        }
        Person { user_type, user_id, details }
    };
    let staff = |phone: &str| json!({"restaurant_id": "trattoria", "phone": phone});
    let slack = "https://hooks.slack.com/services/T000/B000/demo";
    [
        person(Audience::Customer, "carla", "Carla Conti", json!({"push_tokens": ["carla-phone"]})),
        person(Audience::Customer, "chen", "Chen Wei", json!({})),
        person(Audience::RestaurantUser, "rosa", "Rosa Ricci", staff("+390600000001")),
        person(Audience::RestaurantUser, "remo", "Remo Riva", staff("+390600000002")),
        person(Audience::AgencyUser, "ada", "Ada Amato", json!({"agency_id": "viaggi"})),
        person(Audience::AdminUser, "omar", "Omar Orsi", json!({"slack_webhook_url": slack})),
    ]
}

struct Demo {
    api: Router,
    token: String,
}

impl Demo {
    async fn call(&self, method: Method, path: &str, key: &str, body: &Value) -> Result<(), String> {
        let status = self.send(method, path, key, body).await?;
        // 409 if an earlier start wrote the demo data.
        if status.is_success() || status == StatusCode::CONFLICT {
            Ok(())
        } else {
            Err(format!("{path} answered {status}"))
        }
    }

    async fn send(&self, method: Method, path: &str, key: &str, body: &Value) -> Result<StatusCode, String> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token))
            .header(header::CONTENT_TYPE, "application/json");
        if !key.is_empty() {
            request = request.header("idempotency-key", key);
        }
        let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
        let request = request.body(body).map_err(|error| error.to_string())?;
        let response = self.api.clone().oneshot(request).await.map_err(|error| error.to_string())?;
        Ok(response.status())
    }
}
