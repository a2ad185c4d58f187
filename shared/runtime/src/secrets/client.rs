//! The one call to Secrets Manager, `GetSecretValue`, signed by the SDK's own signer. Its generated client would add half
//! a megabyte to every binary.

use std::convert::Infallible;
use std::fmt;
use std::time::Duration;

use aws_runtime::auth::SigV4OperationSigningConfig;
use aws_runtime::auth::sigv4::{SCHEME_ID, SigV4AuthScheme};
use aws_smithy_async::rt::sleep::{SharedAsyncSleep, TokioSleep};
use aws_smithy_async::time::SharedTimeSource;
use aws_smithy_runtime::client::identity::IdentityCache;
use aws_smithy_runtime::client::orchestrator::operation::Operation;
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::auth::AuthSchemeOptionResolverParams;
use aws_smithy_runtime_api::client::auth::static_resolver::StaticAuthSchemeOptionResolver;
use aws_smithy_runtime_api::client::behavior_version::BehaviorVersion;
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse, OrchestratorError, SensitiveOutput};
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponentsBuilder;
use aws_smithy_runtime_api::client::runtime_plugin::StaticRuntimePlugin;
use aws_smithy_runtime_api::client::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::config_bag::Layer;
use aws_smithy_types::timeout::TimeoutConfig;
use aws_types::region::{Region, SigningRegion};
use aws_types::service_config::ServiceConfigKey;
use aws_types::{SdkConfig, SigningName};
use serde::{Deserialize, Serialize};

use crate::{Pool, Roots, https};

/// How long one call may take.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// Longer than any error code of AWS.
const LONGEST_CODE: usize = 64;

/// Calls Secrets Manager.
#[derive(Debug)]
pub(super) struct Client {
    get: Operation<GetSecretValue, Answer, Infallible>,
}

/// Which version of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) enum Stage {
    #[serde(rename = "AWSCURRENT")]
    Current,
    #[serde(rename = "AWSPREVIOUS")]
    Previous,
}

