//! Commands of the use cases that still run on the ledger.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use belfry_aws::{Executed, StoredResponse};
use belfry_http::KeyedParts;
use domain::Trace;
use ledger::LedgerError;
use ledger::command::{self, Answer, Command, Request};
use runtime::metrics::Ended;
use serde_json::Value;

use super::error::ApiError;
use super::identity::Caller;
use crate::Api;

/// What identifies a command before its body is read: the caller, the key, and where it was sent.
#[derive(Debug)]
pub struct Keyed {
    /// Who calls.
    pub caller: Caller,
    /// The trace that the request belongs to.
    pub trace: Trace,
    parts: KeyedParts,
}

impl Keyed {
    /// The request, once its body is known.
    pub fn with_body(&self, json: &Value) -> Result<Request, ApiError> {
        let belfry_aws::Request { caller, key, fingerprint, .. } = self.parts.request(json)?;
        Ok(Request { caller, key, fingerprint })
    }
}

impl<S: Sync> FromRequestParts<S> for Keyed {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, state).await?;
        let trace = parts.extensions.get::<Trace>().cloned().unwrap_or_else(Trace::begin);
        Ok(Self { caller, trace, parts: KeyedParts::from_request_parts(parts, state).await? })
    }
}

impl ApiError {
    /// The answer as the ledger stores it.
    pub fn into_answer(self) -> Result<Answer, serde_json::Error> {
        let StoredResponse { status, body, .. } = self.stored();
        Ok(Answer { status, body })
    }
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
            command::Executed::Accepted(_) => Ended::Accepted,
            command::Executed::Refused(_) => Ended::Refused,
            command::Executed::Replayed(_) => Ended::Replayed,
            command::Executed::KeyConflict => Ended::Conflicted,
        };
        self.metrics.command(name, ended, execution.races);
        tracing::info!(command = name, outcome = ended.as_str(), races = execution.races, "command finished");
        if ended == Ended::Accepted {
            after_commit.await;
        }
        Ok(belfry_http::Answer::from(executed(execution.outcome)).into_response())
    }
}

fn executed(executed: command::Executed) -> Executed {
    let stored = |Answer { status, body }| StoredResponse::stored(status, body);
    match executed {
        command::Executed::Accepted(answer) | command::Executed::Refused(answer) => {
            Executed::Accepted { response: stored(answer), output: (), events: Vec::new() }
        }
        command::Executed::Replayed(answer) => Executed::Replayed(stored(answer)),
        command::Executed::KeyConflict => Executed::KeyConflict,
    }
}
