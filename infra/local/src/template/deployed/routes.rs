//! The routes: those of the code, each with its scope, and no others.

use super::{deployed, each_of, items, text};
use crate::template::Access;
use crate::template::http::HttpRoute;
use std::collections::BTreeSet;

/// A route as the code describes it: who needs no token has an empty requirement.
fn described(path: &str, method: &str, operation: &serde_json::Value, default: &serde_json::Value) -> HttpRoute {
    let security = operation.get("security").unwrap_or(default);
    let access = match &security[0]["jwt"] {
        serde_json::Value::Array(scopes) => {
            Access::Token(scopes.iter().map(|scope| scope.as_str().expect("a scope").to_owned()).collect())
        }
        _ => Access::Open,
    };
    HttpRoute { method: method.to_uppercase(), path: path.to_owned(), access }
}

#[test]
fn the_routes_of_the_code_are_those_of_the_template_with_their_scopes() {
    let openapi: serde_json::Value = serde_json::from_str(api::OPENAPI).expect("json");
    let default = &openapi["security"];
    let paths = openapi["paths"].as_object().expect("paths");
    let mut code: BTreeSet<HttpRoute> = paths
        .iter()
        .flat_map(|(path, item)| item.as_object().expect("operations").iter().map(move |operation| (path, operation)))
        .map(|(path, (method, operation))| described(path, method, operation, default))
        .collect();
    // The description does not describe itself.
    code.insert(HttpRoute { method: "GET".to_owned(), path: "/openapi.json".to_owned(), access: Access::Open });
    let template: BTreeSet<HttpRoute> = deployed(&[]).http.expect("an HTTP API").routes.into_iter().collect();
    let missing: Vec<_> = code.difference(&template).collect();
    let left_over: Vec<_> = template.difference(&code).collect();
    assert!(
        missing.is_empty() && left_over.is_empty(),
        "not in the template: {missing:#?}\nnot in the code: {left_over:#?}"
    );
    assert!(template.len() > 35, "{}", template.len());
}

#[test]
fn a_route_is_found_as_api_gateway_finds_it() {
    let api = deployed(&[]).http.expect("an HTTP API");
    let found = |method: &str, path: &str| api.route(method, path).map(|route| route.path.clone());
    assert_eq!(found("GET", "/health").as_deref(), Some("/health"));
    assert_eq!(found("POST", "/v1/dead-letters/redrive").as_deref(), Some("/v1/dead-letters/redrive"));
    assert_eq!(found("GET", "/v1/dead-letters/redrive").as_deref(), Some("/v1/dead-letters/{id}"));
    for (method, path) in [
        ("POST", "/health"),
        ("GET", "/health/"),
        ("GET", "/schemas/"),
        ("GET", "/schemas/a/b"),
        ("GET", "/v1/unsubscribe/"),
        ("GET", "/"),
        ("GET", "/{proxy+}"),
    ] {
        assert_eq!(found(method, path), None, "{method} {path}");
    }
}

/// What an access log may say: who called, by the subject of their token. A path or a query would name other people, and hold
/// tickets.
const LOGGED: [&str; 11] = [
    "authorizer.claims.sub",
    "authorizer.error",
    "error.message",
    "eventType",
    "integrationErrorMessage",
    "integrationLatency",
    "requestId",
    "requestTimeEpoch",
    "responseLatency",
    "routeKey",
    "status",
];

#[test]
fn access_logs_name_the_caller_and_nobody_else() {
    let mut logs = 0;
    for kind in ["AWS::Serverless::HttpApi", "AWS::ApiGatewayV2::Stage"] {
        each_of(kind, &[("Stage", "production")], |logical_id, api| {
            let settings = &api["Properties"]["AccessLogSettings"];
            let format = text(settings, "Format");
            let json: serde_json::Value = serde_json::from_str(&format).expect("a line of JSON");
            for value in json.as_object().expect("fields").values() {
                let field = value.as_str().and_then(|value| value.strip_prefix("$context.")).expect("a field");
                assert!(LOGGED.contains(&field), "{logical_id} logs {field}");
            }
            assert!(text(settings, "DestinationArn").ends_with("AccessLogGroup.Arn}"));
            logs += 1;
        });
    }
    assert_eq!(logs, 2);
}

#[test]
fn browsers_may_call_from_the_one_origin_that_is_named() {
    let cors = |otherwise: &[(&str, &str)]| {
        let mut origins = None;
        each_of("AWS::Serverless::HttpApi", otherwise, |_, api| {
            let cors = api["Properties"]["DefinitionBody"].get("x-amazon-apigateway-cors");
            origins = cors.map(|cors| items(cors, "allowOrigins").len());
        });
        origins
    };
    assert_eq!(cors(&[]), None);
    assert_eq!(cors(&[("AllowedOrigin", "https://app.example.com")]), Some(1));
}

#[test]
fn routes_without_a_token_have_a_lower_limit_of_their_own() {
    let mut limited = BTreeSet::new();
    each_of("AWS::Serverless::HttpApi", &[], |_, api| {
        let properties = &api["Properties"];
        let rate =
            |settings: &yaml_serde::Value| text(settings, "ThrottlingRateLimit").parse::<u32>().expect("a number");
        for (route, settings) in properties["RouteSettings"].as_mapping().expect("limits of routes") {
            assert!(rate(settings) < rate(&properties["DefaultRouteSettings"]), "{route:?}");
            limited.insert(route.as_str().expect("a route").to_owned());
        }
    });
    let routes = deployed(&[]).http.expect("an HTTP API").routes.into_iter();
    let open =
        routes.filter(|route| route.access == Access::Open).map(|route| format!("{} {}", route.method, route.path));
    assert_eq!(limited, open.collect());
    each_of("AWS::ApiGatewayV2::Stage", &[], |_, stage| {
        assert!(stage["Properties"]["RouteSettings"].get("$connect").is_some(), "anybody can ask for a socket");
        // API Gateway refuses limits for a route that is not there yet.
        assert!(super::items(stage, "DependsOn").iter().any(|it| it == "LiveConnectRoute"));
    });
}
