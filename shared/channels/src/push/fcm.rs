//! Firebase Cloud Messaging, HTTP v1: `POST /v1/projects/{project}/messages:send`. One request; with a cold or refused
//! access token, one more for the token, and at most one repetition.

use std::time::Duration;

use aws_types::SdkConfig;
use outside::{endpoint, time_limit, wrong};
use reqwest::header::HeaderMap;
use reqwest::{Client, StatusCode};
use runtime::{BadSetting, Settings};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::service_account::{Access, AccessTokens, is_project};
use crate::{Address, NotSent, Outgoing, Reason, http};

const PROJECT: &str = "BELFRY_FCM_PROJECT";
const GOOGLE: &str = "https://fcm.googleapis.com";

/// FCM's own codes.
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
    /// The name in receipts.
    pub const NAME: &str = "fcm";

    /// `BELFRY_FCM_SECRET`, the secret with the account's key file; `BELFRY_FCM_PROJECT`, if it is not the account's
    /// own; `BELFRY_FCM_URL`, if it is not Google's.
    pub fn from_settings(settings: &Settings, aws: &SdkConfig) -> Result<Self, BadSetting> {
        let limit = time_limit(settings)?;
        let project = settings.optional(PROJECT);
        if let Some(project) = project.as_ref().filter(|project| !is_project(project)) {
            return Err(wrong(PROJECT, "a project's id", project));
        }
        let base = endpoint(settings, "BELFRY_FCM_URL")?.map_or_else(|| GOOGLE.to_owned(), String::from);
        let base = base.trim_end_matches('/').to_owned();
        let client = http::client(limit);
        let tokens = AccessTokens::from_settings(settings, aws, project, client.clone())?;
        Ok(Self { client, tokens, base, limit })
    }

    pub(crate) async fn send(&self, outgoing: &Outgoing) -> Result<Option<String>, NotSent> {
        let Address::PushToken(device) = &outgoing.to else {
            return Err(Reason::word("not a push token").refused());
        };
        let request = request(device.as_str(), outgoing);
        let deadline = Instant::now() + self.limit;
        let access = self.tokens.current(deadline).await?;
        let answer = self.post(&request, &access, deadline).await?;
        // FCM has read nothing but the header. The token was revoked, or this process slept through its expiry, or the
        // account is another one by now.
        let again = match answer.status {
            _ if !answer.is_of_the_gate() => false,
            StatusCode::UNAUTHORIZED => true,
            _ => self.tokens.is_replaced(&access, deadline).await,
        };
        if !again {
            return answer.sorted();
        }
        let access = self.tokens.after_refusal(&access, deadline).await?;
        self.post(&request, &access, deadline).await?.sorted()
    }

    async fn post(&self, request: &Value, access: &Access, deadline: Instant) -> Result<Answer, NotSent> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Reason::word("no time left after the access token").unavailable());
        }
        let url = format!("{}/v1/projects/{}/messages:send", self.base, access.account.project);
        let request = self.client.post(url).bearer_auth(&access.token).timeout(left).json(request);
        let answer = request.send().await.map_err(|error| http::unanswered(&error))?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        Ok(Answer { status, headers, body: http::body(answer).await })
    }
}

/// A second copy, after an answer that was lost, takes the place of the first on the screen: that is what the tags are
/// for.
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
    /// Not let in: the gate in front of FCM has no code of FCM's.
    fn is_of_the_gate(&self) -> bool {
        matches!(self.status.as_u16(), 401 | 403) && self.failure().code().is_none()
    }

    fn sorted(&self) -> Result<Option<String>, NotSent> {
        if self.status.is_success() {
            return Ok(serde_json::from_slice::<Accepted>(&self.body).ok().map(|accepted| accepted.name));
        }
        let failure = self.failure();
        let code = failure.code();
        let status = self.status.as_u16();
        let reason = Reason::http(status, code);
        let retry_after = http::retry_after(&self.headers);
        Err(match code {
            Some("UNREGISTERED") => reason.address_dead(),
            // The token is another project's, or the credentials are: with the wrong ones every token would be.
            Some("SENDER_ID_MISMATCH") => reason.refused(),
            Some("INVALID_ARGUMENT") if failure.is_about_the_device() => reason.address_dead(),
            Some("INVALID_ARGUMENT") => reason.refused(),
            Some("QUOTA_EXCEEDED" | "UNAVAILABLE") => NotSent::Unavailable { reason, retry_after },
            // The key with which FCM speaks to Apple or to browsers: an operator's to mend.
            Some("THIRD_PARTY_AUTH_ERROR") => reason.unavailable(),
            Some("INTERNAL") => reason.failed(),
            _ if matches!(status, 401 | 403) => reason.unavailable(),
            _ if status == 400 && failure.is_about_the_device() => reason.address_dead(),
            _ => http::by_status(status, code, retry_after),
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

    /// An invalid argument can be anything in the message. Only these two name the token.
    fn is_about_the_device(&self) -> bool {
        let mut violations = self.details.iter().flat_map(|detail| &detail.field_violations);
        violations.any(|violation| violation.field == "message.token") || self.message.contains("registration token")
    }
}
