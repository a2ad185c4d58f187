//! Which actions on which resources a request needs, as AWS counts them. Read from the signed request.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use providers::Secrets;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{queue_arn, table_arn};
use crate::aws::{ACCOUNT, REGION};

/// A signed request.
#[derive(Debug, Clone, Copy)]
pub struct SignedRequest<'a> {
    pub access_key: &'a str,
    service: &'a str,
    method: &'a str,
    path: &'a str,
    /// From the header `X-Amz-Target`, or empty.
    operation: &'a str,
    body: &'a [u8],
}

/// An action on a resource.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RequiredPermission {
    pub action: String,
    /// A permission on any of them is enough: the request does not say which one AWS will use.
    pub resources: Vec<String>,
    /// The values of condition keys, such as `ses:FromAddress`.
    pub context: BTreeMap<&'static str, String>,
}

impl RequiredPermission {
    fn new(action: impl Into<String>, resource: impl Into<String>) -> Self {
        Self { action: action.into(), resources: vec![resource.into()], context: BTreeMap::new() }
    }
}

/// The fields of all services' requests that name resources. Others are not parsed.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default, bound(deserialize = "'de: 'a"))]
struct Body<'a> {
    configuration_set_name: Option<Cow<'a, str>>,
    from_email_address: Cow<'a, str>,
    index_name: Option<Cow<'a, str>>,
    origination_identity: Cow<'a, str>,
    queue_url: Cow<'a, str>,
    request_items: BTreeMap<Cow<'a, str>, IgnoredAny>,
    secret_id: Cow<'a, str>,
    shard_iterator: Cow<'a, str>,
    stream_arn: Cow<'a, str>,
    table_name: Cow<'a, str>,
    transact_items: Vec<BTreeMap<Cow<'a, str>, TransactItem<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", bound(deserialize = "'de: 'a"))]
struct TransactItem<'a> {
    table_name: Cow<'a, str>,
}

impl<'a> SignedRequest<'a> {
    /// `None` if no AWS client has signed the request.
    pub fn read(
        header: impl Fn(&str) -> Option<&'a str>,
        method: &'a str,
        path: &'a str,
        body: &'a [u8],
    ) -> Option<Self> {
        let credential = header("authorization")?.strip_prefix("AWS4-HMAC-SHA256 Credential=")?;
        let mut scope = credential.split([',', '/']);
        let (access_key, service) = (scope.next()?, scope.nth(2)?);
        let target = header("x-amz-target").unwrap_or_default();
        let operation = target.rsplit_once('.').map_or(target, |(_, operation)| operation);
        Some(Self { access_key, service, method, path, operation, body })
    }

    /// The permissions, each once. `websocket_api` is the API's id and stage. A request that cannot be read needs `*`,
    /// which no role allows.
    pub(super) fn required_permissions(&self, websocket_api: &str) -> BTreeSet<RequiredPermission> {
        let Self { service, method, path, operation, .. } = *self;
        if service == "execute-api" {
            let resource = format!("arn:aws:execute-api:{REGION}:{ACCOUNT}:{websocket_api}/{method}{path}");
            return [RequiredPermission::new("execute-api:ManageConnections", resource)].into();
        }
        let on = |resource: String| RequiredPermission::new(format!("{service}:{operation}"), resource);
        let Ok(body) = serde_json::from_slice::<Body<'_>>(self.body) else { return [on("*".to_owned())].into() };
        match service {
            "dynamodb" => dynamodb(operation, &body),
            "sqs" => {
                let queue = body.queue_url.rsplit('/').next().unwrap_or_default();
                // A batch needs the same permission as a single message.
                let action = operation.strip_suffix("Batch").unwrap_or(operation);
                [RequiredPermission::new(format!("sqs:{action}"), queue_arn(queue))].into()
            }
            "ses" if (method, path) == ("POST", "/v2/email/outbound-emails") => send_email(&body),
            "sms-voice" => [on(body.origination_identity.into_owned())].into(),
            "secretsmanager" if body.secret_id.starts_with("arn:") => [on(body.secret_id.into_owned())].into(),
            "secretsmanager" => [on(Secrets::arn(&body.secret_id))].into(),
            _ => [RequiredPermission::new(format!("{service}:{method} {path}"), "*")].into(),
        }
    }
}

