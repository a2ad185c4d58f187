//! Loops, mappings, conditions and functions, each in the smallest template that has it.

use super::resolve;
use crate::template::Value;
use std::collections::BTreeMap;
use yaml_serde::{Mapping, Value as Yaml};

/// The resolved sections of a template with a parameter `Stage`, or the message.
fn resolved(template: &str, stage: &str) -> Result<Mapping, String> {
    let given =
        [("AWS::StackName", "stack"), ("Stage", stage)].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let parameters =
        "Parameters: { Stage: { Type: String }, Names: { Type: CommaDelimitedList, Default: 'a1, b2' } }\n";
    resolve(&format!("{parameters}{template}"), &given.into()).map_err(|error| error.to_string())
}

/// The same as plain YAML, references in braces.
fn plain(yaml: &Yaml) -> Yaml {
    match yaml {
        Yaml::Sequence(items) => items.iter().map(plain).collect(),
        Yaml::Mapping(entries) => {
            entries.iter().map(|(key, entry)| (key.clone(), plain(entry))).collect::<Mapping>().into()
        }
        Yaml::Tagged(_) => Value::read(yaml).expect("a text").to_string().into(),
        scalar => scalar.clone(),
    }
}

/// Checks that a section is resolved to what the YAML says.
fn becomes(template: &str, stage: &str, section: &str, expected: &str) {
    let sections = resolved(template, stage).unwrap_or_else(|problem| panic!("{problem}\n{template}"));
    let expected: Yaml = yaml_serde::from_str(expected).expect("yaml");
    assert_eq!(plain(&sections[section]), expected, "{template}");
}

#[test]
fn a_loop_makes_its_resources_for_every_item() {
    let template = r#"
Resources:
  Fn::ForEach::Queues:
    - Queue
    - [Mail, Text]
    - "${Queue}Queue":
        Type: AWS::SQS::Queue
        Properties: { QueueName: !Ref Queue, Of: "of ${Queue}", Arn: !GetAtt [!Sub "${Queue}Queue", Arn] }
      "${Queue}Policy": { Type: AWS::SQS::QueuePolicy, Properties: { Queues: [{ Ref: !Sub "${Queue}Queue" }] } }
"#;
    let expected = r#"
MailQueue: { Type: AWS::SQS::Queue, Properties: { QueueName: Mail, Of: of Mail, Arn: "${MailQueue.Arn}" } }
MailPolicy: { Type: AWS::SQS::QueuePolicy, Properties: { Queues: ["${MailQueue}"] } }
TextQueue: { Type: AWS::SQS::Queue, Properties: { QueueName: Text, Of: of Text, Arn: "${TextQueue.Arn}" } }
TextPolicy: { Type: AWS::SQS::QueuePolicy, Properties: { Queues: ["${TextQueue}"] } }
"#;
    becomes(template, "dev", "Resources", expected);
}

#[test]
fn a_loop_within_a_loop_makes_every_pair() {
    let template = r#"
Resources:
  Fn::ForEach::Functions:
    - Function
    - [Api, Live]
    - Fn::ForEach::Metrics:
        - Metric
        - [Errors, Throttles]
        - "${Function}${Metric}": { Type: AWS::CloudWatch::Alarm, Properties: { Of: !Sub "${Function}/${Metric}" } }
"#;
    let expected = r#"
ApiErrors: { Type: AWS::CloudWatch::Alarm, Properties: { Of: Api/Errors } }
ApiThrottles: { Type: AWS::CloudWatch::Alarm, Properties: { Of: Api/Throttles } }
LiveErrors: { Type: AWS::CloudWatch::Alarm, Properties: { Of: Live/Errors } }
LiveThrottles: { Type: AWS::CloudWatch::Alarm, Properties: { Of: Live/Throttles } }
"#;
    becomes(template, "dev", "Resources", expected);
}

