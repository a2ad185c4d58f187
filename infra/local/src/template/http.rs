//! `AWS::Serverless::HttpApi`: the routes, who may call each, and the function behind them.
//!
//! Routes are read from `DefinitionBody`, an OpenAPI document with API Gateway's extensions. A route that is not there
//! is unreachable when deployed, and here as well.

use super::error::TemplateError;
use super::typed::{Invocation, Text, only, properties};
use super::{Resource, Template};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use yaml_serde::Mapping;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpApi {
    pub logical_id: String,
    /// The function behind every route.
    pub function: String,
    pub routes: Vec<HttpRoute>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HttpRoute {
    /// In capitals.
    pub method: String,
    /// With parameters in braces.
    pub path: String,
    pub access: Access,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// No token is needed.
    Open,
    /// A token is needed, with one of these scopes if there are any.
    Token(Vec<String>),
}

properties! {
    struct Properties { definition_body: Body, route_settings: Option<Mapping> }
    // Logs, limits and names mean nothing on one machine.
    ignored { AccessLogSettings DefaultRouteSettings Description Domain FailOnWarnings Name Tags }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    components: Components,
    paths: BTreeMap<String, Operations>,
    #[serde(rename = "info")]
    _info: Option<IgnoredAny>,
    #[serde(rename = "openapi")]
    _openapi: Option<IgnoredAny>,
    #[serde(rename = "x-amazon-apigateway-cors")]
    _cors: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Components {
    #[serde(rename = "securitySchemes")]
    schemes: BTreeMap<String, Scheme>,
    #[serde(rename = "x-amazon-apigateway-integrations")]
    integrations: BTreeMap<String, Integration>,
}

#[derive(Deserialize)]
struct Scheme {
    #[serde(rename = "x-amazon-apigateway-authorizer")]
    _authorizer: Authorizer,
}

#[derive(Deserialize)]
struct Authorizer {
    #[serde(rename = "type")]
    _type: Jwt,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Operations {
    delete: Option<Operation>,
    get: Option<Operation>,
    patch: Option<Operation>,
    post: Option<Operation>,
    put: Option<Operation>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Operation {
    security: Option<Vec<BTreeMap<String, Vec<Text>>>>,
    #[serde(rename = "x-amazon-apigateway-integration")]
    integration: IntegrationRef,
    #[serde(rename = "responses")]
    _responses: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IntegrationRef {
    #[serde(rename = "$ref")]
    reference: Text,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Integration {
    uri: Invocation,
    #[serde(rename = "type")]
    _type: Proxy,
    /// API Gateway invokes a function by POST, whatever the route's method.
    #[serde(rename = "httpMethod")]
    _http_method: Post,
    #[serde(rename = "payloadFormatVersion")]
    _payload_format_version: Version,
}

only! { Jwt = "jwt", Proxy = "AWS_PROXY", Post = "POST", Version = "2.0" }

impl HttpApi {
    /// `template` must already hold the functions.
    pub(super) fn read(resource: &Resource, template: &Template) -> Result<Self, TemplateError> {
        let path = resource.properties_path();
        let Properties { definition_body: body, route_settings, .. } = resource.typed()?;
        let body_path = format!("{path}.DefinitionBody");
        let scheme = match body.components.schemes.keys().collect::<Vec<_>>().as_slice() {
            [scheme] => (*scheme).clone(),
            schemes => {
                let problem = format!("must be one scheme (got {})", schemes.len());
                return Err(TemplateError::at(format!("{body_path}.components.securitySchemes"), problem));
            }
        };
        let mut routes: Vec<HttpRoute> = Vec::new();
        let mut functions: BTreeMap<String, String> = BTreeMap::new();
        for (path, operations) in body.paths {
            for (method, operation) in operations.by_method() {
                let at = format!("{body_path}.paths.{path}.{method}");
                let Text(reference) = &operation.integration.reference;
                let name = reference.strip_prefix("#/components/x-amazon-apigateway-integrations/");
                let integration = name.and_then(|name| body.components.integrations.get(name));
                let integration = integration.ok_or_else(|| format!("there is no integration {reference:?}"));
                let function = integration
                    .and_then(|integration| template.invoked(&integration.uri))
                    .map_err(|problem| TemplateError::at(format!("{at}.x-amazon-apigateway-integration"), problem))?;
                functions.insert(function, at.clone());
                let access = Access::new(operation.security, &scheme);
                let access = access.map_err(|problem| TemplateError::at(format!("{at}.security"), problem))?;
                routes.push(HttpRoute { method: method.to_uppercase(), path: path.clone(), access });
            }
        }
        let keys: Vec<String> = routes.iter().map(|route| format!("{} {}", route.method, route.path)).collect();
        for key in route_settings.iter().flat_map(Mapping::keys).filter_map(yaml_serde::Value::as_str) {
            if !keys.iter().any(|route| route == key) {
                return Err(TemplateError::at(format!("{path}.RouteSettings.{key}"), "there is no such route"));
            }
        }
        let logical_id = resource.logical_id.clone();
        let mut functions = functions.into_iter();
        match (functions.next(), functions.next()) {
            (Some((function, _)), None) => Ok(Self { logical_id, function, routes }),
            (Some((function, _)), Some((other, at))) => {
                Err(TemplateError::at(at, format!("must be answered by {function}, as the others (got {other})")))
            }
            (None, _) => Err(TemplateError::at(format!("{body_path}.paths"), "must have a route")),
        }
    }

    /// Finds the route of a request as API Gateway does: a named segment wins over a parameter.
    pub fn route(&self, method: &str, path: &str) -> Option<&HttpRoute> {
        let matching = self.routes.iter().filter(|route| route.method == method && route.matches(path));
        matching.min_by_key(|route| route.path.matches('{').count())
    }
}

impl HttpRoute {
    fn matches(&self, path: &str) -> bool {
        let (mut wanted, mut asked) = (self.path.split('/'), path.split('/'));
        loop {
            match (wanted.next(), asked.next()) {
                (None, None) => return true,
                (Some(wanted), Some(asked)) if wanted.starts_with('{') && !asked.is_empty() => {}
                (Some(wanted), Some(asked)) if wanted == asked => {}
                _ => return false,
            }
        }
    }
}

impl Operations {
    fn by_method(self) -> impl Iterator<Item = (&'static str, Operation)> {
        let all = [("delete", self.delete), ("get", self.get), ("patch", self.patch), ("post", self.post)];
        all.into_iter().chain([("put", self.put)]).filter_map(|(method, operation)| Some((method, operation?)))
    }
}

impl Access {
    fn new(security: Option<Vec<BTreeMap<String, Vec<Text>>>>, scheme: &str) -> Result<Self, String> {
        let Some(security) = security else { return Ok(Self::Open) };
        let mut requirements = security.into_iter().flatten();
        match (requirements.next(), requirements.next()) {
            (Some((named, scopes)), None) if named == scheme => {
                Ok(Self::Token(scopes.into_iter().map(|scope| scope.0).collect()))
            }
            _ => Err(format!("must be one requirement of {scheme}")),
        }
    }
}
