//! SLACK: `POST {text}` to an incoming webhook. Slack answers in plain text, `ok` or the error's name.

use std::time::Duration;

use domain::recipient::WebhookUrl;
use domain::webhook::WebhookHosts;
use provider_http::{endpoint, invalid_setting, time_limit};
use reqwest::{Client, Url};
use runtime::{BadSetting, Settings};
use serde::Serialize;

use crate::{Address, Message, Outgoing, Reason, SendError, http_error};

/// Slack's codes for a webhook that no longer works.
const DEAD_WEBHOOK: [&str; 9] = [
    "action_prohibited",
    "channel_is_archived",
    "channel_not_found",
    "invalid_token",
    "no_active_hooks",
    "no_service",
    "no_service_id",
    "no_team",
    "team_disabled",
];

/// Slack's other codes.
const OTHERS: [&str; 8] = [
    "invalid_blocks",
    "invalid_payload",
    "missing_text_or_fallback_or_attachments",
    "no_text",
    "posting_to_general_channel_denied",
    "rate_limited",
    "rollup_error",
    "user_not_found",
];

/// Slack's incoming webhooks.
pub struct Slack {
    client: Client,
    hosts: WebhookHosts,
    endpoint: Option<Url>,
    limit: Duration,
}

#[derive(Serialize)]
struct Payload {
    text: String,
}

impl Slack {
    /// The name in receipts and logs.
    pub const NAME: &str = "slack";

    /// Reads `BELFRY_SLACK_HOSTS`, the hosts that webhooks may have, and optionally `BELFRY_SLACK_ENDPOINT_URL`, which
    /// receives the requests of all webhooks. The hosts may be `*` only with an endpoint.
    pub fn from_settings(settings: &Settings) -> Result<Self, BadSetting> {
        let limit = time_limit(settings)?;
        let (hosts, endpoint) = (settings.slack_hosts()?, endpoint(settings, "BELFRY_SLACK_ENDPOINT_URL")?);
        if endpoint.is_none() && hosts.are_any() {
            let expected = "host names unless BELFRY_SLACK_ENDPOINT_URL is set";
            return Err(invalid_setting("BELFRY_SLACK_HOSTS", expected, WebhookHosts::ANY));
        }
        Ok(Self { client: provider_http::client(limit), hosts, endpoint, limit })
    }

    pub(crate) async fn send(&self, outgoing: &Outgoing) -> Result<Option<String>, SendError> {
        let Address::SlackWebhook(webhook) = &outgoing.to else {
            return Err(Reason::text("address is not a webhook").refused());
        };
        let url = self.allowed(webhook).ok_or(Reason::text("webhook host is not allowed").refused())?;
        let Message { title, body, .. } = &outgoing.message;
        let text = if title.is_empty() { body.clone() } else { format!("*{}*\n{body}", outgoing.message.title_line()) };
        let request = self.client.post(url).timeout(self.limit).json(&Payload { text });
        let answer = request.send().await.map_err(|error| http_error::no_answer(&error))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(None);
        }
        let retry_after = http_error::retry_after(answer.headers());
        Err(classify(status.as_u16(), &provider_http::read_body(answer).await, retry_after))
    }

    fn allowed(&self, webhook: &WebhookUrl) -> Option<Url> {
        if !self.hosts.allow(webhook) {
            return None;
        }
        let url = Url::parse(webhook.as_str()).ok()?;
        match &self.endpoint {
            None => Some(url),
            Some(endpoint) => Url::parse(&format!("{}{}", endpoint.as_str().trim_end_matches('/'), url.path())).ok(),
        }
    }
}

fn classify(status: u16, body: &[u8], retry_after: Option<Duration>) -> SendError {
    let said = String::from_utf8_lossy(body);
    let among = |words: &[&'static str]| words.iter().find(|word| **word == said.trim()).copied();
    match (among(&DEAD_WEBHOOK), status) {
        (Some(word), 400..=499) => Reason::http(status, Some(word)).address_dead(),
        (_, 404 | 410) => Reason::http(status, among(&OTHERS)).address_dead(),
        (word, _) => http_error::by_status(status, word.or_else(|| among(&OTHERS)), retry_after),
    }
}