/// Why a secret is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// AWS's error code.
    Code(String),
    /// No answer, or one that is not of Secrets Manager.
    Unreachable(&'static str),
    /// The secret is there, but not what it should be.
    Content(&'static str),
}

impl Failure {
    pub(super) fn is_not_found(&self) -> bool {
        matches!(self, Self::Code(code) if code == "ResourceNotFoundException")
    }

    /// Whether it stays so until somebody mends the setting, the role or the secret.
    pub(super) fn is_lasting(&self) -> bool {
        match self {
            Self::Content(_) => true,
            Self::Code(code) => {
                ["AccessDeniedException", "DecryptionFailure", "InvalidRequestException", "ResourceNotFoundException"]
                    .contains(&code.as_str())
            }
            Self::Unreachable(_) => false,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => f.write_str(code),
            Self::Unreachable(text) | Self::Content(text) => f.write_str(text),
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct GetSecretValue {
    secret_id: String,
    version_stage: Stage,
}

struct Answer {
    status: u16,
    body: Vec<u8>,
}

/// The body holds the secret.
impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").field("status", &self.status).finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SecretValue {
    secret_string: Option<String>,
}

#[derive(Deserialize)]
struct Refusal {
    #[serde(rename = "__type")]
    kind: String,
}

impl Client {
    pub(super) fn new(aws: &SdkConfig) -> Self {
        let timeouts =
            TimeoutConfig::builder().connect_timeout(Duration::from_secs(1)).operation_timeout(TIME_LIMIT).build();
        let http = aws.http_client().unwrap_or_else(|| https(Roots::Amazon, Pool::Kept));
        let get = Operation::builder()
            .service_name("Secrets Manager")
            .operation_name("GetSecretValue")
            .behavior_version(BehaviorVersion::latest())
            .http_client(http)
            .endpoint_url(&endpoint(aws))
            .no_retry()
            .timeout_config(timeouts)
            .sleep_impl(aws.sleep_impl().unwrap_or_else(|| SharedAsyncSleep::new(TokioSleep::new())))
            .time_source(aws.time_source().unwrap_or_default())
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .runtime_plugin(signed(aws))
            .serializer(request)
            .deserializer::<Answer, Infallible>(answer)
            .build();
        Self { get }
    }

    /// The text of a version.
    pub(super) async fn fetch(&self, secret_id: &str, version_stage: Stage) -> Result<String, Failure> {
        let asked = GetSecretValue { secret_id: secret_id.to_owned(), version_stage };
        // Boxed, because it is large, and hardly ever made.
        let answer = Box::pin(self.get.invoke(asked)).await.map_err(|error| {
            Failure::Unreachable(match error {
                SdkError::TimeoutError(_) => "no answer from Secrets Manager in time",
                SdkError::ConstructionFailure(_) => "no credentials, or no endpoint of Secrets Manager",
                _ => "no connection to Secrets Manager",
            })
        })?;
        if answer.status != 200 {
            return Err(refusal(&answer));
        }
        let unreadable = Failure::Unreachable("an answer that is not Secrets Manager's");
        let value: SecretValue = serde_json::from_slice(&answer.body).map_err(|_| unreadable)?;
        value.secret_string.ok_or(Failure::Content("is binary, not text"))
    }
}

/// The error's name without its namespace, and nothing that could be anything else.
fn refusal(answer: &Answer) -> Failure {
    let code = serde_json::from_slice::<Refusal>(&answer.body).ok();
    let code = code.and_then(|refusal| refusal.kind.rsplit('#').next().map(str::to_owned));
    let is_code = |code: &String| {
        code.len() <= LONGEST_CODE && !code.is_empty() && code.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    code.filter(is_code).map_or(Failure::Unreachable("an answer that is not Secrets Manager's"), Failure::Code)
}

/// `AWS_ENDPOINT_URL_SECRETS_MANAGER`, `AWS_ENDPOINT_URL`, or where AWS has it.
fn endpoint(aws: &SdkConfig) -> String {
    let key = ServiceConfigKey::builder().service_id("Secrets Manager").profile("endpoint_url").env("AWS_ENDPOINT_URL");
    let own = key.build().ok().and_then(|key| aws.service_config()?.load_config(key));
    own.or_else(|| aws.endpoint_url().map(str::to_owned)).unwrap_or_else(|| {
        let region = aws.region().map(Region::as_ref).unwrap_or_default();
        let service = if aws.use_fips() == Some(true) { "secretsmanager-fips" } else { "secretsmanager" };
        let suffix = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
        format!("https://{service}.{region}.{suffix}")
    })
}

fn signed(aws: &SdkConfig) -> StaticRuntimePlugin {
    let mut config = Layer::new("secrets");
    config.store_put(AuthSchemeOptionResolverParams::new(()));
    config.store_put(SigV4OperationSigningConfig::default());
    config.store_put(SigningName::from_static("secretsmanager"));
    config.store_put(SensitiveOutput);
    if let Some(region) = aws.region() {
        config.store_put(SigningRegion::from(region.clone()));
    }
    let mut components = RuntimeComponentsBuilder::new("secrets")
        .with_auth_scheme(SigV4AuthScheme::new())
        .with_auth_scheme_option_resolver(Some(StaticAuthSchemeOptionResolver::new(vec![SCHEME_ID])))
        .with_identity_cache(Some(IdentityCache::no_cache()));
    if let Some(credentials) = aws.credentials_provider() {
        components.set_identity_resolver(SCHEME_ID, credentials);
    }
    StaticRuntimePlugin::new().with_config(config.freeze()).with_runtime_components(components)
}

fn request(asked: GetSecretValue) -> Result<HttpRequest, BoxError> {
    let mut request = HttpRequest::new(SdkBody::from(serde_json::to_vec(&asked)?));
    request.set_method("POST")?;
    request.set_uri("/")?;
    request.headers_mut().insert("content-type", "application/x-amz-json-1.1");
    request.headers_mut().insert("x-amz-target", "secretsmanager.GetSecretValue");
    Ok(request)
}

fn answer(response: &HttpResponse) -> Result<Answer, OrchestratorError<Infallible>> {
    let body = response.body().bytes().unwrap_or_default().to_vec();
    Ok(Answer { status: response.status().as_u16(), body })
}

/// The clock of this configuration.
pub(super) fn clock(aws: &SdkConfig) -> SharedTimeSource {
    aws.time_source().unwrap_or_default()
}
