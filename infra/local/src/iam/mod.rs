//! Denies what a function's role does not allow, as AWS does.
//!
//! Every function signs with its own access key, its logical id. Every call is checked against the role of the function
//! that signed it. Calls of the host, of `/local` routes and of tests have other keys and are not checked. If the
//! environment has credentials, everybody signs with those, and nothing is checked.

mod http_client;
mod provider_calls;
mod signed_request;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

pub use provider_calls::authorize_provider_calls;
pub use signed_request::SignedRequest;

use crate::aws::{ACCOUNT, REGION};
use crate::provision::Provisioned;
use crate::template::{self, Reference, Template};
use signed_request::RequiredPermission;

/// The roles of all functions, which permissions they have used, and what they were denied.
#[derive(Debug, Clone)]
pub struct IamGate {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// By access key.
    roles: BTreeMap<String, Role>,
    /// The WebSocket API's id and stage, as in its ARNs.
    websocket_api: String,
    denied: Mutex<BTreeSet<AccessDenied>>,
}

#[derive(Debug)]
struct Role {
    name: String,
    permissions: Vec<Permission>,
}

#[derive(Debug)]
struct Permission {
    action: String,
    resource: String,
    /// The allowed values of each condition key.
    conditions: BTreeMap<String, Vec<String>>,
    used: AtomicBool,
}

/// A call that the function's role does not allow.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AccessDenied {
    function: String,
    role: String,
    action: String,
    resource: String,
}

/// A role refers to a resource that does not exist locally.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{role} allows {action} on {reference}, which does not exist locally")]
pub struct UnresolvedPermission {
    role: String,
    action: String,
    reference: Reference,
}

impl IamGate {
    /// Reads the roles of the template's functions.
    pub(crate) fn new(template: &Template, provisioned: &Provisioned) -> Result<Self, UnresolvedPermission> {
        let websocket_api = template.websocket_api.as_ref();
        let known = |reference: &Reference| match reference {
            // Built from the name: requests name neither region nor account, and engines have their own.
            Reference::TableArn(id) => Some(table_arn(&template.table(id)?.name)),
            Reference::QueueArn(id) => Some(queue_arn(&template.queue(id)?.name)),
            Reference::Other { resource, attribute: None } => match websocket_api {
                Some(api) if api.logical_id == *resource => Some(api.logical_id.clone()),
                Some(api) if api.stage_id == *resource => Some(api.stage.clone()),
                _ => provisioned.locate(reference),
            },
            created => provisioned.locate(created),
        };
        let mut roles = BTreeMap::new();
        for function in &template.functions {
            let mut role = Role { name: String::new(), permissions: Vec::new() };
            if let Some(declared) = template.role(function) {
                role.name.clone_from(&declared.logical_id);
                for permission in &declared.permissions {
                    let resolve = |value: &template::Value| {
                        value.resolve(known).map_err(|reference| UnresolvedPermission {
                            role: declared.logical_id.clone(),
                            action: permission.action.clone(),
                            reference: reference.clone(),
                        })
                    };
                    let mut conditions = BTreeMap::new();
                    for (key, values) in &permission.conditions {
                        conditions.insert(key.clone(), values.iter().map(resolve).collect::<Result<_, _>>()?);
                    }
                    let (action, resource) = (permission.action.clone(), resolve(&permission.resource)?);
                    role.permissions.push(Permission { action, resource, conditions, used: AtomicBool::new(false) });
                }
            }
            roles.insert(function.logical_id.clone(), role);
        }
        let websocket_api = websocket_api.map(|api| format!("{}/{}", api.logical_id, api.stage)).unwrap_or_default();
        Ok(Self { shared: Arc::new(Shared { roles, websocket_api, denied: Mutex::default() }) })
    }

