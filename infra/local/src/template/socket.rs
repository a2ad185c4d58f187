//! `AWS::ApiGatewayV2::*`: the one WebSocket API, and which function each of its routes invokes.

use super::Template;
use super::error::{Problem, TemplateError};
use super::node::Node;
use super::value::Reference;
use std::collections::BTreeMap;

/// What the types of all these resources begin with.
pub(super) const PREFIX: &str = "AWS::ApiGatewayV2::";

/// A WebSocket API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketApi {
    /// The name within the template.
    pub logical_id: String,
    /// The stage, which is the path that sockets are opened at.
    pub stage: String,
    /// The stage's name within the template.
    pub stage_id: String,
    /// The logical id of the function behind each route.
    pub routes: BTreeMap<Route, String>,
}

/// When a function is invoked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Route {
    /// A socket is about to open.
    Connect,
    /// A socket has closed.
    Disconnect,
    /// A socket said something.
    Default,
}

const ROUTES: [(&str, Route); 3] =
    [("$connect", Route::Connect), ("$disconnect", Route::Disconnect), ("$default", Route::Default)];

/// How an integration names its function.
const INVOCATION: (&str, &str) = (":lambda:path/2015-03-31/functions/", "/invocations");

impl Route {
    /// The route's key, as an event names it.
    pub fn key(self) -> &'static str {
        match self {
            Self::Connect => "$connect",
            Self::Disconnect => "$disconnect",
            Self::Default => "$default",
        }
    }
}

impl SocketApi {
    /// `template` has to hold the functions already; resources come as logical id, type and entry.
    pub(super) fn read(
        resources: &[(&str, String, Node<'_>)],
        template: &Template,
    ) -> Result<Option<Self>, TemplateError> {
        let of_kind = |wanted: &'static str| resources.iter().filter(move |(_, kind, _)| kind == wanted);
        for (_, kind, resource) in resources {
            if let Some(condition) = resource.get("Condition")? {
                return Err(condition.error(Problem::Unsupported));
            }
            if !["Api", "Integration", "Route", "Stage"].contains(&kind.trim_start_matches(PREFIX)) {
                return Err(resource.need("Type")?.error(Problem::Unsupported));
            }
        }
        let mut apis = of_kind("AWS::ApiGatewayV2::Api");
        let Some((logical_id, _, api)) = apis.next() else { return Ok(None) };
        if let Some((_, _, another)) = apis.next() {
            return Err(another.error(Problem::Unsupported));
        }
        read_api(&api.need("Properties")?)?;

        let mut integrations = BTreeMap::new();
        for (integration, _, resource) in of_kind("AWS::ApiGatewayV2::Integration") {
            integrations.insert(*integration, read_integration(&resource.need("Properties")?, logical_id, template)?);
        }
        let mut routes = BTreeMap::new();
        for (_, _, resource) in of_kind("AWS::ApiGatewayV2::Route") {
            let (route, function) = read_route(&resource.need("Properties")?, logical_id, &integrations)?;
            if routes.insert(route, function).is_some() {
                return Err(resource.error(Problem::RouteTaken(route.key())));
            }
        }
        // Without it, anybody could open a socket.
        if !routes.contains_key(&Route::Connect) {
            return Err(api.error(Problem::NoRoute(Route::Connect.key())));
        }
        let mut stages = of_kind("AWS::ApiGatewayV2::Stage");
        let Some((stage_id, _, stage)) = stages.next() else { return Err(api.error(Problem::NoStage)) };
        if let Some((_, _, another)) = stages.next() {
            return Err(another.error(Problem::Unsupported));
        }
        let stage = read_stage(&stage.need("Properties")?, logical_id)?;
        let [logical_id, stage_id] = [logical_id, stage_id].map(|id| (*id).to_owned());
        Ok(Some(Self { logical_id, stage, stage_id, routes }))
    }
}

fn read_api(properties: &Node<'_>) -> Result<(), TemplateError> {
    properties.only(&["Description", "Name", "ProtocolType", "RouteSelectionExpression", "Tags"])?;
    properties.need("ProtocolType")?.choice(&[("WEBSOCKET", ())])?;
    properties.need("RouteSelectionExpression")?.text().map(drop)
}

/// The function that an integration invokes.
fn read_integration(properties: &Node<'_>, api: &str, template: &Template) -> Result<String, TemplateError> {
    properties.only(&["ApiId", "Description", "IntegrationMethod", "IntegrationType", "IntegrationUri"])?;
    belongs_to(properties, api)?;
    properties.need("IntegrationType")?.choice(&[("AWS_PROXY", ())])?;
    invoked_function(&properties.need("IntegrationUri")?, template)
}

/// The function whose invocation a URI is.
pub(super) fn invoked_function(uri: &Node<'_>, template: &Template) -> Result<String, TemplateError> {
    let value = uri.value()?;
    let function = match value.around_reference() {
        Some((before, Reference::Other { resource, attribute: Some(attribute) }, after))
            if before.ends_with(INVOCATION.0) && after == INVOCATION.1 && attribute == "Arn" =>
        {
            template.functions.iter().find(|function| function.logical_id == *resource)
        }
        _ => None,
    };
    function.map(|function| function.logical_id.clone()).ok_or_else(|| uri.unexpected("the invocation of a function"))
}

fn read_route(
    properties: &Node<'_>,
    api: &str,
    integrations: &BTreeMap<&str, String>,
) -> Result<(Route, String), TemplateError> {
    properties.only(&["ApiId", "AuthorizationType", "OperationName", "RouteKey", "Target"])?;
    belongs_to(properties, api)?;
    if let Some(authorization) = properties.get("AuthorizationType")? {
        authorization.choice(&[("NONE", ())])?;
    }
    let route = properties.need("RouteKey")?.choice(&ROUTES)?;
    let target = properties.need("Target")?;
    let value = target.value()?;
    let function = match value.around_reference() {
        Some(("integrations/", Reference::Other { resource, attribute: None }, "")) => {
            integrations.get(resource.as_str())
        }
        _ => None,
    };
    let function = function.ok_or_else(|| target.unexpected("integrations/ and an integration of this API"))?;
    Ok((route, function.clone()))
}

fn read_stage(properties: &Node<'_>, api: &str) -> Result<String, TemplateError> {
    properties.only(&[
        "AccessLogSettings",
        "ApiId",
        "AutoDeploy",
        "DefaultRouteSettings",
        "Description",
        "StageName",
        "Tags",
    ])?;
    belongs_to(properties, api)?;
    // Nothing else here makes a deployment, without which the stage would answer nobody.
    properties.need("AutoDeploy")?.choice(&[("true", ())])?;
    let name = properties.need("StageName")?;
    let text = name.text()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if text.is_empty() || !text.chars().all(is_plain) {
        return Err(name.unexpected("letters, digits, - and _"));
    }
    Ok(text)
}

fn belongs_to(properties: &Node<'_>, api: &str) -> Result<(), TemplateError> {
    let id = properties.need("ApiId")?;
    match id.value()?.sole_reference() {
        Some(Reference::Other { resource, attribute: None }) if resource == api => Ok(()),
        _ => Err(id.unexpected(&format!("a reference to {api}"))),
    }
}
