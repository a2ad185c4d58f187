//! What a call asks for: which actions, on which resources, as AWS counts them. Read off the signed request.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use providers::Secrets;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{queue_arn, table_arn};
use crate::aws::{ACCOUNT, REGION};

/// A signed request.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// Who has signed it.
    pub access_key: &'a str,
    /// The service that it is signed for.
    service: &'a str,
    method: &'a str,
    path: &'a str,
    /// The header `X-Amz-Target`, or nothing.
    target: &'a str,
    body: &'a [u8],
}

/// An action on a resource: one of several, where the caller cannot tell which of them it is.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Need {
    pub(super) action: String,
    pub(super) resources: Vec<String>,
    /// What a policy's conditions can ask for besides, by its key: `ses:FromAddress`.
    pub(super) context: BTreeMap<&'static str, String>,
}

impl Need {
    fn new(action: impl Into<String>, resource: impl Into<String>) -> Self {
        Self { action: action.into(), resources: vec![resource.into()], context: BTreeMap::new() }
    }
}

impl<'a> Asked<'a> {
    /// `None` if no AWS client has signed it.
    pub fn read(
        header: impl Fn(&str) -> Option<&'a str>,
        (method, path): (&'a str, &'a str),
        body: &'a [u8],
    ) -> Option<Self> {
        let signed = header("authorization")?.strip_prefix("AWS4-HMAC-SHA256 Credential=")?;
        let mut scope = signed.split([',', '/']);
        let (access_key, service) = (scope.next()?, scope.nth(2)?);
        Some(Self { access_key, service, method, path, target: header("x-amz-target").unwrap_or_default(), body })
    }

    /// The actions, each once. `sockets` is the API of live sockets and its stage. What cannot be read asks for
    /// everything, which no role allows.
    pub(super) fn needs(&self, sockets: &str) -> BTreeSet<Need> {
        let operation = self.target.rsplit_once('.').map_or(self.target, |(_, operation)| operation);
        let needs = match self.service {
            "dynamodb" => dynamodb(operation, self.body),
            "sqs" => sqs(operation, self.body),
            "ses" if (self.method, self.path) == ("POST", "/v2/email/outbound-emails") => send_email(self.body),
            "sms-voice" => sms(operation, self.body),
            "secretsmanager" => secrets(operation, self.body),
            "execute-api" => {
                let (method, path) = (self.method, self.path);
                let resource = format!("arn:aws:execute-api:{REGION}:{ACCOUNT}:{sockets}/{method}{path}");
                Ok(vec![Need::new("execute-api:ManageConnections", resource)])
            }
            _ => Ok(vec![Need::new(format!("{}:{} {}", self.service, self.method, self.path), "*")]),
        };
        let unreadable = |_| vec![Need::new(format!("{}:{operation}", self.service), "*")];
        needs.unwrap_or_else(unreadable).into_iter().collect()
    }
}

/// The fields that say what a call to DynamoDB or its streams is about. Items are passed over.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Dynamodb<'a> {
    #[serde(borrow)]
    table_name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    index_name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    request_items: BTreeMap<Cow<'a, str>, IgnoredAny>,
    #[serde(borrow)]
    transact_items: Vec<BTreeMap<Cow<'a, str>, InTable<'a>>>,
    #[serde(borrow)]
    stream_arn: Option<Cow<'a, str>>,
    #[serde(borrow)]
    shard_iterator: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct InTable<'a> {
    #[serde(borrow)]
    table_name: Cow<'a, str>,
}

fn dynamodb(operation: &str, body: &[u8]) -> serde_json::Result<Vec<Need>> {
    let asked: Dynamodb<'_> = serde_json::from_slice(body)?;
    let action = |name: &str| format!("dynamodb:{name}");
    Ok(match operation {
        // A transaction has no action of its own: it needs those of its parts.
        "TransactWriteItems" | "TransactGetItems" => {
            let parts = asked.transact_items.iter().flatten();
            // `Put` is `PutItem`, `ConditionCheck` is `ConditionCheckItem`.
            let need = |(kind, part): (&Cow<'_, str>, &InTable<'_>)| {
                Need::new(action(&format!("{kind}Item")), table_or_arn(&part.table_name))
            };
            parts.map(need).collect()
        }
        "BatchGetItem" | "BatchWriteItem" => {
            asked.request_items.keys().map(|table| Need::new(action(operation), table_or_arn(table))).collect()
        }
        "ListStreams" => vec![Need::new(action(operation), "*")],
        "DescribeStream" | "GetShardIterator" => {
            vec![Need::new(action(operation), asked.stream_arn.unwrap_or_default())]
        }
        "GetRecords" => {
            let iterator = asked.shard_iterator.unwrap_or_default();
            // AWS's begin with their stream; what another engine's belong to cannot be told.
            let stream = iterator.split_once('|').map(|(stream, _)| stream);
            stream.map(|stream| Need::new(action(operation), stream)).into_iter().collect()
        }
        _ => {
            let table = table_or_arn(&asked.table_name.unwrap_or_default());
            let resource = match asked.index_name {
                Some(index) => format!("{table}/index/{index}"),
                None => table,
            };
            vec![Need::new(action(operation), resource)]
        }
    })
}

/// A table is named, or named by its ARN.
fn table_or_arn(table: &str) -> String {
    if table.starts_with("arn:") { table.to_owned() } else { table_arn(table) }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Sqs<'a> {
    #[serde(borrow)]
    queue_url: Cow<'a, str>,
}

