//! The HTTP client of the functions' AWS clients. A denied call is answered here and not sent.
//!
//! It works the same in front of the embedded engines, a test's proxy and another engine.

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use axum::http::Uri;
use runtime::{Pool, Roots};

use super::{AccessDenied, IamGate, SignedRequest};

#[derive(Debug)]
struct GatedClient {
    iam: IamGate,
    http: SharedHttpClient,
}

#[derive(Debug)]
struct GatedConnector {
    iam: IamGate,
    http: SharedHttpConnector,
}

impl IamGate {
    /// A client whose calls are checked. All functions share its connections.
    pub fn http_client(&self) -> SharedHttpClient {
        let http = runtime::https(Roots::Amazon, Pool::Kept);
        SharedHttpClient::new(GatedClient { iam: self.clone(), http })
    }
}

impl HttpClient for GatedClient {
    fn http_connector(&self, settings: &HttpConnectorSettings, components: &RuntimeComponents) -> SharedHttpConnector {
        let http = self.http.http_connector(settings, components);
        SharedHttpConnector::new(GatedConnector { iam: self.iam.clone(), http })
    }
}

impl HttpConnector for GatedConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let body = request.body().bytes().unwrap_or_default();
        let uri: Uri = request.uri().parse().unwrap_or_default();
        let signed = SignedRequest::read(|name| request.headers().get(name), request.method(), uri.path(), body);
        match self.iam.authorize(signed.as_ref()) {
            Ok(()) => self.http.call(request),
            Err(denied) => HttpConnectorFuture::ready(answer(&denied)),
        }
    }
}

fn answer(denied: &AccessDenied) -> Result<HttpResponse, ConnectorError> {
    let status = StatusCode::try_from(denied.status()).map_err(|error| ConnectorError::other(error.into(), None))?;
    let mut response = HttpResponse::new(status, SdkBody::from(denied.json()));
    response.headers_mut().insert("x-amzn-errortype", AccessDenied::NAME);
    Ok(response)
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
    use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
    use aws_sdk_dynamodb::types::AttributeValue;

    use super::*;

    /// A client that signs with this key. Nothing listens where it sends.
    fn client(access_key: &str, iam: &IamGate) -> aws_sdk_dynamodb::Client {
        let config = aws_sdk_dynamodb::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::from_static("us-east-1"))
            .credentials_provider(Credentials::new(access_key, "secret", None, None, "test"))
            .retry_config(aws_sdk_dynamodb::config::retry::RetryConfig::disabled())
            .endpoint_url("http://127.0.0.1:1")
            .http_client(iam.http_client());
        aws_sdk_dynamodb::Client::from_conf(config.build())
    }

    #[tokio::test]
    async fn denied_call_is_not_sent_and_answered_as_by_aws() {
        let iam = super::super::tests::gate();
        let id = AttributeValue::S("1".to_owned());
        let delete = client("Work", &iam).delete_item().table_name("orders").key("id", id.clone());
        let SdkError::ServiceError(denied) = delete.send().await.expect_err("denied") else { panic!("not an answer") };
        assert_eq!((denied.raw().status().as_u16(), denied.err().code()), (400, Some("AccessDeniedException")));
        let message = "User: arn:aws:sts::000000000000:assumed-role/WorkRole/Work is not authorized to perform: \
                       dynamodb:DeleteItem on resource: arn:aws:dynamodb:us-east-1:000000000000:table/orders because \
                       no identity-based policy allows the dynamodb:DeleteItem action";
        assert_eq!(denied.err().message(), Some(message));
        // An allowed call is sent, and so is a call of an unknown signer.
        let get = client("Work", &iam).get_item().table_name("orders").key("id", id.clone()).send().await;
        assert!(matches!(get, Err(SdkError::DispatchFailure(_))), "{get:?}");
        let other = client("local", &iam).delete_item().table_name("orders").key("id", id).send().await;
        assert!(matches!(other, Err(SdkError::DispatchFailure(_))), "{other:?}");
    }
}
