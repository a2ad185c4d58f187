//! `AWS::Serverless::HttpApi`: which routes there are, who may call each, and which function answers.
//!
//! Routes stand in `DefinitionBody`, an OpenAPI document with API Gateway's extensions. What is not there is not
//! reachable when deployed, so it is not here either.

use super::Template;
use super::error::TemplateError;
use super::node::Node;
use super::socket::invoked_function;

/// The HTTP API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpApi {
    /// The name within the template.
    pub logical_id: String,
    /// The logical id of the function behind every route.
    pub function: String,
    /// Its routes.
    pub routes: Vec<HttpRoute>,
}

/// A route of the HTTP API.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HttpRoute {
    /// The method, in capitals.
    pub method: String,
    /// The path, with its parameters in braces.
    pub path: String,
    /// Who may call it.
    pub access: Access,
}

/// Who may call a route.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Anybody.
    Open,
    /// Who has a token; and, where scopes are named, one of them.
    Token(Vec<String>),
}

const METHODS: [&str; 5] = ["delete", "get", "patch", "post", "put"];
/// Logs, limits and names have no meaning on one machine.
const SKIPPED: [&str; 7] =
    ["AccessLogSettings", "DefaultRouteSettings", "Description", "Domain", "FailOnWarnings", "Name", "Tags"];
const INTEGRATIONS: &str = "x-amazon-apigateway-integrations";

impl HttpApi {
    /// `template` has to hold the functions already.
    pub(super) fn read(logical_id: &str, resource: &Node<'_>, template: &Template) -> Result<Self, TemplateError> {
        let properties = resource.need("Properties")?;
        properties.only(&[SKIPPED.as_slice(), &["DefinitionBody"]].concat())?;
        let body = properties.need("DefinitionBody")?;
        body.only(&["components", "info", "openapi", "paths", "x-amazon-apigateway-cors"])?;
        let components = body.need("components")?;
        components.only(&["securitySchemes", INTEGRATIONS])?;
        let integration = Integration::read(&components.need(INTEGRATIONS)?, template)?;
        let schemes = components.need("securitySchemes")?;
        let scheme = match schemes.entries()?.as_slice() {
            [(name, scheme)] => {
                let authorizer = scheme.need("x-amazon-apigateway-authorizer")?;
                authorizer.need("type")?.choice(&[("jwt", ())])?;
                (*name).to_owned()
            }
            _ => return Err(schemes.unexpected("one scheme")),
        };
        let mut routes = Vec::new();
        for (path, operations) in body.need("paths")?.entries()? {
            operations.only(&METHODS)?;
            for (method, operation) in operations.entries()? {
                operation.only(&["responses", "security", "x-amazon-apigateway-integration"])?;
                let reference = operation.need("x-amazon-apigateway-integration")?.need("$ref")?;
                reference.choice(&[(integration.reference.as_str(), ())])?;
                let access = Access::read(&operation, &scheme)?;
                routes.push(HttpRoute { method: method.to_uppercase(), path: path.to_owned(), access });
            }
        }
        Ok(Self { logical_id: logical_id.to_owned(), function: integration.function, routes })
    }

    /// The route of a request, as API Gateway finds it: a named segment goes before a parameter.
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

impl Access {
    fn read(operation: &Node<'_>, scheme: &str) -> Result<Self, TemplateError> {
        let Some(security) = operation.get("security")? else { return Ok(Self::Open) };
        match security.items()?.as_slice() {
            [requirement] => {
                requirement.only(&[scheme])?;
                let scopes = requirement.need(scheme)?.items()?;
                scopes.iter().map(Node::text).collect::<Result<_, _>>().map(Self::Token)
            }
            _ => Err(security.unexpected("one requirement")),
        }
    }
}

/// The one integration, and how routes refer to it.
struct Integration {
    reference: String,
    function: String,
}

impl Integration {
    fn read(integrations: &Node<'_>, template: &Template) -> Result<Self, TemplateError> {
        let all = integrations.entries()?;
        let [(name, integration)] = all.as_slice() else {
            return Err(integrations.unexpected("one integration"));
        };
        integration.only(&["httpMethod", "payloadFormatVersion", "type", "uri"])?;
        integration.need("type")?.choice(&[("AWS_PROXY", ())])?;
        // API Gateway invokes a function by POST, whatever the route's method.
        integration.need("httpMethod")?.choice(&[("POST", ())])?;
        integration.need("payloadFormatVersion")?.choice(&[("2.0", ())])?;
        let function = invoked_function(&integration.need("uri")?, template)?;
        Ok(Self { reference: format!("#/components/{INTEGRATIONS}/{name}"), function })
    }
}