fn sqs(operation: &str, body: &[u8]) -> serde_json::Result<Vec<Need>> {
    let asked: Sqs<'_> = serde_json::from_slice(body)?;
    let queue = asked.queue_url.rsplit('/').next().unwrap_or_default();
    // A batch needs what each of its entries would.
    let action = operation.strip_suffix("Batch").unwrap_or(operation);
    Ok(vec![Need::new(format!("sqs:{action}"), queue_arn(queue))])
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SendEmail {
    from_email_address: String,
    configuration_set_name: Option<String>,
}

fn send_email(body: &[u8]) -> serde_json::Result<Vec<Need>> {
    let asked: SendEmail = serde_json::from_slice(body)?;
    let arn = |kind: &str, name: &str| format!("arn:aws:ses:{REGION}:{ACCOUNT}:{kind}/{name}");
    let from = asked.from_email_address.rsplit('<').next().unwrap_or_default().trim_end_matches('>');
    let domain = from.rsplit('@').next().unwrap_or_default();
    // Which of them is verified, the stand-in does not know: the address, its domain, or one above it.
    let domains = domain.match_indices('.').map(|(dot, _)| &domain[dot + 1..]).filter(|above| above.contains('.'));
    let identities = [from, domain].into_iter().chain(domains);
    let identities = identities.map(|identity| arn("identity", identity)).collect();
    let context = BTreeMap::from([("ses:FromAddress", from.to_owned())]);
    let sender = Need { action: "ses:SendEmail".to_owned(), resources: identities, context: context.clone() };
    let set = asked.configuration_set_name;
    let set = set.map(|set| Need { context, ..Need::new("ses:SendEmail", arn("configuration-set", &set)) });
    Ok(std::iter::once(sender).chain(set).collect())
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Sms {
    origination_identity: String,
}

fn sms(operation: &str, body: &[u8]) -> serde_json::Result<Vec<Need>> {
    let asked: Sms = serde_json::from_slice(body)?;
    Ok(vec![Need::new(format!("sms-voice:{operation}"), asked.origination_identity)])
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SecretsManager {
    secret_id: String,
}

fn secrets(operation: &str, body: &[u8]) -> serde_json::Result<Vec<Need>> {
    let SecretsManager { secret_id } = serde_json::from_slice(body)?;
    let arn = if secret_id.starts_with("arn:") { secret_id } else { Secrets::arn(&secret_id) };
    Ok(vec![Need::new(format!("secretsmanager:{operation}"), arn)])
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
        let asked = Asked::read(header, (method, path), body.as_bytes()).expect("a signature");
        assert_eq!(asked.access_key, "Me");
        asked.needs("LiveApi/live").into_iter().map(|need| (need.action, need.resources)).collect()
    }

    fn one(service: &str, target: &str, body: &Value) -> (String, String) {
        let needs = needs(service, target, ("POST", "/"), body);
        let [(action, resources)] = needs.as_slice() else { panic!("{needs:?}") };
        let [resource] = resources.as_slice() else { panic!("{resources:?}") };
        (action.clone(), resource.clone())
    }

    #[test]
    fn a_transaction_needs_what_its_parts_need_each_once() {
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
    fn a_call_to_dynamodb_names_tables_indexes_and_streams() {
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
    fn a_batch_of_messages_needs_what_one_message_needs() {
        let queue = json!({"QueueUrl": "http://127.0.0.1:9/000000000000/work"});
        let arn = "arn:aws:sqs:us-east-1:000000000000:work".to_owned();
        for (operation, action) in [("SendMessageBatch", "SendMessage"), ("ReceiveMessage", "ReceiveMessage")] {
            let expected = (format!("sqs:{action}"), arn.clone());
            assert_eq!(one("sqs", &format!("AmazonSQS.{operation}"), &queue), expected);
        }
    }

    #[test]
    fn a_mail_needs_its_senders_identity_whichever_of_them_is_verified() {
        let mail = json!({"FromEmailAddress": "Belfry <b@news.example.com>", "ConfigurationSetName": "set"});
        let found = needs("ses", "", ("POST", "/v2/email/outbound-emails"), &mail);
        let arn = |name: &str| format!("arn:aws:ses:us-east-1:000000000000:{name}");
        let identities = ["identity/b@news.example.com", "identity/news.example.com", "identity/example.com"];
        let action = || "ses:SendEmail".to_owned();
        assert_eq!(found, [(action(), vec![arn("configuration-set/set")]), (action(), identities.map(arn).into())]);
    }

    #[test]
    fn a_secret_is_asked_for_by_its_arn_or_by_its_name() {
        let arn = "arn:aws:secretsmanager:us-east-1:000000000000:secret:belfry-payment";
        for id in [arn, "belfry-payment"] {
            let found = one("secretsmanager", "secretsmanager.GetSecretValue", &json!({"SecretId": id}));
            assert_eq!(found, ("secretsmanager:GetSecretValue".to_owned(), arn.to_owned()));
        }
    }

    #[test]
    fn a_push_needs_the_right_to_manage_its_socket() {
        let found = needs("execute-api", "", ("POST", "/@connections/1"), &json!({}));
        let resource = "arn:aws:execute-api:us-east-1:000000000000:LiveApi/live/POST/@connections/1".to_owned();
        assert_eq!(found, [("execute-api:ManageConnections".to_owned(), vec![resource])]);
    }

    #[test]
    fn what_cannot_be_read_needs_everything() {
        assert_eq!(one("sqs", "AmazonSQS.ListQueues", &json!({})), ("sqs:ListQueues".to_owned(), "*".to_owned()));
        assert_eq!(one("s3", "", &json!({})), ("s3:POST /".to_owned(), "*".to_owned()));
    }

    #[test]
    fn who_has_not_signed_is_nobody() {
        assert!(Asked::read(|_| None, ("POST", "/"), b"").is_none());
        assert!(Asked::read(|_| Some("Bearer token"), ("POST", "/"), b"").is_none());
    }
}
