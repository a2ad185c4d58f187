//! The rights of the functions: what a function's role does not allow is denied here as AWS denies it.
//!
//! Every function signs with an access key of its own, its logical id, and every call is judged by the key that signed
//! it, against the roles of the template. The host, its `/local` routes and tests sign with other keys, and are not
//! judged. Neither is anybody where the environment has credentials: then they are everybody's.

mod asked;
mod client;
mod stand_ins;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

pub use asked::Asked;
pub use stand_ins::judge_stand_ins;

use crate::aws::{ACCOUNT, REGION};
use crate::provision::Provisioned;
use crate::template::{self, Reference, Template};
use asked::Need;

/// Who may do what, and what of it was done.
#[derive(Debug, Clone)]
pub struct Door {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// By access key.
    roles: BTreeMap<String, Role>,
    /// The live sockets' API and its stage, as their ARNs name them.
    sockets: String,
    denied: Mutex<BTreeSet<Denied>>,
}

#[derive(Debug)]
struct Role {
    name: String,
    rights: Vec<Right>,
}

#[derive(Debug)]
struct Right {
    action: String,
    resource: String,
    /// By key, the values of which one must be the call's.
    conditions: BTreeMap<String, Vec<String>>,
    used: AtomicBool,
}

/// A call that its function's role does not allow.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Denied {
    function: String,
    role: String,
    action: String,
    resource: String,
}

/// A role refers to something that does not exist here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{role}: {action} is allowed on {reference}, which is not known here")]
pub struct UnresolvedRight {
    role: String,
    action: String,
    reference: Reference,
}

impl Door {
    /// The rights that the template gives each function, on what was provisioned.
    pub(crate) fn new(template: &Template, provisioned: &Provisioned) -> Result<Self, UnresolvedRight> {
        let sockets = template.sockets.as_ref();
        let known = |reference: &Reference| match reference {
            // By name: requests name neither region nor account, and engines have words of their own for them.
            Reference::TableArn(id) => Some(table_arn(&template.table(id)?.name)),
            Reference::QueueArn(id) => Some(queue_arn(&template.queue(id)?.name)),
            Reference::Other { resource, attribute: None } => match sockets {
                Some(api) if api.logical_id == *resource => Some(api.logical_id.clone()),
                Some(api) if api.stage_id == *resource => Some(api.stage.clone()),
                _ => provisioned.locate(reference),
            },
            created => provisioned.locate(created),
        };
        let mut roles = BTreeMap::new();
        for function in &template.functions {
            let mut role = Role { name: String::new(), rights: Vec::new() };
            if let Some(declared) = template.role(function) {
                role.name.clone_from(&declared.logical_id);
                for right in &declared.rights {
                    let resolve = |value: &template::Value| {
                        value.resolve(known).map_err(|reference| UnresolvedRight {
                            role: declared.logical_id.clone(),
                            action: right.action.clone(),
                            reference: reference.clone(),
                        })
                    };
                    let mut conditions = BTreeMap::new();
                    for (key, values) in &right.conditions {
                        conditions.insert(key.clone(), values.iter().map(resolve).collect::<Result<_, _>>()?);
                    }
                    let (action, resource) = (right.action.clone(), resolve(&right.resource)?);
                    role.rights.push(Right { action, resource, conditions, used: AtomicBool::new(false) });
                }
            }
            roles.insert(function.logical_id.clone(), role);
        }
        let sockets = sockets.map(|api| format!("{}/{}", api.logical_id, api.stage)).unwrap_or_default();
        Ok(Self { shared: Arc::new(Shared { roles, sockets, denied: Mutex::default() }) })
    }

    /// Lets a call pass that its function's role allows, and whatever no function has signed.
    pub(crate) fn judge(&self, asked: &Asked<'_>) -> Result<(), Denied> {
        let Some((function, role)) = self.shared.roles.get_key_value(asked.access_key) else { return Ok(()) };
        for need in asked.needs(&self.shared.sockets) {
            if !role.allows(&need) {
                let denied = Denied {
                    function: function.clone(),
                    role: role.name.clone(),
                    resource: need.resources.into_iter().next().unwrap_or_default(),
                    action: need.action,
                };
                tracing::error!(function, action = denied.action, resource = denied.resource, "access denied");
                self.denied().insert(denied.clone());
                return Err(denied);
            }
        }
        Ok(())
    }

