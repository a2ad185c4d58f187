//! `AWS::IAM::Role` of a function: its permissions.
//!
//! Policies are read strictly: a statement must allow, name each action in full, and name resources. Managed policies
//! and exceptions such as `NotAction` are refused, because nothing here would enforce them.

use super::Resource;
use super::error::TemplateError;
use super::typed::{OneOrMany, Text, only, properties};
use super::value::Value;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    pub logical_id: String,
    /// Everything else is denied.
    pub permissions: Vec<Permission>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permission {
    /// For example `dynamodb:PutItem`.
    pub action: String,
    /// An ARN in which `*` stands for any text.
    pub resource: Value,
    /// The allowed values of each condition key (`StringEquals`).
    pub conditions: BTreeMap<String, Vec<Value>>,
}

properties! {
    struct Properties {
        assume_role_policy_document: Document<Trust>,
        policies: Vec<Policy>,
    }
    ignored { Description MaxSessionDuration Path RoleName Tags }

    /// Only Lambda may assume the role.
    struct Trust { effect: Allow, action: AssumeRole, principal: Principal }

    struct Principal { service: Lambda }

    struct Policy { policy_document: Document<Statement>, policy_name: Text }

    struct Statement {
        action: OneOrMany<Action>,
        resource: OneOrMany<Value>,
        condition: Option<Condition>,
        effect: Allow,
    }
    ignored { Sid }

    struct Condition { string_equals: BTreeMap<String, OneOrMany<Value>> }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Document<T> {
    statement: Vec<T>,
    _version: Version,
}

only! {
    Version = "2012-10-17", Allow = "Allow", AssumeRole = "sts:AssumeRole", Lambda = "lambda.amazonaws.com"
}

#[derive(Deserialize)]
#[serde(try_from = "Text")]
struct Action(String);

impl TryFrom<Text> for Action {
    type Error = String;

    fn try_from(Text(action): Text) -> Result<Self, String> {
        let named = |part: &str| !part.is_empty() && !part.contains(['*', '?']);
        match action.split_once(':') {
            Some((service, name)) if named(service) && named(name) => Ok(Self(action)),
            _ => Err(format!("must name one action in full (got {action:?})")),
        }
    }
}

impl Role {
    pub(super) fn read(resource: &Resource) -> Result<Self, TemplateError> {
        let properties: Properties = resource.typed()?;
        let mut permissions = Vec::new();
        for statement in properties.policies.into_iter().flat_map(|policy| policy.policy_document.statement) {
            let conditions = statement.condition.into_iter().flat_map(|condition| condition.string_equals);
            let conditions: BTreeMap<_, _> = conditions.map(|(key, values)| (key, values.0)).collect();
            for Action(action) in statement.action.0 {
                permissions.extend(statement.resource.0.iter().map(|resource| Permission {
                    action: action.clone(),
                    resource: resource.clone(),
                    conditions: conditions.clone(),
                }));
            }
        }
        Ok(Self { logical_id: resource.logical_id.clone(), permissions })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::Template;
    use crate::template::deployed::roles::granted;

    const SMALL: &str = r#"
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
            Statement:
              - { Effect: Allow, Action: [sqs:SendMessage, sqs:ReceiveMessage], Resource: [!GetAtt Queue.Arn, "arn:*"] }
              - { Effect: Allow, Action: xray:PutTraceSegments, Resource: "*" }
  Queue: { Type: AWS::SQS::Queue, Properties: { QueueName: work } }
  OtherRole: { Type: AWS::IAM::Role, Properties: { ManagedPolicyArns: [arn:of-nobody-here] } }
"#;

    fn parse(yaml: &str) -> Result<Template, TemplateError> {
        Template::parse(yaml, &crate::template::deployed::pseudo_parameters(&[]))
    }

    #[test]
    fn a_role_allows_each_action_on_each_resource_of_a_statement() {
        let template = parse(SMALL).expect("a template");
        let expected = [
            ("sqs:ReceiveMessage", "${Queue.Arn}"),
            ("sqs:ReceiveMessage", "arn:*"),
            ("sqs:SendMessage", "${Queue.Arn}"),
            ("sqs:SendMessage", "arn:*"),
            ("xray:PutTraceSegments", "*"),
        ];
        let expected = expected.map(|(action, resource)| (action.to_owned(), resource.to_owned()));
        assert_eq!(granted(&template, &template.functions[0]), expected.into());
        assert_eq!(template.roles.len(), 1, "the other one is no function's");
    }

    #[test]
    fn a_right_keeps_the_condition_of_its_statement() {
        let condition =
            "Resource: \"*\", Condition: { StringEquals: { ses:FromAddress: [a@example.com, !Ref Queue] } }";
        let template = parse(&SMALL.replacen("Resource: \"*\"", condition, 1)).expect("a template");
        let right = template.roles[0].permissions.last().expect("a right");
        let values: Vec<_> = right.conditions["ses:FromAddress"].iter().map(ToString::to_string).collect();
        assert_eq!(values, ["a@example.com", "${Queue}"]);
        assert!(template.roles[0].permissions[0].conditions.is_empty());
    }

    #[test]
    fn what_would_be_a_right_that_nobody_checks_is_refused() {
        for (piece, replacement, problem) in [
            (
                "  Queue:",
                "  More: { Type: AWS::IAM::Policy }\n  Queue:",
                "Resources.More.Type: AWS::IAM::Policy is not supported here",
            ),
            (
                "Role: !GetAtt WorkRole.Arn",
                "Policies: [AWSLambdaBasicExecutionRole]",
                "Resources.Work.Properties.Policies: unknown field `Policies`, …",
            ),
            (
                "!GetAtt WorkRole.Arn",
                "arn:aws:iam::1:role/admin",
                "Resources.Work.Properties.Role: must be the Arn of a role of this template (got \"arn:aws:iam::1:role/admin\")",
            ),
            (
                "!GetAtt WorkRole.Arn",
                "!GetAtt WebAcl.Arn",
                "Resources.Work.Properties.Role: refers to WebAcl, which is neither a parameter nor a resource of this template",
            ),
            (
                "      Policies:",
                "      ManagedPolicyArns: [arn:x]\n      Policies:",
                "Resources.WorkRole.Properties.ManagedPolicyArns: unknown field `ManagedPolicyArns`, …",
            ),
            (
                "lambda.amazonaws.com",
                "ec2.amazonaws.com",
                "Resources.WorkRole.Properties.AssumeRolePolicyDocument.Statement[0].Principal.Service: unknown variant `ec2.amazonaws.com`, expected `lambda.amazonaws.com`",
            ),
            (
                "xray:PutTraceSegments",
                "xray:*",
                "Resources.WorkRole.Properties.Policies[0].PolicyDocument.Statement[1].Action: must name one action in full (got \"xray:*\")",
            ),
            (
                "Resource: \"*\"",
                "Resource: \"*\", Condition: { Bool: { aws:SecureTransport: \"true\" } }",
                "Resources.WorkRole.Properties.Policies[0].PolicyDocument.Statement[1].Condition.Bool: unknown field `Bool`, …",
            ),
            (
                "Action: xray",
                "NotAction: xray",
                "Resources.WorkRole.Properties.Policies[0].PolicyDocument.Statement[1].NotAction: unknown field `NotAction`, …",
            ),
            (
                "- { Effect: Allow, Action: xray",
                "- { Effect: Deny, Action: xray",
                "Resources.WorkRole.Properties.Policies[0].PolicyDocument.Statement[1].Effect: unknown variant `Deny`, expected `Allow`",
            ),
        ] {
            assert!(SMALL.contains(piece), "{piece}");
            let spoilt = parse(&SMALL.replacen(piece, replacement, 1)).expect_err("a mistake");
            match problem.strip_suffix('…') {
                Some(begin) => assert!(spoilt.to_string().starts_with(begin), "{spoilt}"),
                None => assert_eq!(spoilt.to_string(), problem),
            }
        }
    }
}