    /// Checks a call. Unsigned calls and calls of other signers are allowed.
    pub(crate) fn authorize(&self, request: Option<&SignedRequest<'_>>) -> Result<(), AccessDenied> {
        let Some(request) = request else { return Ok(()) };
        let Some((function, role)) = self.shared.roles.get_key_value(request.access_key) else { return Ok(()) };
        for needed in request.required_permissions(&self.shared.websocket_api) {
            if !role.allows(&needed) {
                let denied = AccessDenied {
                    function: function.clone(),
                    role: role.name.clone(),
                    resource: needed.resources.into_iter().next().unwrap_or_default(),
                    action: needed.action,
                };
                tracing::error!(function, action = denied.action, resource = denied.resource, "access denied by role");
                self.denied().insert(denied.clone());
                return Err(denied);
            }
        }
        Ok(())
    }

    /// The denied calls, in AWS's words.
    pub fn denials(&self) -> Vec<String> {
        self.denied().iter().map(AccessDenied::message).collect()
    }

    /// For `GET /local/rights`: each function's permissions, whether it has used them, and what it was denied.
    pub(crate) fn report(&self) -> Value {
        let denied = self.denied();
        let functions = self.shared.roles.iter().map(|(function, role)| {
            let granted = role.permissions.iter().map(|permission| {
                let used = permission.used.load(Ordering::Relaxed);
                json!({"action": permission.action, "resource": permission.resource, "used": used})
            });
            let denied = denied.iter().filter(|denied| denied.function == *function);
            let denied = denied.map(|denied| json!({"action": denied.action, "resource": denied.resource}));
            json!({
                "function": function,
                "role": role.name,
                "granted": granted.collect::<Vec<_>>(),
                "denied": denied.collect::<Vec<_>>(),
            })
        });
        json!({"functions": functions.collect::<Vec<_>>()})
    }

    fn denied(&self) -> MutexGuard<'_, BTreeSet<AccessDenied>> {
        self.shared.denied.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Role {
    fn allows(&self, needed: &RequiredPermission) -> bool {
        let mut allowed = false;
        // All matching permissions count as used, not only the first.
        for permission in self.permissions.iter().filter(|permission| permission.action == needed.action) {
            let is_met = |(key, values): (&String, &Vec<String>)| {
                // A call without the key meets no condition on it.
                needed.context.get(key.as_str()).is_some_and(|value| values.contains(value))
            };
            let is_named = needed.resources.iter().any(|resource| matches(&permission.resource, resource));
            if is_named && permission.conditions.iter().all(is_met) {
                permission.used.store(true, Ordering::Relaxed);
                allowed = true;
            }
        }
        allowed
    }
}

impl AccessDenied {
    const NAME: &str = "AccessDeniedException";

    /// AWS's text.
    fn message(&self) -> String {
        let Self { function, role, action, resource } = self;
        format!(
            "User: arn:aws:sts::{ACCOUNT}:assumed-role/{role}/{function} is not authorized to perform: {action} on \
             resource: {resource} because no identity-based policy allows the {action} action"
        )
    }

    /// Services with one path for all operations answer 400 to every error, the others 403.
    fn status(&self) -> u16 {
        let of_service = |service: &str| self.action.split(':').next() == Some(service);
        if ["dynamodb", "secretsmanager", "sms-voice", "sqs"].into_iter().any(of_service) { 400 } else { 403 }
    }