    /// What was denied so far, in AWS's words.
    pub fn denials(&self) -> Vec<String> {
        self.denied().iter().map(Denied::message).collect()
    }

    /// For `GET /local/rights`: of every function what it may do, whether it has, and what it was denied.
    pub(crate) fn report(&self) -> Value {
        let denied = self.denied();
        let functions = self.shared.roles.iter().map(|(function, role)| {
            let granted = role.rights.iter().map(|right| {
                let used = right.used.load(Ordering::Relaxed);
                json!({"action": right.action, "resource": right.resource, "used": used})
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

    fn denied(&self) -> std::sync::MutexGuard<'_, BTreeSet<Denied>> {
        self.shared.denied.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Role {
    fn allows(&self, need: &Need) -> bool {
        let mut allowed = false;
        // All that match, not the first alone: a right that another one covers is used as much as that.
        for right in self.rights.iter().filter(|right| right.action == need.action) {
            let is_met = |(key, values): (&String, &Vec<String>)| {
                // A call without the key meets no condition on it.
                need.context.get(key.as_str()).is_some_and(|value| values.contains(value))
            };
            let named = need.resources.iter().any(|resource| matches(&right.resource, resource));
            if named && right.conditions.iter().all(is_met) {
                right.used.store(true, Ordering::Relaxed);
                allowed = true;
            }
        }
        allowed
    }
}

impl Denied {
    /// The name of the error.
    const NAME: &str = "AccessDeniedException";

    /// As AWS says it.
    fn message(&self) -> String {
        let Self { function, role, action, resource } = self;
        format!(
            "User: arn:aws:sts::{ACCOUNT}:assumed-role/{role}/{function} is not authorized to perform: {action} on \
             resource: {resource} because no identity-based policy allows the {action} action"
        )
    }

    /// Services that have one path for all operations answer 400 to everything that is wrong, the others 403.
    fn status(&self) -> u16 {
        let of_service = |service: &str| self.action.split(':').next() == Some(service);
        if ["dynamodb", "secretsmanager", "sms-voice", "sqs"].into_iter().any(of_service) { 400 } else { 403 }
    }

    /// AWS's answer in its JSON protocols.
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

/// Whether a resource is one of those that a policy names; `*` stands for any text.
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
  MailRole:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument:
        Version: "2012-10-17"
        Statement: [{ Effect: Allow, Principal: { Service: lambda.amazonaws.com }, Action: sts:AssumeRole }]
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

    #[test]
    fn a_mail_is_allowed_only_from_the_senders_that_the_right_names() {
        let template = Template::parse(TEMPLATE, &Default::default()).expect("a template");
        let door = Door::new(&template, &Provisioned::default()).expect("its rights");
        let judge = |service: &str, target: &str, path: &str, body: &Value| {
            let signed = format!("AWS4-HMAC-SHA256 Credential=Mail/20260101/us-east-1/{service}/aws4_request");
            let header = |name: &str| Some(if name == "authorization" { signed.as_str() } else { target });
            let body = body.to_string();
            let asked = Asked::read(header, ("POST", path), body.as_bytes()).expect("a signature");
            door.judge(&asked).map_err(|denied| denied.action)
        };
        let mail = |from: &str| {
            let mail = json!({"FromEmailAddress": from, "ConfigurationSetName": "set"});
            judge("ses", "", "/v2/email/outbound-emails", &mail)
        };
        assert_eq!(mail("Belfry <b@example.com>"), Ok(()));
        assert_eq!(mail("c@example.com"), Ok(()));
        assert_eq!(mail("d@example.com"), Err("ses:SendEmail".to_owned()));
        // The host does not know the key, so nothing meets the condition.
        let message = json!({"QueueUrl": "http://127.0.0.1:9/000000000000/work"});
        assert_eq!(judge("sqs", "AmazonSQS.SendMessage", "/", &message), Err("sqs:SendMessage".to_owned()));
    }

    #[test]
    fn a_pattern_names_what_its_stars_stand_for() {
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