#[test]
fn a_loop_makes_conditions_outputs_and_properties() {
    let template = r#"
Conditions:
  Fn::ForEach::Stages: [Name, [dev, production], { "Is${Name}": !Equals [!Ref Stage, !Ref Name] }]
Resources:
  Topic:
    Type: AWS::SNS::Topic
    Properties:
      Fn::ForEach::Flags: [Name, [dev, production], { "${Name}": !If ["Is${Name}", "yes", "no"] }]
Outputs:
  Fn::ForEach::Outputs: [Name, [dev, production], { "${Name}": { Condition: "Is${Name}", Value: !Ref Topic } }]
"#;
    becomes(
        template,
        "dev",
        "Resources",
        "Topic: { Type: AWS::SNS::Topic, Properties: { dev: 'yes', production: 'no' } }",
    );
    becomes(template, "production", "Outputs", r#"production: { Condition: Isproduction, Value: "${Topic}" }"#);
}

#[test]
fn loop_takes_its_items_from_a_parameter_or_a_mapping() {
    let template = r#"
Mappings: { Stages: { dev: { Zones: [x1] }, production: { Zones: [x1, y2] } } }
Resources:
  Fn::ForEach::Names: [Name, !Ref Names, { "Of${Name}": { Type: AWS::SNS::Topic, Properties: { Name: "${Name}" } } }]
  Fn::ForEach::Zones: [Zone, !FindInMap [Stages, !Ref Stage, Zones], { "In${Zone}": { Type: AWS::SNS::Topic } }]
"#;
    let expected = r#"
Ofa1: { Type: AWS::SNS::Topic, Properties: { Name: a1 } }
Ofb2: { Type: AWS::SNS::Topic, Properties: { Name: b2 } }
Inx1: { Type: AWS::SNS::Topic }
"#;
    becomes(template, "dev", "Resources", expected);
    assert!(resolved(template, "production").expect("a template")["Resources"].get("Iny2").is_some());
}

#[test]
fn a_mapping_is_looked_up_by_stage_and_falls_back_to_its_default() {
    let template = r#"
Mappings: { Stages: { dev: { Memory: 256 }, production: { Memory: 512, Reserved: 5 } } }
Resources:
  Topic:
    Type: AWS::SNS::Topic
    Properties:
      Memory: !FindInMap [Stages, !Ref Stage, Memory]
      Reserved: !FindInMap [Stages, !Ref Stage, Reserved, { DefaultValue: !Ref AWS::NoValue }]
"#;
    becomes(template, "dev", "Resources", "Topic: { Type: AWS::SNS::Topic, Properties: { Memory: 256 } }");
    let production = "Topic: { Type: AWS::SNS::Topic, Properties: { Memory: 512, Reserved: 5 } }";
    becomes(template, "production", "Resources", production);
    let missing = resolved(template, "test").expect_err("no such stage");
    assert_eq!(missing, "Resources.Topic.Properties.Memory: Mappings has no Stages.test.Memory");
}

#[test]
fn a_resource_whose_condition_does_not_hold_is_left_out_and_must_not_be_referred_to() {
    let template = r#"
Conditions: { IsProduction: !Equals [!Ref Stage, production] }
Resources:
  Queue: { Type: AWS::SQS::Queue, Condition: IsProduction }
  Topic:
    Type: AWS::SNS::Topic
    Properties: { Endpoints: [!If [IsProduction, !GetAtt Queue.Arn, !Ref AWS::NoValue], mail] }
"#;
    becomes(template, "dev", "Resources", "Topic: { Type: AWS::SNS::Topic, Properties: { Endpoints: [mail] } }");
    let production = r#"
Queue: { Type: AWS::SQS::Queue, Condition: IsProduction }
Topic: { Type: AWS::SNS::Topic, Properties: { Endpoints: ["${Queue.Arn}", mail] } }
"#;
    becomes(template, "production", "Resources", production);
    let unguarded = template.replace("!If [IsProduction, !GetAtt Queue.Arn, !Ref AWS::NoValue]", "!GetAtt Queue.Arn");
    assert!(resolved(&unguarded, "production").is_ok());
    assert_eq!(
        resolved(&unguarded, "dev").expect_err("a reference to nothing"),
        "Resources.Topic.Properties.Endpoints[0]: refers to Queue, whose condition does not hold"
    );
}

#[test]
fn anchors_stand_for_what_they_name_and_merge_keys_add_to_it() {
    let template = r#"
Resources:
  One: { Type: AWS::SNS::Topic, Properties: &shared { Name: !Ref Stage, Tags: [a] } }
  Two: { Type: AWS::SNS::Topic, Properties: *shared }
  Three: { Type: AWS::SNS::Topic, Properties: { <<: *shared, Tags: [b] } }
"#;
    let expected = r#"
One: { Type: AWS::SNS::Topic, Properties: { Name: dev, Tags: [a] } }
Two: { Type: AWS::SNS::Topic, Properties: { Name: dev, Tags: [a] } }
Three: { Type: AWS::SNS::Topic, Properties: { Tags: [b], Name: dev } }
"#;
    becomes(template, "dev", "Resources", expected);
}

#[test]
fn functions_are_resolved_as_far_as_parameters_tell() {
    let template = r#"
Resources:
  Key: { Type: AWS::SecretsManager::Secret }
  Set: { Type: AWS::SES::ConfigurationSet, Properties: { Name: !Sub "${AWS::StackName}-mail" } }
  Topic:
    Type: AWS::SNS::Topic
    Properties:
      Joined: !Sub "${Stage}-${Key}-end"
      List: !Ref Names
      Long: { "Fn::Sub": ["${Name} of ${!Name}", { Name: { Ref: Stage } }] }
      Set: !Ref Set
"#;
    let sections = resolved(template, "dev").expect("a template");
    let expected = r#"
Joined: dev-${Key}-end
List: [a1, b2]
Long: dev of ${Name}
Set: stack-mail
"#;
    let expected: Yaml = yaml_serde::from_str(expected).expect("yaml");
    assert_eq!(plain(&sections["Resources"]["Topic"]["Properties"]), expected);
}

#[test]
fn a_mistake_in_a_loop_is_named_by_its_path() {
    let in_resources = |body: &str| resolved(&format!("Resources:\n{body}"), "dev").expect_err("a mistake");
    assert_eq!(
        in_resources("  Fn::ForEach::Queues: [Queue, [A]]"),
        "Resources.Fn::ForEach::Queues: must be an identifier, a list and a mapping"
    );
    assert_eq!(
        in_resources("  Fn::ForEach::Queues: [Queue, !Ref Stage, { '${Queue}': {} }]"),
        "Resources.Fn::ForEach::Queues: must be a list (got \"dev\")"
    );
    assert_eq!(
        in_resources("  Fn::ForEach::Queues: [Queue, [A, A], { '${Queue}': { Type: AWS::SQS::Queue } }]"),
        "Resources: has A twice"
    );
    assert_eq!(
        in_resources("  Fn::ForEach::Queues: [Queue, [A], { '${Queue}': { Type: AWS::SQS::Queue, Of: !Ref Nobody } }]"),
        "Resources.A.Of: refers to Nobody, which is neither a parameter nor a resource of this template"
    );
}

#[test]
fn a_parameter_must_have_a_value_that_it_allows() {
    let template = r#"
Parameters:
  Issuer: { Type: String, AllowedPattern: "https://.+" }
  Audience: { Type: CommaDelimitedList, Default: a, AllowedPattern: "[^ ,]+" }
  Level: { Type: String, Default: info, AllowedValues: [info, debug] }
Resources: {}
"#;
    let problem = |given: &[(&str, &str)]| {
        let given = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        resolve(template, &given.collect::<BTreeMap<_, _>>()).err().map(|error| error.to_string())
    };
    let issuer = ("Issuer", "https://issuer.example.com");
    assert_eq!(problem(&[issuer, ("Audience", "a, b")]), None);
    for (given, message) in [
        (&[][..], "Parameters.Issuer: has no default and no value was given"),
        (&[("Issuer", "http://x")], "Parameters.Issuer: must match https://.+ (got \"http://x\")"),
        (&[issuer, ("Audience", "")], "Parameters.Audience: must match [^ ,]+ (got \"\")"),
        (&[issuer, ("Level", "loud")], "Parameters.Level: must be info or debug (got \"loud\")"),
    ] {
        assert_eq!(problem(given).as_deref(), Some(message));
    }
}
