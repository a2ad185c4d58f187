//! `AWS::ApiGatewayV2::*`: the WebSocket API and the function behind each route.

use super::error::TemplateError;
use super::typed::{Flag, Invocation, Text, only, properties};
use super::value::{Reference, Value};
use super::{Resource, Template};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;

pub(super) const PREFIX: &str = "AWS::ApiGatewayV2::";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebSocketApi {
    pub logical_id: String,
    /// Also the path where clients connect.
    pub stage: String,
    /// The logical id of the stage.
    pub stage_id: String,
    /// The function behind each route.
    pub routes: BTreeMap<Route, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub enum Route {
    #[serde(rename = "$connect")]
    Connect,
    #[serde(rename = "$disconnect")]
    Disconnect,
    /// A client sent a message.
    #[serde(rename = "$default")]
    Default,
}

properties! {
    struct Api { protocol_type: WebSocket, route_selection_expression: Text }
    ignored { Description Name Tags }

    struct Integration { api_id: Value, integration_uri: Invocation, integration_type: Proxy }
    ignored { Description IntegrationMethod }

    struct RouteProperties {
        api_id: Value,
        route_key: Route,
        target: Value,
        authorization_type: Option<NoAuthorization>,
    }
    ignored { OperationName }

    struct Stage {
        api_id: Value,
        auto_deploy: Flag,
        stage_name: Text,
        route_settings: Option<BTreeMap<String, IgnoredAny>>,
    }
    ignored { AccessLogSettings DefaultRouteSettings Description Tags }
}

only! { WebSocket = "WEBSOCKET", Proxy = "AWS_PROXY", NoAuthorization = "NONE" }

impl Route {
    pub fn key(self) -> &'static str {
        match self {
            Self::Connect => "$connect",
            Self::Disconnect => "$disconnect",
            Self::Default => "$default",
        }
    }
}

impl WebSocketApi {
    /// `template` must already hold the functions.
    pub(super) fn read(resources: &[Resource], template: &Template) -> Result<Option<Self>, TemplateError> {
        let of_kind = |kind: &'static str| {
            resources.iter().filter(move |resource| resource.kind.strip_prefix(PREFIX) == Some(kind))
        };
        for resource in resources.iter().filter(|resource| resource.kind.starts_with(PREFIX)) {
            if !["Api", "Integration", "Route", "Stage"].contains(&resource.kind.trim_start_matches(PREFIX)) {
                return Err(resource.unsupported());
            }
        }
        let mut apis = of_kind("Api");
        let Some(api) = apis.next() else { return Ok(None) };
        if let Some(another) = apis.next() {
            return Err(another.unsupported());
        }
        let _: Api = api.typed()?;
        let belongs = |resource: &Resource, id: &Value| match id.sole_reference() {
            Some(Reference::Other { resource, attribute: None }) if *resource == api.logical_id => Ok(()),
            _ => Err(resource.wrong("ApiId", format!("must refer to {} (got \"{id}\")", api.logical_id))),
        };

        let mut integrations = BTreeMap::new();
        for resource in of_kind("Integration") {
            let integration: Integration = resource.typed()?;
            belongs(resource, &integration.api_id)?;
            let function = template.invoked(&integration.integration_uri);
            let function = function.map_err(|problem| resource.wrong("IntegrationUri", problem))?;
            integrations.insert(resource.logical_id.as_str(), function);
        }
        let mut routes = BTreeMap::new();
        for resource in of_kind("Route") {
            let route: RouteProperties = resource.typed()?;
            belongs(resource, &route.api_id)?;
            let function = match route.target.around_reference() {
                Some(("integrations/", Reference::Other { resource, attribute: None }, "")) => {
                    integrations.get(resource.as_str())
                }
                _ => None,
            };
            let problem = || format!("must be integrations/ and an integration of this API (got \"{}\")", route.target);
            let function = function.ok_or_else(|| resource.wrong("Target", problem()))?;
            if routes.insert(route.route_key, function.clone()).is_some() {
                return Err(resource.wrong("RouteKey", format!("{} already has a route", route.route_key.key())));
            }
        }
        // Without it, anybody could connect.
        if !routes.contains_key(&Route::Connect) {
            return Err(TemplateError::at(&api.path, "must have a route $connect"));
        }
        let mut stages = of_kind("Stage");
        let Some(stage) = stages.next() else { return Err(TemplateError::at(&api.path, "must have a stage")) };
        if let Some(another) = stages.next() {
            return Err(another.unsupported());
        }
        let properties: Stage = stage.typed()?;
        belongs(stage, &properties.api_id)?;
        // Without a deployment, the stage would not answer.
        if !properties.auto_deploy.0 {
            return Err(stage.wrong("AutoDeploy", "must be true"));
        }
        for limited in properties.route_settings.unwrap_or_default().into_keys() {
            if !routes.keys().any(|route| route.key() == limited) {
                return Err(stage.wrong(&format!("RouteSettings.{limited}"), "there is no such route"));
            }
        }
        let Text(name) = properties.stage_name;
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')) {
            return Err(stage.wrong("StageName", format!("must be letters, digits, - and _ (got {name:?})")));
        }
        let (logical_id, stage_id) = (api.logical_id.clone(), stage.logical_id.clone());
        Ok(Some(Self { logical_id, stage: name, stage_id, routes }))
    }
}
