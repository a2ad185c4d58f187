//! `AWS::IAM::Role` of a function: which action it may do to which resource.
//!
//! Read strictly, since what is not understood here would be a right that nobody checks: statements allow, name each
//! action, and name resources; managed policies, conditions and exceptions (`NotAction`, …) are refused.

use super::error::TemplateError;
use super::node::Node;
use super::value::{Reference, Value};
use super::{Problem, unconditional};

/// The role of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    /// The name within the template.
    pub logical_id: String,
    /// What it allows; everything else is denied.
    pub rights: Vec<Right>,
}

/// One action on one resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Right {
    /// As `dynamodb:PutItem`.
    pub action: String,
    /// An ARN, in which `*` stands for anything.
    pub resource: Value,
}

const READ: [&str; 2] = ["AssumeRolePolicyDocument", "Policies"];
const SKIPPED: [&str; 5] = ["Description", "MaxSessionDuration", "Path", "RoleName", "Tags"];

impl Role {
    pub(super) fn read(logical_id: &str, resource: &Node<'_>) -> Result<Self, TemplateError> {
        let properties = unconditional(resource)?.need("Properties")?;
        properties.only(&[READ.as_slice(), &SKIPPED].concat())?;
        for statement in statements(&properties.need("AssumeRolePolicyDocument")?)? {
            statement.only(&["Action", "Effect", "Principal"])?;
            statement.need("Effect")?.choice(&[("Allow", ())])?;
            statement.need("Action")?.choice(&[("sts:AssumeRole", ())])?;
            let principal = statement.need("Principal")?;
            principal.only(&["Service"])?;
            principal.need("Service")?.choice(&[("lambda.amazonaws.com", ())])?;
        }
        let mut rights = Vec::new();
        for policy in properties.need("Policies")?.items()? {
            policy.only(&["PolicyDocument", "PolicyName"])?;
            for statement in statements(&policy.need("PolicyDocument")?)? {
                rights.extend(read_statement(&statement)?);
            }
        }
        Ok(Self { logical_id: logical_id.to_owned(), rights })
    }

    /// The role that a function names.
    pub(super) fn named(entry: &Node<'_>) -> Result<String, TemplateError> {
        match entry.value()?.sole_reference() {
            Some(Reference::Other { resource, attribute: Some(attribute) }) if attribute == "Arn" => {
                Ok(resource.clone())
            }
            _ => Err(entry.unexpected("the Arn of a role of this template")),
        }
    }
}

fn statements<'a>(document: &Node<'a>) -> Result<Vec<Node<'a>>, TemplateError> {
    document.only(&["Statement", "Version"])?;
    document.need("Version")?.choice(&[("2012-10-17", ())])?;
    document.need("Statement")?.items()
}

