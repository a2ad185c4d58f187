//! The real template gives the numbers that stand in it, and each kind of mistake is named by its path.

use super::*;
use std::collections::BTreeSet;

/// Small, complete, and written so that each test can spoil one line of it.
const SMALL: &str = r##"
Parameters:
  LogLevel: { Type: String, Default: info, AllowedValues: [info, debug] }
  Secret: { Type: String }
  Stage: { Type: String, Default: dev }
Conditions:
  Real: !Equals [!Ref Stage, production]
  Toy: !And [!Not [!Condition Real], !Or [!Condition Real, !Equals [!Ref Stage, dev]]]
Globals:
  Function:
    Timeout: 20
    Environment: { Variables: { LOG: !Ref LogLevel, SHARED: all } }
Resources:
  Relay:
    Type: AWS::Serverless::Function
    Metadata: { BuildProperties: { Binary: relay } }
    Properties:
      Timeout: 30
      MemorySize: 512
      Environment:
        Variables:
          TABLE: !Ref Events
          QUEUE: !Ref Work
          SHARED: mine
          BOTH: !Sub ["${Events}/${Work.Arn}/${where}/${!where}", { where: !Ref AWS::Region }]
          LONG: { "Fn::GetAtt": [Work, QueueName] }
          KIND: !If [Toy, toy, !Ref Secret]
          NONE: !If [Real, !Ref Secret, !Ref AWS::NoValue]
          SOCKET: !Sub "https://${WebSocketApi}.execute-api.${AWS::Region}.amazonaws.com"
      Events:
        Outbox:
          Type: DynamoDB
          Properties:
            Stream: !GetAtt Events.StreamArn
            StartingPosition: TRIM_HORIZON
            BatchSize: 50
            BisectBatchOnFunctionError: true
            FilterCriteria: { Filters: [{ Pattern: '{"eventName": ["INSERT"]}' }] }
            DestinationConfig: { OnFailure: { Destination: !GetAtt Dead.Arn } }
        Messages:
          Type: SQS
          Properties: { Queue: !GetAtt Work.Arn, BatchSize: 10 }
        Sweep:
          Type: ScheduleV2
          Properties: { ScheduleExpression: rate(5 minutes), Input: '{"sweep": true}' }
        Disabled:
          Type: SQS
          Properties: { Queue: !GetAtt Dead.Arn, Enabled: false }
  Events:
    Type: AWS::DynamoDB::Table
    Properties:
      AttributeDefinitions: [{ AttributeName: id, AttributeType: S }]
      KeySchema: [{ AttributeName: id, KeyType: HASH }]
      StreamSpecification: { StreamViewType: NEW_IMAGE }
  Work:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: work
      VisibilityTimeout: "60"
      RedrivePolicy: { deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 5 }
  Dead:
    Type: AWS::SQS::Queue
    Properties: { QueueName: !Sub "${AWS::StackName}-dead" }
  Http:
    Type: AWS::Serverless::HttpApi
    Properties:
      DefinitionBody:
        openapi: 3.0.1
        components:
          securitySchemes: { Jwt: { type: oauth2, x-amazon-apigateway-authorizer: { type: jwt } } }
          x-amazon-apigateway-integrations:
            relay:
              type: AWS_PROXY
              httpMethod: POST
              payloadFormatVersion: "2.0"
              uri: !Sub "arn:aws:apigateway:eu-west-1:lambda:path/2015-03-31/functions/${Relay.Arn}/invocations"
        paths:
          /health:
            get: { x-amazon-apigateway-integration: { $ref: "#/components/x-amazon-apigateway-integrations/relay" } }
          "/v1/{id}":
            post:
              security: [{ Jwt: [operate] }]
              x-amazon-apigateway-integration: { $ref: "#/components/x-amazon-apigateway-integrations/relay" }
  WebSocketApi:
    Type: AWS::ApiGatewayV2::Api
    Properties: { Name: live, ProtocolType: WEBSOCKET, RouteSelectionExpression: $request.body.action }
  Integration:
    Type: AWS::ApiGatewayV2::Integration
    Properties:
      ApiId: !Ref WebSocketApi
      IntegrationType: AWS_PROXY
      IntegrationUri: !Sub "arn:aws:apigateway:eu-west-1:lambda:path/2015-03-31/functions/${Relay.Arn}/invocations"
  Connect:
    Type: AWS::ApiGatewayV2::Route
    Properties: { ApiId: !Ref WebSocketApi, RouteKey: $connect, Target: !Sub "integrations/${Integration}" }
  Disconnect:
    Type: AWS::ApiGatewayV2::Route
    Properties: { ApiId: !Ref WebSocketApi, RouteKey: $disconnect, Target: !Sub "integrations/${Integration}" }
  LiveStage:
    Type: AWS::ApiGatewayV2::Stage
    Properties: { ApiId: !Ref WebSocketApi, StageName: live, AutoDeploy: true }