fn dynamodb(operation: &str, body: &Body<'_>) -> BTreeSet<RequiredPermission> {
    let on = |resource: String| RequiredPermission::new(format!("dynamodb:{operation}"), resource);
    match operation {
        // A transaction has no action of its own. `Put` needs `PutItem`, `ConditionCheck` needs `ConditionCheckItem`.
        "TransactWriteItems" | "TransactGetItems" => {
            let parts = body.transact_items.iter().flatten();
            let needed = |(kind, part): (&Cow<'_, str>, &TransactItem<'_>)| {
                RequiredPermission::new(format!("dynamodb:{kind}Item"), table_or_arn(&part.table_name))
            };
            parts.map(needed).collect()
        }
        "BatchGetItem" | "BatchWriteItem" => body.request_items.keys().map(|table| on(table_or_arn(table))).collect(),
        "ListStreams" => [on("*".to_owned())].into(),
        "DescribeStream" | "GetShardIterator" => [on(body.stream_arn.to_string())].into(),
        // AWS's iterators begin with the stream's ARN. Another engine's do not say which stream they belong to.
        "GetRecords" => {
            body.shard_iterator.split_once('|').map(|(stream, _)| on(stream.to_owned())).into_iter().collect()
        }
        _ => {
            let table = table_or_arn(&body.table_name);
            [on(body.index_name.as_ref().map_or_else(|| table.clone(), |index| format!("{table}/index/{index}")))]
                .into()
        }
    }
}

fn table_or_arn(table: &str) -> String {
    if table.starts_with("arn:") { table.to_owned() } else { table_arn(table) }
}