/// Every action of a statement on every one of its resources.
fn read_statement(statement: &Node<'_>) -> Result<Vec<Right>, TemplateError> {
    statement.only(&["Action", "Effect", "Resource", "Sid"])?;
    statement.need("Effect")?.choice(&[("Allow", ())])?;
    let resources = statement.need("Resource")?.one_or_many()?;
    let resources = resources.iter().map(Node::value).collect::<Result<Vec<_>, _>>()?;
    let mut rights = Vec::new();
    for entry in statement.need("Action")?.one_or_many()? {
        let action = entry.text()?;
        let named = |part: &str| !part.is_empty() && !part.contains(['*', '?']);
        if !action.split_once(':').is_some_and(|(service, name)| named(service) && named(name)) {
            let expected = "one action, named in full".to_owned();
            return Err(entry.error(Problem::Unexpected { expected, found: format!("{action:?}") }));
        }
        rights.extend(resources.iter().map(|resource| Right { action: action.clone(), resource: resource.clone() }));
    }
    Ok(rights)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::template::{Function, Template};

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

    fn parse(yaml: &str, more: &[(&str, &str)]) -> Result<Template, TemplateError> {
        let pseudo = [
            ("AWS::Partition", "aws"),
            ("AWS::StackName", "stack"),
            ("AWS::Region", "eu-west-1"),
            ("AWS::AccountId", "000000000000"),
        ];
        let given = pseudo.iter().chain(more).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Template::parse(yaml, &given.collect::<BTreeMap<_, _>>())
    }

    fn granted(template: &Template, function: &Function) -> BTreeSet<(String, String)> {
        let role = template.role(function).unwrap_or_else(|| panic!("{} has no role", function.logical_id));
        role.rights.iter().map(|right| (right.action.clone(), right.resource.to_string())).collect()
    }

    #[test]
    fn a_role_allows_each_action_on_each_resource_of_a_statement() {
        let template = parse(SMALL, &[]).expect("a template");
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
    fn what_would_be_a_right_that_nobody_checks_is_refused() {
        for (piece, replacement, problem) in [
            (
                "  Queue:",
                "  More: { Type: AWS::IAM::Policy }\n  Queue:",
                "Resources.More.Type: is not supported by the local host",
            ),
            (
                "Role: !GetAtt WorkRole.Arn",
                "Policies: [AWSLambdaBasicExecutionRole]",
                "Resources.Work.Properties.Policies: unknown property",
            ),
            (
                "!GetAtt WorkRole.Arn",
                "arn:aws:iam::1:role/admin",
                "Resources.Work.Properties.Role: expected the Arn of a role of this template, found \"arn:aws:iam::1:role/admin\"",
            ),
            (
                "!GetAtt WorkRole.Arn",
                "!GetAtt WebAcl.Arn",
                "Resources.Work.Properties.Role: refers to WebAcl, which is neither a parameter nor a resource of this template",
            ),
            (
                "      Policies:",
                "      ManagedPolicyArns: [arn:x]\n      Policies:",
                "Resources.WorkRole.Properties.ManagedPolicyArns: unknown property",
            ),
            (
                "lambda.amazonaws.com",
                "ec2.amazonaws.com",
                "Resources.WorkRole.Properties.AssumeRolePolicyDocument.Statement[0].Principal.Service: expected lambda.amazonaws.com, found \"ec2.amazonaws.com\"",
            ),
            (
                "xray:PutTraceSegments",
                "xray:*",
                "Resources.WorkRole.Properties.Policies[0].PolicyDocument.Statement[1].Action: expected one action, named in full, found \"xray:*\"",
            ),
            (
                "Action: xray",
                "NotAction: xray",
                "Resources.WorkRole.Properties.Policies[0].PolicyDocument.Statement[1].NotAction: unknown property",
            ),
            (
                "- { Effect: Allow, Action: xray",
                "- { Effect: Deny, Action: xray",
                "Resources.WorkRole.Properties.Policies[0].PolicyDocument.Statement[1].Effect: expected Allow, found \"Deny\"",
            ),
        ] {
            assert!(SMALL.contains(piece), "{piece}");
            let spoilt = parse(&SMALL.replacen(piece, replacement, 1), &[]).expect_err("a mistake");
            assert_eq!(spoilt.to_string(), problem);
        }
    }

    /// What AWS does in a function's name and the local host does not, or not all of it.
    const PLATFORM: [&str; 11] = [
        "dynamodb:DescribeStream",
        "dynamodb:GetRecords",
        "dynamodb:GetShardIterator",
        "dynamodb:ListStreams",
        "logs:CreateLogStream",
        "logs:PutLogEvents",
        "sqs:DeleteMessage",
        "sqs:GetQueueAttributes",
        "sqs:ReceiveMessage",
        "xray:PutTelemetryRecords",
        "xray:PutTraceSegments",
    ];

    /// What the mappings of a function, its log group and its traces need.
    fn needed(function: &Function) -> BTreeSet<(String, String)> {
        let name = function.logical_id.strip_suffix("Function").expect("a function");
        let words =
            name.chars().flat_map(|c| c.is_uppercase().then_some('-').into_iter().chain([c.to_ascii_lowercase()]));
        let log =
            format!("arn:aws:logs:eu-west-1:000000000000:log-group:/aws/lambda/stack{}:*", words.collect::<String>());
        let mut needed = vec![
            ("logs:CreateLogStream", log.clone()),
            ("logs:PutLogEvents", log),
            ("xray:PutTelemetryRecords", "*".to_owned()),
            ("xray:PutTraceSegments", "*".to_owned()),
        ];
        for mapping in &function.queues {
            let queue = format!("${{{}.Arn}}", mapping.queue);
            let actions = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"];
            needed.extend(actions.map(|action| (action, queue.clone())));
        }
        for mapping in &function.streams {
            let stream = format!("${{{}.StreamArn}}", mapping.table);
            let actions = ["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"];
            needed.extend(actions.map(|action| (action, stream.clone())));
            needed.push(("dynamodb:ListStreams", "*".to_owned()));
        }
        needed.into_iter().map(|(action, resource)| (action.to_owned(), resource)).collect()
    }

    #[test]
    fn the_platform_may_do_in_a_functions_name_what_its_mappings_need_and_nothing_else() {
        let template = parse(include_str!("../../../template.yaml"), &crate::outside::PARAMETERS).expect("a template");
        let roles: BTreeSet<_> = template.functions.iter().map(|function| &function.role).collect();
        assert_eq!(roles.len(), template.functions.len(), "each function has a role of its own");
        for function in &template.functions {
            let granted = granted(&template, function);
            let (platform, own): (BTreeSet<_>, BTreeSet<_>) =
                granted.into_iter().partition(|(action, _)| PLATFORM.contains(&action.as_str()));
            assert_eq!(platform, needed(function), "{}", function.logical_id);
            for mapping in &function.streams {
                let failures = mapping.on_failure.as_ref().expect("a queue for what is given up");
                let reported = ("sqs:SendMessage".to_owned(), format!("${{{failures}.Arn}}"));
                assert!(own.contains(&reported), "{reported:?}");
            }
            for (action, resource) in own.iter().filter(|(_, resource)| resource.contains('*')) {
                assert_eq!(action, "execute-api:ManageConnections", "{resource}");
                assert!(resource.ends_with("/POST/@connections/*"), "{resource}");
            }
        }
    }
}