"##;

fn parameters() -> BTreeMap<String, String> {
    super::deployed::pseudo_parameters(&[("Secret", "s3cret")])
}

fn small() -> Template {
    Template::parse(SMALL, &parameters()).expect("a template")
}

/// The message for the small template with one piece replaced.
fn spoilt(piece: &str, replacement: &str) -> String {
    assert!(SMALL.contains(piece), "{piece} is not in the template");
    Template::parse(&SMALL.replacen(piece, replacement, 1), &parameters()).expect_err("a mistake").to_string()
}

fn function<'a>(template: &'a Template, logical_id: &str) -> &'a Function {
    template.functions.iter().find(|function| function.logical_id == logical_id).expect(logical_id)
}

#[test]
fn the_template_that_is_deployed_is_read_with_its_numbers() {
    let template = super::deployed::deployed(&[]);

    let events = template.table("EventsTable").expect("EventsTable");
    assert_eq!(events.name, "stack-events");
    assert_eq!(events.key, KeySchema { hash: "event_id".to_owned(), range: None });
    assert!(events.has_stream);
    assert_eq!(events.ttl.as_deref(), Some("expires_at"));
    let by_aggregate = events.global_indexes.iter().find(|index| index.name == "by_aggregate").expect("the index");
    assert_eq!(by_aggregate.key.range.as_deref(), Some("sequence"));
    assert!(matches!(&by_aggregate.projection, Projection::Include(names) if names.len() == 4));

    let queue = template.queue("FanoutCustomerQueue").expect("FanoutCustomerQueue");
    assert_eq!((queue.name.as_str(), queue.visibility_timeout), ("stack-fanout-customer", 540));
    let redrive = queue.redrive.as_ref().expect("a redrive policy");
    assert_eq!(redrive.dead_letter_queue, "FanoutCustomerDeadLetterQueue");
    assert_eq!(redrive.max_receive_count, 5);
    assert_eq!(template.queue("RelayFailuresQueue").expect("RelayFailuresQueue").retention, 1_209_600);

    let relay = function(&template, "OutboxStreamFunction");
    assert_eq!((relay.binary.as_str(), relay.timeout), ("outbox-stream", 30));
    let [outbox, sends] = relay.streams.as_slice() else { panic!("two streams") };
    assert_eq!(sends.table, "SendsTable");
    let inserted =
        |status: &str| serde_json::json!({"eventName": "INSERT", "dynamodb": {"NewImage": {"status": {"S": status}}}});
    assert!(sends.filters[0].matches(&inserted("PENDING")) && !sends.filters[0].matches(&inserted("SKIPPED")));
    assert_eq!(outbox.table, "EventsTable");
    assert_eq!((outbox.batch_size, outbox.parallelization_factor), (100, 2));
    assert_eq!((outbox.maximum_retry_attempts, outbox.maximum_record_age), (Some(100), Some(3_600)));
    assert!(outbox.bisect && outbox.report_batch_item_failures);
    assert_eq!(outbox.on_failure.as_deref(), Some("RelayFailuresQueue"));
    assert!(outbox.filters[0].matches(&serde_json::json!({"eventName": "INSERT"})));
    assert!(!outbox.filters[0].matches(&serde_json::json!({"eventName": "MODIFY"})));
    let modified = |image| serde_json::json!({"eventName": "MODIFY", "dynamodb": {"NewImage": image}});
    assert!(outbox.filters[1].matches(&modified(serde_json::json!({"wake": {"S": "2026"}}))));
    assert!(!outbox.filters[1].matches(&modified(serde_json::json!({"status": {"S": "PUBLISHED"}}))));

    let [customer, _, _, _] = function(&template, "FanoutFunction").queues.as_slice() else { panic!("four queues") };
    assert_eq!((customer.queue.as_str(), customer.batch_size), ("FanoutCustomerQueue", 10));
    assert_eq!(customer.maximum_concurrency, Some(10));
    assert_eq!(template.http.as_ref().expect("an HTTP API").function, "ApiFunction");

    let sweep = function(&template, "SweepFunction");
    let tasks: Vec<_> = sweep.schedules.iter().map(|schedule| schedule.input.clone()).collect();
    assert_eq!(tasks, ["outbox", "sends", "orders", "anomalies"].map(|task| serde_json::json!({"task": task})));
    let rates: Vec<_> = sweep.schedules.iter().map(|schedule| schedule.every.as_secs()).collect();
    assert_eq!(rates, [60, 60, 60, 3_600]);
    let recorded: BTreeSet<&str> =
        function(&template, "DeadLettersFunction").queues.iter().map(|mapping| mapping.queue.as_str()).collect();
    for queue in &template.queues {
        if let Some(redrive) = &queue.redrive {
            assert!(
                recorded.contains(redrive.dead_letter_queue.as_str()),
                "nobody records what dies in {}",
                queue.name
            );
        }
    }
}