    /// The body in AWS's JSON protocols.
    fn json(&self) -> String {
        let kind = format!("com.amazon.coral.service#{}", Self::NAME);
        json!({"__type": kind, "message": self.message()}).to_string()
    }
}

fn table_arn(name: &str) -> String {
    format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{name}")
}

fn queue_arn(name: &str) -> String {
    format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{name}")
}

/// Whether a policy's pattern matches a resource. `*` stands for any text.
fn matches(pattern: &str, resource: &str) -> bool {
    let Some((before, mut pattern)) = pattern.split_once('*') else { return pattern == resource };
    let Some(mut rest) = resource.strip_prefix(before) else { return false };
    while let Some((middle, after)) = pattern.split_once('*') {
        let Some((_, found)) = rest.split_once(middle) else { return false };
        (pattern, rest) = (after, found);
    }
    rest.ends_with(pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: &str = r#"
Resources:
  Mail:
    Type: AWS::Serverless::Function
    Metadata: { BuildProperties: { Binary: mail } }
    Properties: { Role: !GetAtt MailRole.Arn }
  Work:
    Type: AWS::Serverless::Function
    Metadata: { BuildProperties: { Binary: work } }
    Properties: { Role: !GetAtt WorkRole.Arn }
  Orders:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: orders
      AttributeDefinitions: [{ AttributeName: id, AttributeType: S }]
      KeySchema: [{ AttributeName: id, KeyType: HASH }]
  WorkRole:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument: &lambda
        Version: "2012-10-17"
        Statement: [{ Effect: Allow, Principal: { Service: lambda.amazonaws.com }, Action: sts:AssumeRole }]
      Policies:
        - PolicyName: work
          PolicyDocument:
            Version: "2012-10-17"
            Statement: [{ Effect: Allow, Action: dynamodb:GetItem, Resource: !GetAtt Orders.Arn }]
  MailRole:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument: *lambda
      Policies:
        - PolicyName: mail
          PolicyDocument:
            Version: "2012-10-17"
            Statement:
              - Effect: Allow
                Action: ses:SendEmail
                Resource: "arn:aws:ses:us-east-1:000000000000:*"
                Condition: { StringEquals: { ses:FromAddress: [b@example.com, c@example.com] } }
              - Effect: Allow
                Action: sqs:SendMessage
                Resource: "*"
                Condition: { StringEquals: { aws:SourceAccount: "000000000000" } }
"#;

    /// The gate of a function `Mail` and a function `Work`.
    pub fn gate() -> IamGate {
        let template = Template::parse(TEMPLATE, &Default::default()).expect("a template");
        IamGate::new(&template, &Provisioned::default()).expect("its permissions")
    }

    #[test]
    fn email_is_allowed_only_from_the_senders_in_the_condition() {
        let iam = gate();
        let authorize = |service: &str, target: &str, path: &str, body: &Value| {
            let signed = format!("AWS4-HMAC-SHA256 Credential=Mail/20260101/us-east-1/{service}/aws4_request");
            let header = |name: &str| Some(if name == "authorization" { signed.as_str() } else { target });
            let body = body.to_string();
            let request = SignedRequest::read(header, "POST", path, body.as_bytes()).expect("a signature");
            iam.authorize(Some(&request)).map_err(|denied| denied.action)
        };
        let mail = |from: &str| {
            let mail = json!({"FromEmailAddress": from, "ConfigurationSetName": "set"});
            authorize("ses", "", "/v2/email/outbound-emails", &mail)
        };
        assert_eq!(mail("Belfry <b@example.com>"), Ok(()));
        assert_eq!(mail("c@example.com"), Ok(()));
        assert_eq!(mail("d@example.com"), Err("ses:SendEmail".to_owned()));
        // The host does not know this condition key, so the condition is not met.
        let message = json!({"QueueUrl": "http://127.0.0.1:9/000000000000/work"});
        assert_eq!(authorize("sqs", "AmazonSQS.SendMessage", "/", &message), Err("sqs:SendMessage".to_owned()));
    }

    #[test]
    fn star_in_a_pattern_stands_for_any_text() {
        for (pattern, resource, is_named) in [
            ("arn:a", "arn:a", true),
            ("arn:a", "arn:ab", false),
            ("*", "", true),
            ("arn:*", "arn:a/b:c", true),
            ("arn:*/POST/*", "arn:api/live/POST/@connections/1", true),
            ("arn:*/POST/*", "arn:api/live/GET/@connections/1", false),
            ("arn:*b", "arn:ab", true),
            ("arn:*b", "arn:abc", false),
            ("arn:a*a", "arn:a", false),
        ] {
            assert_eq!(matches(pattern, resource), is_named, "{pattern} {resource}");
        }
    }
}
