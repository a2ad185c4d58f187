//! Demo data: recipients of all four kinds and a few events, through the public API as anybody would.

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use domain::Audience;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::gateway::{Gateway, TokenRequest};

/// Fills in the demo data. Doing it again changes nothing: recipients are put, commands carry fixed keys.
pub async fn fill(api: Router, gateway: &Gateway) -> Result<(), String> {
    let operator = TokenRequest::operator("demo", &["commands:write", "recipients:write"]);
    let token = gateway.issue(&operator).map_err(|error| error.to_string())?;
    let demo = Demo { api, token };
    for (user_type, user_id, recipient) in recipients() {
        demo.call(Method::PUT, &format!("/v1/recipients/{user_type}/{user_id}"), "", &recipient).await?;
    }
    for (user_id, unit) in [("carla", "premium"), ("carla", "wine-pairing"), ("chen", "premium")] {
        let grant = json!({
            "user_id": user_id, "stock_keeping_unit": unit, "reason": "PURCHASE", "purchase_id": format!("demo-{unit}"),
        });
        demo.call(Method::POST, "/v1/entitlements/grants", &format!("demo-{user_id}-{unit}"), &grant).await?;
    }
    Ok(())
}

fn recipients() -> [(Audience, &'static str, Value); 6] {
    let person =
        |name: &str, address: &str| json!({"name": name, "email": address, "locale": "en", "time_zone": "Europe/Rome"});
    let at = |mut person: Value, field: &str, id: &str| {
        person[field] = json!(id);
        person
    };
    [
        (Audience::Customer, "carla", person("Carla Conti", "carla@example.com")),
        (Audience::Customer, "chen", person("Chen Wei", "chen@example.com")),
        (Audience::RestaurantUser, "rosa", at(person("Rosa Ricci", "rosa@example.com"), "restaurant_id", "trattoria")),
        (Audience::RestaurantUser, "remo", at(person("Remo Riva", "remo@example.com"), "restaurant_id", "trattoria")),
        (Audience::AgencyUser, "ada", at(person("Ada Amato", "ada@example.com"), "agency_id", "viaggi")),
        (Audience::AdminUser, "omar", person("Omar Orsi", "omar@example.com")),
    ]
}

struct Demo {
    api: Router,
    token: String,
}

impl Demo {
    async fn call(&self, method: Method, path: &str, key: &str, body: &Value) -> Result<(), String> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token))
            .header(header::CONTENT_TYPE, "application/json");
        if !key.is_empty() {
            request = request.header("idempotency-key", key);
        }
        let request = request.body(Body::from(body.to_string())).map_err(|error| error.to_string())?;
        let response = self.api.clone().oneshot(request).await.map_err(|error| error.to_string())?;
        // 409 on engines that were filled before their keys ran out: the demo data is there.
        if response.status().is_success() || response.status() == StatusCode::CONFLICT {
            Ok(())
        } else {
            Err(format!("{path} answered {}", response.status()))
        }
    }
}
