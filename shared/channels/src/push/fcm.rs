//! Firebase Cloud Messaging, HTTP v1: `POST /v1/projects/{project}/messages:send`.
//!
//! A send is one request. Without a valid access token it is one more for the token, and at most one repetition.

use std::time::Duration;

use aws_types::SdkConfig;
use provider_http::{endpoint, invalid_setting, time_limit};
use reqwest::header::HeaderMap;
use reqwest::{Client, StatusCode};
use runtime::{BadSetting, Settings};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::service_account::{Access, AccessTokens, is_project};
use crate::{Address, Outgoing, Reason, SendError, http_error};

const PROJECT: &str = "BELFRY_FCM_PROJECT";
const GOOGLE: &str = "https://fcm.googleapis.com";

/// FCM's error codes.
const CODES: [&str; 7] = [
    "INTERNAL",
    "INVALID_ARGUMENT",
    "QUOTA_EXCEEDED",
    "SENDER_ID_MISMATCH",
    "THIRD_PARTY_AUTH_ERROR",
    "UNAVAILABLE",
    "UNREGISTERED",
];

/// Firebase Cloud Messaging, for one project.
pub struct Fcm {
    client: Client,
    tokens: AccessTokens,
    base: String,
    limit: Duration,
}

impl Fcm {
    /// The name in receipts and logs.
    pub const NAME: &str = "fcm";

    /// Reads `BELFRY_FCM_SECRET`, the secret with the service account's key file, and optionally `BELFRY_FCM_PROJECT` (by
    /// default the account's own) and `BELFRY_FCM_URL`.
    pub fn from_settings(settings: &Settings, aws: &SdkConfig) -> Result<Self, BadSetting> {
        let limit = time_limit(settings)?;
        let project = settings.optional(PROJECT);
        if let Some(project) = project.as_ref().filter(|project| !is_project(project)) {
            return Err(invalid_setting(PROJECT, "a project id", project));
        }
        let base = endpoint(settings, "BELFRY_FCM_URL")?.map_or_else(|| GOOGLE.to_owned(), String::from);
        let base = base.trim_end_matches('/').to_owned();
        let client = provider_http::client(limit);
        let tokens = AccessTokens::from_settings(settings, aws, project, client.clone())?;
        Ok(Self { client, tokens, base, limit })
    }

    pub(crate) async fn send(&self, outgoing: &Outgoing) -> Result<Option<String>, SendError> {
        let Address::PushToken(device) = &outgoing.to else {
            return Err(Reason::text("address is not a push token").refused());
        };
        let request = request(device.as_str(), outgoing);
        let deadline = Instant::now() + self.limit;
        let access = self.tokens.current(deadline).await?;
        let answer = self.post(&request, &access, deadline).await?;
        // Google's authentication refused the token before FCM read the message: it was revoked, it expired while this
        // process was frozen, or the secret holds another account now.
        let retry = match answer.status {
            _ if !answer.is_auth_failure() => false,
            StatusCode::UNAUTHORIZED => true,
            _ => self.tokens.is_replaced(&access, deadline).await,
        };
        if !retry {
            return answer.into_result();
        }
        let access = self.tokens.after_refusal(&access, deadline).await?;
        self.post(&request, &access, deadline).await?.into_result()
    }

    async fn post(&self, request: &Value, access: &Access, deadline: Instant) -> Result<Answer, SendError> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Reason::text("time limit reached while fetching an access token").unavailable());
        }
        let url = format!("{}/v1/projects/{}/messages:send", self.base, access.account.project);
        let request = self.client.post(url).bearer_auth(&access.token).timeout(left).json(request);
        let answer = request.send().await.map_err(|error| http_error::no_answer(&error))?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        Ok(Answer { status, headers, body: provider_http::read_body(answer).await })
    }
}

/// Builds the request. The tags make a second copy, sent after a lost answer, replace the first on the screen.
fn request(device: &str, outgoing: &Outgoing) -> Value {
    let tag = outgoing.stable_id();
    json!({ "message": {
        "token": device,
        "notification": { "title": outgoing.message.title_line(), "body": outgoing.message.body },
        "android": { "notification": { "tag": tag } },
        "apns": { "headers": { "apns-collapse-id": tag } },
        "webpush": { "notification": { "tag": tag } },
    } })
}

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

#[derive(Deserialize)]
struct Accepted {
    name: String,
}

#[derive(Deserialize, Default)]
struct Failure {
    error: RpcStatus,
}

/// `google.rpc.Status`; FCM's own code is in the details.
#[derive(Deserialize, Default)]
#[serde(default)]
struct RpcStatus {
    message: String,
    details: Vec<Detail>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Detail {
    error_code: String,
    field_violations: Vec<FieldViolation>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct FieldViolation {
    field: String,
}

impl Answer {
    /// Returns whether authentication failed. Google's authentication in front of FCM adds no FCM error code.
    fn is_auth_failure(&self) -> bool {
        matches!(self.status.as_u16(), 401 | 403) && self.failure().code().is_none()
    }

    fn into_result(self) -> Result<Option<String>, SendError> {
        if self.status.is_success() {
            return Ok(serde_json::from_slice::<Accepted>(&self.body).ok().map(|accepted| accepted.name));
        }
        let failure = self.failure();
        let code = failure.code();
        let status = self.status.as_u16();
        let reason = Reason::http(status, code);
        let retry_after = http_error::retry_after(&self.headers);
        Err(match code {
            Some("UNREGISTERED") => reason.address_dead(),
            // Token and credentials belong to different projects. With wrong credentials, that is true of every token.
            Some("SENDER_ID_MISMATCH") => reason.refused(),
            Some("INVALID_ARGUMENT") if failure.is_about_the_device() => reason.address_dead(),
            Some("INVALID_ARGUMENT") => reason.refused(),
            Some("QUOTA_EXCEEDED" | "UNAVAILABLE") => SendError::Unavailable { reason, retry_after },
            // FCM's own key for Apple or for browsers is invalid: an operator must act.
            Some("THIRD_PARTY_AUTH_ERROR") => reason.unavailable(),
            Some("INTERNAL") => reason.failed(),
            _ if matches!(status, 401 | 403) => reason.unavailable(),
            _ if status == 400 && failure.is_about_the_device() => reason.address_dead(),
            _ => http_error::by_status(status, code, retry_after),
        })
    }

    fn failure(&self) -> RpcStatus {
        serde_json::from_slice::<Failure>(&self.body).unwrap_or_default().error
    }
}

impl RpcStatus {
    fn code(&self) -> Option<&'static str> {
        let known = |detail: &Detail| CODES.iter().find(|code| **code == detail.error_code).copied();
        self.details.iter().find_map(known)
    }

    /// Returns whether an invalid argument is the token. It can be anything in the message; only these two name it.
    fn is_about_the_device(&self) -> bool {
        let mut violations = self.details.iter().flat_map(|detail| &detail.field_violations);
        violations.any(|violation| violation.field == "message.token") || self.message.contains("registration token")
    }
}