fn send_email(body: &Body<'_>) -> BTreeSet<RequiredPermission> {
    let arn = |kind: &str, name: &str| format!("arn:aws:ses:{REGION}:{ACCOUNT}:{kind}/{name}");
    let from = body.from_email_address.rsplit('<').next().unwrap_or_default().trim_end_matches('>');
    let domain = from.rsplit('@').next().unwrap_or_default();
    // The verified identity may be the address, its domain, or a parent domain.
    let parents = domain.match_indices('.').map(|(dot, _)| &domain[dot + 1..]).filter(|parent| parent.contains('.'));
    let identities = [from, domain].into_iter().chain(parents).map(|identity| arn("identity", identity)).collect();
    let set = body.configuration_set_name.as_ref().map(|set| vec![arn("configuration-set", set)]);
    let needed = |resources| RequiredPermission {
        action: "ses:SendEmail".to_owned(),
        resources,
        context: BTreeMap::from([("ses:FromAddress", from.to_owned())]),
    };
    std::iter::once(identities).chain(set).map(needed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const TABLE: &str = "arn:aws:dynamodb:us-east-1:000000000000:table/";

    fn needs(service: &str, target: &str, (method, path): (&str, &str), body: &Value) -> Vec<(String, Vec<String>)> {
        let body = body.to_string();
        let credential =
            format!("AWS4-HMAC-SHA256 Credential=Me/20260101/us-east-1/{service}/aws4_request, Signature=0");
        let header = |name: &str| match name {
            "authorization" => Some(credential.as_str()),
            _ => Some(target),
        };
        let request = SignedRequest::read(header, method, path, body.as_bytes()).expect("a signature");
        assert_eq!(request.access_key, "Me");
        request.required_permissions("LiveApi/live").into_iter().map(|need| (need.action, need.resources)).collect()
    }

    fn one(service: &str, target: &str, body: &Value) -> (String, String) {
        let needs = needs(service, target, ("POST", "/"), body);
        let [(action, resources)] = needs.as_slice() else { panic!("{needs:?}") };
        let [resource] = resources.as_slice() else { panic!("{resources:?}") };
        (action.clone(), resource.clone())
    }

    #[test]
    fn transaction_needs_the_permissions_of_its_parts_once_each() {
        let part = |kind: &str, table: &str| json!({kind: {"TableName": table, "Item": {"TableName": {"S": "x\n"}}}});
        let parts =
            [part("Put", "a"), part("Put", "a"), part("Update", "a"), part("ConditionCheck", "b"), part("Delete", "b")];
        let found =
            needs("dynamodb", "DynamoDB_20120810.TransactWriteItems", ("POST", "/"), &json!({"TransactItems": parts}));
        let expected = [("ConditionCheckItem", "b"), ("DeleteItem", "b"), ("PutItem", "a"), ("UpdateItem", "a")];
        let expected = expected.map(|(action, table)| (format!("dynamodb:{action}"), vec![format!("{TABLE}{table}")]));
        assert_eq!(found, expected);
    }

    #[test]
    fn dynamodb_permissions_name_tables_indexes_and_streams() {
        let dynamodb = |operation: &str, body| one("dynamodb", &format!("DynamoDB_20120810.{operation}"), &body);
        let expected = |action: &str, resource: String| (format!("dynamodb:{action}"), resource);
        assert_eq!(dynamodb("GetItem", json!({"TableName": "a"})), expected("GetItem", format!("{TABLE}a")));
        assert_eq!(
            dynamodb("Query", json!({"TableName": "a", "IndexName": "i"})),
            expected("Query", format!("{TABLE}a/index/i"))
        );
        assert_eq!(
            dynamodb("BatchGetItem", json!({"RequestItems": {"a": {"Keys": []}}})),
            expected("BatchGetItem", format!("{TABLE}a"))
        );
        assert_eq!(
            dynamodb("TransactGetItems", json!({"TransactItems": [{"Get": {"TableName": "a"}}]})),
            expected("GetItem", format!("{TABLE}a"))
        );
        let stream = format!("{TABLE}a/stream/1");
        assert_eq!(
            dynamodb("GetRecords", json!({"ShardIterator": format!("{stream}|1|x")})),
            expected("GetRecords", stream.clone())
        );
        assert_eq!(dynamodb("DescribeStream", json!({"StreamArn": stream})), expected("DescribeStream", stream));
    }

    #[test]
    fn message_batch_needs_the_permission_of_one_message() {
        let queue = json!({"QueueUrl": "http://127.0.0.1:9/000000000000/work"});
        let arn = "arn:aws:sqs:us-east-1:000000000000:work".to_owned();
        for (operation, action) in [("SendMessageBatch", "SendMessage"), ("ReceiveMessage", "ReceiveMessage")] {
            let expected = (format!("sqs:{action}"), arn.clone());
            assert_eq!(one("sqs", &format!("AmazonSQS.{operation}"), &queue), expected);
        }
    }

    #[test]
    fn email_needs_a_permission_on_any_identity_of_its_sender() {
        let mail = json!({"FromEmailAddress": "Belfry <b@news.example.com>", "ConfigurationSetName": "set"});
        let found = needs("ses", "", ("POST", "/v2/email/outbound-emails"), &mail);
        let arn = |name: &str| format!("arn:aws:ses:us-east-1:000000000000:{name}");
        let identities = ["identity/b@news.example.com", "identity/news.example.com", "identity/example.com"];
        let action = || "ses:SendEmail".to_owned();
        assert_eq!(found, [(action(), vec![arn("configuration-set/set")]), (action(), identities.map(arn).into())]);
    }

    #[test]
    fn secret_is_named_by_arn_or_by_name() {
        let arn = "arn:aws:secretsmanager:us-east-1:000000000000:secret:belfry-payment";
        for id in [arn, "belfry-payment"] {
            let found = one("secretsmanager", "secretsmanager.GetSecretValue", &json!({"SecretId": id}));
            assert_eq!(found, ("secretsmanager:GetSecretValue".to_owned(), arn.to_owned()));
        }
    }

    #[test]
    fn websocket_message_needs_manage_connections() {
        let found = needs("execute-api", "", ("POST", "/@connections/1"), &json!({}));
        let resource = "arn:aws:execute-api:us-east-1:000000000000:LiveApi/live/POST/@connections/1".to_owned();
        assert_eq!(found, [("execute-api:ManageConnections".to_owned(), vec![resource])]);
    }

    #[test]
    fn unreadable_request_needs_permission_on_everything() {
        let body = json!("not an object");
        assert_eq!(one("sqs", "AmazonSQS.ListQueues", &body), ("sqs:ListQueues".to_owned(), "*".to_owned()));
        assert_eq!(one("s3", "", &json!({})), ("s3:POST /".to_owned(), "*".to_owned()));
    }

    #[test]
    fn unsigned_request_has_no_caller() {
        assert!(SignedRequest::read(|_| None, "POST", "/", b"").is_none());
        assert!(SignedRequest::read(|_| Some("Bearer token"), "POST", "/", b"").is_none());
    }
}