#[test]
fn what_is_not_written_is_what_aws_would_take() {
    let template = small();
    assert_eq!(template.table("Events").expect("Events").name, "stack-Events");
    let dead = template.queue("Dead").expect("Dead");
    assert_eq!((dead.visibility_timeout, dead.retention), (30, 345_600));
    let outbox = &template.functions[0].streams[0];
    assert_eq!(outbox.parallelization_factor, 1);
    assert_eq!((outbox.maximum_retry_attempts, outbox.maximum_record_age), (None, None));
    assert!(!outbox.report_batch_item_failures);
    assert_eq!(template.functions[0].queues[0].maximum_concurrency, None);
}

#[test]
fn schedule_is_read_and_disabled_mapping_is_left_out() {
    let template = small();
    let [sweep] = template.functions[0].schedules.as_slice() else { panic!("one schedule") };
    assert_eq!((sweep.every.as_secs(), &sweep.input), (300, &serde_json::json!({"sweep": true})));
    let [messages] = template.functions[0].queues.as_slice() else { panic!("one queue") };
    assert_eq!(messages.queue, "Work");
}

#[test]
fn the_environment_is_resolved_once_urls_are_known() {
    let template = small();
    let overrides = BTreeMap::from([("SOCKET".to_owned(), "http://local".to_owned())]);
    let environment = template.environment(&template.functions[0], &overrides, |reference| match reference {
        Reference::QueueUrl(id) => Some(format!("http://queue/{id}")),
        Reference::QueueArn(id) => Some(format!("arn:{id}")),
        _ => None,
    });
    let expected = [
        ("BOTH", "stack-Events/arn:Work/eu-west-1/${where}"),
        ("KIND", "toy"),
        ("LOG", "info"),
        ("LONG", "work"),
        ("QUEUE", "http://queue/Work"),
        ("SHARED", "mine"),
        ("SOCKET", "http://local"),
        ("TABLE", "stack-Events"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    assert_eq!(environment, Ok(expected));
}

#[test]
fn a_reference_that_means_nothing_locally_fails_only_when_it_is_needed() {
    let template = small();
    let relay = &template.functions[0];
    let located = |reference: &Reference| match reference {
        Reference::Other { .. } => None,
        known => Some(known.to_string()),
    };
    let error = template.environment(relay, &BTreeMap::new(), located).expect_err("a mistake");
    assert_eq!(
        error.to_string(),
        "Relay: variable SOCKET refers to WebSocketApi, which does not exist locally; set SOCKET"
    );
}

/// Checks a table of two lines a row: what is written instead of what, and then the message, or how it begins.
fn each_is_named(section: &str, table: &str) {
    let lines: Vec<_> = table.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    for row in lines.chunks(2) {
        let [change, message] = row else { panic!("{row:?} lacks its message") };
        let (piece, replacement) = change.split_once(" => ").expect("piece => replacement");
        let found = spoilt(piece, replacement);
        match format!("{section}{message}").strip_suffix('…') {
            Some(begin) => assert!(found.starts_with(begin), "{found}"),
            None => assert_eq!(found, format!("{section}{message}")),
        }
    }
}

#[test]
fn a_mistake_in_a_mapping_is_named_by_its_path() {
    let table = r#"
        BatchSize: 50 => BatchSize: many
          Outbox.Properties.BatchSize: must be a whole number from 1 to 10000 (got "many")
        BatchSize: 50 => BatchSize: 0
          Outbox.Properties.BatchSize: must be a whole number from 1 to 10000 (got 0)
        BatchSize: 50 => ParallelizationFactor: 11
          Outbox.Properties.ParallelizationFactor: must be a whole number from 1 to 10 (got 11)
        BatchSize: 50 => TumblingWindowInSeconds: 5
          Outbox.Properties.TumblingWindowInSeconds: unknown field `TumblingWindowInSeconds`, expected one of …
        BatchSize: 50 => MaximumRecordAgeInSeconds: 5
          Outbox.Properties.MaximumRecordAgeInSeconds: must be a whole number from 60 to 604800 (got 5)
        BisectBatchOnFunctionError => BisectBatchOnFunctionErorr
          Outbox.Properties.BisectBatchOnFunctionErorr: unknown field `BisectBatchOnFunctionErorr`, expected one of …
        StartingPosition: TRIM_HORIZON => StartingPosition: LATEST
          Outbox.Properties.StartingPosition: unknown variant `LATEST`, expected `TRIM_HORIZON`
        StartingPosition: TRIM_HORIZON => Enabled: true
          Outbox.Properties: missing field `StartingPosition`
        Stream: !GetAtt Events.StreamArn => Stream: !Ref Events
          Outbox.Properties.Stream: must be the StreamArn of a table of this template (got "${Events}")
        StreamSpecification: { StreamViewType: NEW_IMAGE } => BillingMode: PAY_PER_REQUEST
          Outbox.Properties.Stream: Events has no stream: its StreamSpecification is missing
        ["INSERT"] => [{"prefx": "I"}]
          Outbox.Properties.FilterCriteria.Filters[0].Pattern: $.eventName: operator "prefx" is not supported
        Destination: !GetAtt Dead.Arn => Destination: !Ref Dead
          Outbox.Properties.DestinationConfig.OnFailure.Destination: must be the Arn of a queue of this template (got "${Dead}")
        Type: SQS => Type: SNS
          Messages.Type: unknown variant `SNS`, expected one of `DynamoDB`, `SQS`, `ScheduleV2`
        BatchSize: 10 => BatchSize: 11
          Messages.Properties.BatchSize: must be a whole number from 1 to 10 (got 11)
        VisibilityTimeout: "60" => VisibilityTimeout: 29
          Messages.Properties: VisibilityTimeout of Work must not be below the function's Timeout (29 s and 30 s)
        BatchSize: 10 => ScalingConfig: { MaximumConcurrency: 1 }
          Messages.Properties.ScalingConfig.MaximumConcurrency: must be a whole number from 2 to 1000 (got 1)
        rate(5 minutes) => rate(5 minute)
          Sweep.Properties.ScheduleExpression: must be a rate such as rate(1 minute) or rate(2 hours) (got "rate(5 minute)")
        rate(5 minutes) => rate(1 minutes)
          Sweep.Properties.ScheduleExpression: must be a rate such as …
        rate(5 minutes) => rate(0 minutes)
          Sweep.Properties.ScheduleExpression: must be a rate such as …
        rate(5 minutes) => rate(+5 minutes)
          Sweep.Properties.ScheduleExpression: must be a rate such as …
        rate(5 minutes) => cron(0 * * * ? *)
          Sweep.Properties.ScheduleExpression: must be a rate such as …
    "#;
    each_is_named("Resources.Relay.Properties.Events.", table);
}

#[test]
fn a_reference_to_nothing_is_named_by_its_path() {
    let table = r#"
        TABLE: !Ref Events => TABLE: !Ref Event
          refers to Event, which is neither a parameter nor a resource of this template
        TABLE: !Ref Events => TABLE: !GetAtt Event.Arn
          refers to Event, which is neither a parameter nor a resource of this template
        TABLE: !Ref Events => TABLE: !Sub "a-${Event}"
          refers to Event, which is neither a parameter nor a resource of this template
        TABLE: !Ref Events => TABLE: !GetAtt Events.Name
          Events has no attribute Name: it is an AWS::DynamoDB::Table
        TABLE: !Ref Events => TABLE: !Cidr [a, 1, 2]
          Fn::Cidr with 3 arguments is not supported
        TABLE: !Ref Events => TABLE: !Join ["-", [a, b]]
          Fn::Join with 2 arguments is not supported
        TABLE: !Ref Events => TABLE: !Sub "${Events"
          must have a } for every ${ (got "${Events")
        TABLE: !Ref Events => TABLE: !Ref AWS::StackId
          refers to AWS::StackId, which has no value
    "#;
    each_is_named("Resources.Relay.Properties.Environment.Variables.TABLE: ", table);
}

#[test]
fn a_mistake_in_a_resource_is_named_by_its_path() {
    let table = r#"
        maxReceiveCount: 5 => maxReceiveCount: 1001
          Resources.Work.Properties.RedrivePolicy.maxReceiveCount: must be a whole number from 1 to 1000 (got 1001)
        deadLetterTargetArn: !GetAtt Dead.Arn => deadLetterTargetArn: !GetAtt Deda.Arn
          Resources.Work.Properties.RedrivePolicy.deadLetterTargetArn: refers to Deda, which is neither a parameter nor a resource of this template
        QueueName: work => FifoQueue: true
          Resources.Work.Properties.FifoQueue: unknown field `FifoQueue`, expected one of …
        QueueName: work => QueueName: !Ref Events
          Resources.Work.Properties.QueueName: must be known from the parameters alone (got "${Events}", where Events is not)
        QueueName: work => QueueName: stack-dead
          Resources.Dead: has the name of Work, stack-dead
        AttributeType: S => AttributeType: T
          Resources.Events.Properties.AttributeDefinitions[0].AttributeType: unknown variant `T`, expected `S`
        KeySchema: [{ AttributeName: id => KeySchema: [{ AttributeName: ID
          Resources.Events.Properties.AttributeDefinitions: ID must be both in a key schema and in the attribute definitions
        StreamSpecification: => StreamSpecifcation:
          Resources.Events.Properties.StreamSpecifcation: unknown field `StreamSpecifcation`, expected one of …
        Binary: relay => Bin: relay
          Resources.Relay.Metadata.BuildProperties: missing field `Binary`
        AWS::SQS::Queue => AWS::Lambda::Function
          Resources.Work.Type: AWS::Lambda::Function is not supported here
        Timeout: 20 => Timeout: 901
          Globals.Function.Timeout: must be a whole number from 1 to 900 (got 901)
        Default: info => Default: loud
          Parameters.LogLevel: must be info or debug (got "loud")
    "#;
    each_is_named("", table);
}

#[test]
fn a_value_for_a_parameter_that_is_not_declared_is_refused() {
    let mut parameters = parameters();
    parameters.insert("LogLevle".to_owned(), "debug".to_owned());
    let error = Template::parse(SMALL, &parameters).expect_err("a mistake");
    assert_eq!(error.to_string(), "Parameters.LogLevle: a value was given, but there is no such parameter");
}

#[test]
fn a_value_handed_in_wins_over_the_default() {
    let mut parameters = parameters();
    parameters.insert("LogLevel".to_owned(), "debug".to_owned());
    let template = Template::parse(SMALL, &parameters).expect("a template");
    let log = template.functions[0].environment["LOG"].resolve(|_| None);
    assert_eq!(log, Ok("debug".to_owned()));
}

#[test]
fn a_key_that_stands_twice_is_refused() {
    let error = spoilt("BatchSize: 50", "BatchSize: 50\n            BatchSize: 60");
    assert!(error.contains("duplicate entry with key \"BatchSize\""), "{error}");
}

#[test]
fn the_routes_of_live_sockets_are_read_with_their_function_and_their_stage() {
    let template = super::deployed::deployed(&[]);
    let api = template.websocket_api.expect("an API of sockets");
    assert_eq!((api.logical_id.as_str(), api.stage.as_str()), ("LiveApi", "live"));
    let live = "LiveFunction".to_owned();
    let routes = [(Route::Connect, live.clone()), (Route::Disconnect, live)];
    assert_eq!(api.routes, BTreeMap::from(routes));
    assert_eq!(small().websocket_api.expect("an API of sockets").routes.len(), 2, "a route may be left out");
}

#[test]
fn a_mistake_in_the_api_of_live_sockets_is_named_by_its_path() {
    let table = r#"
        ProtocolType: WEBSOCKET => ProtocolType: HTTP
          WebSocketApi.Properties.ProtocolType: unknown variant `HTTP`, expected `WEBSOCKET`
        IntegrationType: AWS_PROXY => IntegrationType: MOCK
          Integration.Properties.IntegrationType: unknown variant `MOCK`, expected `AWS_PROXY`
        Uri: !Sub "arn:aws:apigateway:eu-west-1:lambda:path/2015-03-31/functions/${Relay.Arn}/ => Uri: !Sub "arn:aws:apigateway:eu-west-1:lambda:path/2015-03-31/functions/${Work.Arn}/
          Integration.Properties.IntegrationUri: must be the invocation of a function of this template (got "arn:aws:apigateway:eu-west-1:lambda:path/2015-03-31/functions/${Work.Arn}/invocations")
        RouteKey: $connect => RouteKey: connect
          Connect.Properties.RouteKey: unknown variant `connect`, expected one of `$connect`, `$disconnect`, `$default`
        RouteKey: $connect => RouteKey: $default
          WebSocketApi: must have a route $connect
        RouteKey: $disconnect => RouteKey: $connect
          Disconnect.Properties.RouteKey: $connect already has a route
        ${Integration} => ${LiveStage}
          Connect.Properties.Target: must be integrations/ and an integration of this API (got "integrations/${LiveStage}")
        ApiId: !Ref WebSocketApi, RouteKey => ApiId: !Ref LiveStage, RouteKey
          Connect.Properties.ApiId: must refer to WebSocketApi (got "${LiveStage}")
        RouteKey: $connect => RouteKye: $connect
          Connect.Properties.RouteKye: unknown field `RouteKye`, expected one of …
        AutoDeploy: true => AutoDeploy: false
          LiveStage.Properties.AutoDeploy: must be true
        StageName: live => StageName: li/ve
          LiveStage.Properties.StageName: must be letters, digits, - and _ (got "li/ve")
        AWS::ApiGatewayV2::Stage => AWS::ApiGatewayV2::Authorizer
          LiveStage.Type: AWS::ApiGatewayV2::Authorizer is not supported here
    "#;
    each_is_named("Resources.", table);
}

#[test]
fn a_condition_decides_by_the_parameters() {
    let of_stage = |stage: &str| {
        let mut parameters = parameters();
        parameters.insert("Stage".to_owned(), stage.to_owned());
        parameters.insert("Secret".to_owned(), "s3cret".to_owned());
        let template = Template::parse(SMALL, &parameters).expect("a template");
        let environment = &template.functions[0].environment;
        ["KIND", "NONE"].map(|name| environment.get(name).map(ToString::to_string))
    };
    assert_eq!(of_stage("dev"), [Some("toy".to_owned()), None]);
    assert_eq!(of_stage("production"), [Some("s3cret".to_owned()), Some("s3cret".to_owned())]);
}

#[test]
fn a_mistake_in_a_condition_is_named_by_its_path() {
    let table = r#"
        !If [Toy, toy => !If [Toi, toy
          Resources.Relay.Properties.Environment.Variables.KIND: there is no condition "Toi"
        !If [Toy, toy, !Ref Secret] => !If [Toy, toy]
          Resources.Relay.Properties.Environment.Variables.KIND: Fn::If with 2 arguments is not supported
        !Not [!Condition Real] => !Not [!Condition Toy]
          Conditions.Toy: Toy refers to itself
        Real: !Equals [!Ref Stage, production] => Real: !Equals [!Ref Stag, production]
          Conditions.Real: refers to Stag, which is not a parameter
        Real: !Equals [!Ref Stage, production] => Real: !Equals [!Ref Stage]
          Conditions.Real: must be Equals, Not, And, Or or Condition (got Fn::Equals with 1 arguments)
        Real: !Equals [!Ref Stage, production] => Real: !Equals [!Ref Events, production]
          Conditions.Real: refers to Events, which is not a parameter
    "#;
    each_is_named("", table);
}

#[test]
fn a_mistake_in_the_http_api_is_named_by_its_path() {
    let table = r##"
        get: { x-amazon => got: { x-amazon
          paths./health.got: unknown field `got`, expected one of …
        security: [{ Jwt: [operate] }] => security: [{ Jtw: [operate] }]
          paths./v1/{id}.post.security: must be one requirement of Jwt
        security: [{ Jwt: [operate] }] => security: []
          paths./v1/{id}.post.security: must be one requirement of Jwt
        security: [{ Jwt: [operate] }] => secuirty: [{ Jwt: [operate] }]
          paths./v1/{id}.post.secuirty: unknown field `secuirty`, expected one of `security`, `x-amazon-apigateway-integration`, `responses`
        integrations/relay" } => integrations/other" }
          paths./health.get.x-amazon-apigateway-integration: there is no integration "#/components/x-amazon-apigateway-integrations/other"
        type: jwt => type: request
          components.securitySchemes.Jwt.x-amazon-apigateway-authorizer.type: unknown variant `request`, expected `jwt`
        payloadFormatVersion: "2.0" => payloadFormatVersion: "1.0"
          components.x-amazon-apigateway-integrations.relay.payloadFormatVersion: unknown variant `1.0`, expected `2.0`
        uri: !Sub "arn:aws:apigateway:eu-west-1:lambda:path/2015-03-31/functions/${Relay.Arn}/ => uri: !Sub "arn:aws:apigateway:eu-west-1:lambda:path/2015-03-31/functions/${Work.Arn}/
          components.x-amazon-apigateway-integrations.relay.uri: must be the invocation of a function of this template (got "arn:aws:apigateway:eu-west-1:lambda:path/2015-03-31/functions/${Work.Arn}/invocations")
    "##;
    each_is_named("Resources.Http.Properties.DefinitionBody.", table);
}

#[test]
fn a_variable_without_a_value_is_declared_but_not_set() {
    let template = small();
    let relay = &template.functions[0];
    assert!(relay.declared.contains("NONE") && !relay.environment.contains_key("NONE"));
    assert!(relay.declared.contains("SHARED") && relay.declared.contains("LOG"), "those of Globals too");
    let without = SMALL.replacen("SHARED: mine", "SHARED: !Ref AWS::NoValue", 1);
    let template = Template::parse(&without, &parameters()).expect("a template");
    let relay = &template.functions[0];
    assert!(relay.declared.contains("SHARED") && !relay.environment.contains_key("SHARED"));
}

#[test]
fn an_event_source_mapping_of_its_own_is_one_of_its_function() {
    let mapping = r"
  Mapping:
    Type: AWS::Lambda::EventSourceMapping
    Condition: Toy
    Properties: { FunctionName: !Ref Relay, EventSourceArn: !GetAtt Dead.Arn, BatchSize: 5 }
  Dead:
    Properties: { VisibilityTimeout: 60 }";
    let yaml = SMALL.replacen("\n  Dead:", mapping, 1).replacen("    Properties: { QueueName: !Sub", "#", 1);
    let read = |yaml: &str| Template::parse(yaml, &parameters());
    let template = read(&yaml).unwrap_or_else(|error| panic!("{error}"));
    let [_, dead] = template.functions[0].queues.as_slice() else { panic!("two mappings") };
    assert_eq!((dead.queue.as_str(), dead.batch_size), ("Dead", 5));
    let off = read(&yaml.replacen("Condition: Toy", "Condition: Real", 1)).expect("a template");
    assert_eq!(off.functions[0].queues.len(), 1);
    for (from, to, message) in [
        ("!Ref Relay,", "!Ref Work,", "FunctionName: must refer to a function of this template (got \"${Work}\")"),
        ("Dead.Arn, BatchSize", "Dead.Arn, Batchsize", "Batchsize: unknown field `Batchsize`, "),
        ("!GetAtt Dead.Arn, B", "!Ref Dead, B", "EventSourceArn: must be the Arn of a queue of this template"),
    ] {
        let problem = read(&yaml.replacen(from, to, 1)).expect_err("a mistake").to_string();
        assert!(problem.starts_with(&format!("Resources.Mapping.Properties.{message}")), "{problem}");
    }
}

#[test]
fn limits_of_routes_name_routes_that_there_are() {
    let http =
        |key: &str| format!("      RouteSettings: {{ {key}: {{ ThrottlingRateLimit: 5 }} }}\n      DefinitionBody:");
    let yaml = SMALL.replacen("      DefinitionBody:", &http("GET /health"), 1);
    assert!(Template::parse(&yaml, &parameters()).is_ok());
    assert_eq!(
        spoilt("      DefinitionBody:", &http("GET /helth")),
        "Resources.Http.Properties.RouteSettings.GET /helth: there is no such route"
    );
    assert_eq!(
        spoilt("AutoDeploy: true", "AutoDeploy: true, RouteSettings: { $default: {} }"),
        "Resources.LiveStage.Properties.RouteSettings.$default: there is no such route"
    );
}

#[test]
fn what_stands_around_the_properties_of_a_resource_is_checked_too() {
    let misspelt = spoilt("Type: AWS::SQS::Queue", "Type: AWS::SQS::Queue\n    Conditon: Toy");
    assert!(misspelt.starts_with("Resources.Work.Conditon: unknown field `Conditon`, "), "{misspelt}");
    let unknown = spoilt("Type: AWS::SQS::Queue", "Type: AWS::SQS::Queue\n    Condition: Sometimes");
    assert_eq!(unknown, "Resources.Work.Condition: there is no condition \"Sometimes\"");
}
