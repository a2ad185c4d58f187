//! Secrets Manager: `POST /` with `X-Amz-Target: secretsmanager.GetSecretValue`, protocol awsJson1_1.
//!
//! A secret has a current version and, after a rotation, a previous one. A version that does not exist is
//! `ResourceNotFoundException`, as in AWS.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::http::StatusCode as SdkStatus;
use aws_smithy_types::body::SdkBody;
use aws_types::SdkConfig;
use aws_types::region::Region;
use axum::Json;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

/// The operation in `X-Amz-Target`.
pub(crate) const OPERATION: &str = "secretsmanager.GetSecretValue";

/// The ARN of a secret without its name.
const ARN_PREFIX: &str = "arn:aws:secretsmanager:us-east-1:000000000000:secret:";

/// Secrets by name. Clones share them.
#[derive(Clone, Default)]
pub struct Secrets {
    by_name: Arc<Mutex<BTreeMap<String, Versions>>>,
}

struct Versions {
    current: String,
    previous: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct GetSecretValue {
    secret_id: String,
    version_stage: Option<String>,
}

impl Secrets {
    /// Returns the ARN of a secret.
    pub fn arn(name: &str) -> String {
        format!("{ARN_PREFIX}{name}")
    }

    /// Sets the current version of a secret; the one before becomes the previous version.
    pub fn put(&self, name: &str, value: impl Into<String>) {
        let mut secrets = self.secrets();
        let previous = secrets.remove(name).map(|versions| versions.current);
        secrets.insert(name.to_owned(), Versions { current: value.into(), previous });
    }

    /// Returns the current version of a secret.
    pub fn current(&self, name: &str) -> Option<String> {
        self.secrets().get(name).map(|versions| versions.current.clone())
    }

    /// Returns the names of all secrets.
    pub fn names(&self) -> Vec<String> {
        self.secrets().keys().cloned().collect()
    }

    /// Returns an SDK configuration whose Secrets Manager calls are answered by these secrets, without a network.
    pub fn sdk_config(&self) -> SdkConfig {
        let credentials = Credentials::new("key", "secret", None, None, "stand-in");
        SdkConfig::builder()
            .region(Region::from_static("us-east-1"))
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .http_client(SharedHttpClient::new(self.clone()))
            .build()
    }

    pub(crate) fn get(&self, body: &[u8]) -> Response {
        let (status, body) = self.answer(body);
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        (status, [(CONTENT_TYPE, "application/x-amz-json-1.1")], Json(body)).into_response()
    }

    fn answer(&self, body: &[u8]) -> (u16, Value) {
        let Ok(request) = serde_json::from_slice::<GetSecretValue>(body) else {
            return (400, json!({"__type": "InvalidParameterException", "Message": "SecretId is required."}));
        };
        let name = request.secret_id.strip_prefix(ARN_PREFIX).unwrap_or(&request.secret_id);
        let stage = request.version_stage.as_deref().unwrap_or("AWSCURRENT");
        let secrets = self.secrets();
        let text = secrets.get(name).and_then(|versions| match stage {
            "AWSCURRENT" => Some(&versions.current),
            "AWSPREVIOUS" => versions.previous.as_ref(),
            _ => None,
        });
        match text {
            Some(text) => {
                (200, json!({"ARN": Self::arn(name), "Name": name, "SecretString": text, "VersionStages": [stage]}))
            }
            None => {
                let message = "Secrets Manager can't find the specified secret.";
                (400, json!({"__type": "ResourceNotFoundException", "Message": message}))
            }
        }
    }

    fn secrets(&self) -> MutexGuard<'_, BTreeMap<String, Versions>> {
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Prints the names only.
impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Secrets").field(&self.names()).finish()
    }
}

impl HttpClient for Secrets {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for Secrets {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (status, body) = match request.headers().get("x-amz-target") {
            Some(OPERATION) => self.answer(request.body().bytes().unwrap_or_default()),
            _ => (400, json!({"__type": "UnknownOperationException"})),
        };
        let status = SdkStatus::try_from(status).map_err(|error| ConnectorError::other(error.into(), None));
        HttpConnectorFuture::ready(status.map(|status| HttpResponse::new(status, SdkBody::from(body.to_string()))))
    }
}
