//! From a request to a command, and from its end to an answer.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use belfry_aws::StoredResponse;
use domain::{Fingerprint, IdempotencyKey, Trace};
use ledger::LedgerError;
use ledger::command::{Answer, Command, Executed, Request};
use runtime::metrics::Ended;
use serde_json::Value;

use crate::Api;
use crate::caller::Caller;
use crate::error::{ApiError, Code};

/// What identifies a command before its body is read: the caller, the key, and where it was sent.
#[derive(Debug)]
pub struct Keyed {
    /// Who calls.
    pub caller: Caller,
    /// Where in which trace the request is.
    pub trace: Trace,
    key: IdempotencyKey,
    method: String,
    path: String,
}

impl Keyed {
    /// The request, once its body is known.
    pub fn with_body(&self, json: &Value) -> Result<Request, ApiError> {
        Ok(Request {
            caller: self.caller.identity.clone(),
            key: self.key.clone(),
            fingerprint: Fingerprint::of_json(&self.method, &self.path, json)?,
        })
    }
}

impl Keyed {
    /// The request for the kernel, once its body is known.
    pub fn request(&self, json: &Value) -> Result<belfry_aws::Request, ApiError> {
        Ok(belfry_aws::Request {
            caller: self.caller.identity.clone(),
            key: self.key.clone(),
            fingerprint: Fingerprint::of_json(&self.method, &self.path, json)?,
            trace: Some(self.trace.clone()),
            deadline: None,
        })
    }
}

impl<S: Sync> FromRequestParts<S> for Keyed {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, state).await?;
        let key = key(&parts.headers)?;
        let trace = parts.extensions.get::<Trace>().cloned().unwrap_or_else(Trace::begin);
        Ok(Self { caller, trace, key, method: parts.method.to_string(), path: parts.uri.path().to_owned() })
    }
}

fn key(headers: &HeaderMap) -> Result<IdempotencyKey, ApiError> {
    let bad = |problem: &str| ApiError::field("Idempotency-Key", problem);
    let key = headers.get("idempotency-key").ok_or_else(|| bad("the header is missing"))?;
    let text = key.to_str().map_err(|_| bad("must be 1 to 255 visible ASCII characters"))?;
    IdempotencyKey::parse(text).map_err(|error| bad(&error.to_string()))
}

impl Api {
    /// Runs a command and counts how it ended.
    pub async fn execute<C: Command>(
        &self,
        name: &'static str,
        request: &Request,
        command: &C,
    ) -> Result<Response, ApiError> {
        self.execute_then(name, request, command, std::future::ready(())).await
    }

    /// The same, and something after the commit, if this request made it: best effort, at most once.
    pub async fn execute_then<C: Command>(
        &self,
        name: &'static str,
        request: &Request,
        command: &C,
        after_commit: impl Future<Output = ()>,
    ) -> Result<Response, ApiError> {
        let execution = match self.commands.execute(request, command).await {
            Ok(execution) => execution,
            Err(error) => {
                let contended = matches!(error, LedgerError::Contended { .. });
                self.metrics.command(name, if contended { Ended::Contended } else { Ended::Failed }, 0);
                return Err(error.into());
            }
        };
        let ended = match &execution.outcome {
            Executed::Accepted(_) => Ended::Accepted,
            Executed::Refused(_) => Ended::Refused,
            Executed::Replayed(_) => Ended::Replayed,
            Executed::KeyConflict => Ended::Conflicted,
        };
        self.metrics.command(name, ended, execution.races);
        tracing::info!(command = name, ended = ended.as_str(), races = execution.races, "command");
        if ended == Ended::Accepted {
            after_commit.await;
        }
        Ok(respond(execution.outcome))
    }
}

/// The response of a command of the kernel.
pub fn responded<T>(executed: belfry_aws::Executed<T>) -> Response {
    let answer = |StoredResponse { status, body, .. }| Answer { status, body };
    respond(match executed {
        belfry_aws::Executed::Accepted { response, .. } => Executed::Accepted(answer(response)),
        belfry_aws::Executed::Refused { response, .. } => Executed::Refused(answer(response)),
        belfry_aws::Executed::Replayed(response) => Executed::Replayed(answer(response)),
        _ => Executed::KeyConflict,
    })
}

fn respond(executed: Executed) -> Response {
    match executed {
        Executed::Accepted(answer) | Executed::Refused(answer) => json(answer),
        Executed::Replayed(answer) => ([("idempotency-replayed", "true")], json(answer)).into_response(),
        Executed::KeyConflict => {
            ApiError::new(Code::IdempotencyKeyConflict, "this key was used for another request").into_response()
        }
    }
}

fn json(answer: Answer) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, [(header::CONTENT_TYPE, "application/json")], answer.body).into_response()
}
