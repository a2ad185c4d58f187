//! The HTTP client of the functions' AWS clients: what the door denies is answered here and not sent.
//!
//! So it is the same in front of the embedded engines, a test's proxy and another engine.

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use runtime::{Pool, Roots};

use super::{Asked, Denied, Door};

/// A client that asks the door first.
#[derive(Debug)]
struct Judged {
    door: Door,
    http: SharedHttpClient,
}

#[derive(Debug)]
struct JudgedConnector {
    door: Door,
    http: SharedHttpConnector,
}

impl Door {
    /// A client for everybody who is judged; its connections are shared by them.
    pub fn http_client(&self) -> SharedHttpClient {
        let http = runtime::https(Roots::Amazon, Pool::Kept);
        SharedHttpClient::new(Judged { door: self.clone(), http })
    }
}

impl HttpClient for Judged {
    fn http_connector(&self, settings: &HttpConnectorSettings, components: &RuntimeComponents) -> SharedHttpConnector {
        let http = self.http.http_connector(settings, components);
        SharedHttpConnector::new(JudgedConnector { door: self.door.clone(), http })
    }
}

impl HttpConnector for JudgedConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let body = request.body().bytes().unwrap_or_default();
        let what = (request.method(), path(request.uri()));
        let asked = Asked::read(|name| request.headers().get(name), what, body);
        match asked.map_or(Ok(()), |asked| self.door.judge(&asked)) {
            Ok(()) => self.http.call(request),
            Err(denied) => HttpConnectorFuture::ready(answer(&denied)),
        }
    }
}

fn answer(denied: &Denied) -> Result<HttpResponse, ConnectorError> {
    let status = StatusCode::try_from(denied.status()).map_err(|error| ConnectorError::other(error.into(), None))?;
    let mut response = HttpResponse::new(status, SdkBody::from(denied.json()));
    response.headers_mut().insert("x-amzn-errortype", Denied::NAME);
    Ok(response)
}

/// The path of a whole URL.
fn path(url: &str) -> &str {
    let after_host = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = after_host.find('/').map_or("/", |slash| &after_host[slash..]);
    path.split_once('?').map_or(path, |(path, _)| path)
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
    use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
    use aws_sdk_dynamodb::types::AttributeValue;

    use super::*;
    use crate::provision::Provisioned;
    use crate::template::Template;

    const TEMPLATE: &str = r#"
Resources:
  Work:
    Type: AWS::Serverless::Function
    Metadata: { BuildProperties: { Binary: work } }
    Properties: { Role: !GetAtt WorkRole.Arn }
  WorkRole:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument:
        Version: "2012-10-17"
        Statement: [{ Effect: Allow, Principal: { Service: lambda.amazonaws.com }, Action: sts:AssumeRole }]
      Policies:
        - PolicyName: work
          PolicyDocument:
            Version: "2012-10-17"
            Statement: [{ Effect: Allow, Action: dynamodb:GetItem, Resource: !GetAtt Orders.Arn }]
  Orders:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: orders
      AttributeDefinitions: [{ AttributeName: id, AttributeType: S }]
      KeySchema: [{ AttributeName: id, KeyType: HASH }]
"#;

    /// A client of somebody; nobody listens where it sends.
    fn client(access_key: &str, door: &Door) -> aws_sdk_dynamodb::Client {
        let config = aws_sdk_dynamodb::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::from_static("us-east-1"))
            .credentials_provider(Credentials::new(access_key, "secret", None, None, "test"))
            .retry_config(aws_sdk_dynamodb::config::retry::RetryConfig::disabled())
            .endpoint_url("http://127.0.0.1:1")
            .http_client(door.http_client());
        aws_sdk_dynamodb::Client::from_conf(config.build())
    }

    #[tokio::test]
    async fn a_denied_call_is_not_sent_and_answered_as_aws_does() {
        let template = Template::parse(TEMPLATE, &Default::default()).expect("a template");
        let door = Door::new(&template, &Provisioned::default()).expect("its rights");
        let id = AttributeValue::S("1".to_owned());
        let delete = client("Work", &door).delete_item().table_name("orders").key("id", id.clone());
        let SdkError::ServiceError(denied) = delete.send().await.expect_err("denied") else { panic!("not an answer") };
        assert_eq!((denied.raw().status().as_u16(), denied.err().code()), (400, Some("AccessDeniedException")));
        let message = "User: arn:aws:sts::000000000000:assumed-role/WorkRole/Work is not authorized to perform: \
                       dynamodb:DeleteItem on resource: arn:aws:dynamodb:us-east-1:000000000000:table/orders because \
                       no identity-based policy allows the dynamodb:DeleteItem action";
        assert_eq!(denied.err().message(), Some(message));
        // What is allowed goes out, and so does what is nobody's who is known here.
        let get = client("Work", &door).get_item().table_name("orders").key("id", id.clone()).send().await;
        assert!(matches!(get, Err(SdkError::DispatchFailure(_))), "{get:?}");
        let other = client("local", &door).delete_item().table_name("orders").key("id", id).send().await;
        assert!(matches!(other, Err(SdkError::DispatchFailure(_))), "{other:?}");
    }

    #[test]
    fn a_path_is_what_comes_after_the_host_and_before_the_query() {
        assert_eq!(path("http://127.0.0.1:9/@connections/1?x=/"), "/@connections/1");
        assert_eq!(path("http://127.0.0.1:9"), "/");
    }
}
