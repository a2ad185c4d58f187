//! Reads `infra/template.yaml`, the template that is deployed, into what the local host acts on.
//!
//! Tables, queues, functions and event source mappings come from here and from nowhere else, so what
//! runs on a laptop is what is deployed. A mistake stops the start and is named by its path in the
//! template: a misspelt mapping property passes SAM's linters and would otherwise only be missed in
//! production. What has no meaning on one machine (alarms, backups) is skipped, by name;
//! resources that would act in AWS but that this file does not read are refused.

mod condition;
#[cfg(test)]
mod deployed;
mod error;
mod event;
mod function;
mod http;
mod intrinsic;
mod node;
mod queue;
mod queue_mapping;
mod role;
mod schedule_mapping;
mod scope;
mod socket;
mod stream_mapping;
mod table;
#[cfg(test)]
mod tests;
mod value;

pub use error::{Problem, TemplateError, UnresolvedVariable};
pub use function::Function;
pub use http::{Access, HttpApi, HttpRoute};
pub use queue::{Queue, Redrive};
pub use queue_mapping::QueueMapping;
pub use role::{Right, Role};
pub use schedule_mapping::ScheduleMapping;
pub use socket::{Route, SocketApi};
pub use stream_mapping::{StartingPosition, StreamMapping};
pub use table::{AttributeType, Index, KeySchema, Projection, StreamView, Table};
pub use value::{Reference, Value};

use node::Node;
use scope::Scope;
use std::collections::BTreeMap;

/// What the template declares, in the order in which it does.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    /// Every `AWS::DynamoDB::Table`.
    pub tables: Vec<Table>,
    /// Every `AWS::SQS::Queue`.
    pub queues: Vec<Queue>,
    /// Every `AWS::Serverless::Function`.
    pub functions: Vec<Function>,
    /// Every `AWS::IAM::Role` of these functions.
    pub roles: Vec<Role>,
    /// The `AWS::Serverless::HttpApi`, if there is one.
    pub http: Option<HttpApi>,
    /// The `AWS::ApiGatewayV2::Api` of live sockets, if there is one.
    pub sockets: Option<SocketApi>,
}

/// Resources that would run, store or allow something in AWS, and that have a form which is read here.
const REFUSED: [&str; 9] = [
    "AWS::DynamoDB::GlobalTable",
    "AWS::Events::Rule",
    "AWS::IAM::ManagedPolicy",
    "AWS::IAM::Policy",
    "AWS::IAM::RolePolicy",
    "AWS::Lambda::EventSourceMapping",
    "AWS::Lambda::Function",
    "AWS::Scheduler::Schedule",
    "AWS::Serverless::SimpleTable",
];

impl Template {
    /// Reads a template. `parameters` holds the values of its parameters, where they differ from
    /// their defaults, and of the pseudo parameters that it uses (`AWS::StackName`, `AWS::Region`, …).
    ///
    /// # Errors
    /// At the first mistake; the error names the entry by its path.
    pub fn parse(yaml: &str, parameters: &BTreeMap<String, String>) -> Result<Self, TemplateError> {
        let yaml = yaml_serde::from_str(yaml)?;
        let scope = Scope::read(&yaml, parameters)?;
        let root = Node::root(&yaml, &scope);
        let globals = root.get("Globals")?.map_or(Ok(None), |globals| globals.get("Function"))?;

        let mut template = Self {
            tables: Vec::new(),
            queues: Vec::new(),
            functions: Vec::new(),
            roles: Vec::new(),
            http: None,
            sockets: None,
        };
        let mut functions = Vec::new();
        let mut roles = Vec::new();
        let mut http = Vec::new();
        let mut sockets = Vec::new();
        for (logical_id, resource) in root.need("Resources")?.entries()? {
            let kind = resource.need("Type")?;
            match kind.text()?.as_str() {
                "AWS::DynamoDB::Table" => {
                    let table = Table::read(logical_id, unconditional(&resource)?)?;
                    let others = template.tables.iter().map(|other| (&other.name, &other.logical_id));
                    named_once(&resource, &table.name, others)?;
                    template.tables.push(table);
                }
                "AWS::SQS::Queue" => {
                    let queue = Queue::read(logical_id, unconditional(&resource)?)?;
                    let others = template.queues.iter().map(|other| (&other.name, &other.logical_id));
                    named_once(&resource, &queue.name, others)?;
                    template.queues.push(queue);
                }
                "AWS::Serverless::Function" => functions.push((logical_id, resource)),
                "AWS::IAM::Role" => roles.push((logical_id, resource)),
                "AWS::Serverless::HttpApi" => http.push((logical_id, resource)),
                kind if kind.starts_with(socket::PREFIX) => {
                    sockets.push((logical_id, kind.to_owned(), resource));
                }
                refused if REFUSED.contains(&refused) => {
                    return Err(kind.error(Problem::Unsupported));
                }
                _ => {}
            }
        }
        // A mapping is checked against its table or queue, which may stand below it.
        for (logical_id, resource) in functions {
            let function = Function::read(logical_id, unconditional(&resource)?, globals.as_ref(), &template)?;
            template.functions.push(function);
        }
        for (logical_id, resource) in roles {
            if template.functions.iter().any(|function| function.role.as_deref() == Some(logical_id)) {
                template.roles.push(Role::read(logical_id, &resource)?);
            }
        }
        if let Some(function) = template.functions.iter().find(|f| f.role.is_some() && template.role(f).is_none()) {
            let path = format!("Resources.{}.Properties.Role", function.logical_id);
            let (expected, found) = ("a role".to_owned(), "another resource".to_owned());
            return Err(TemplateError::Entry { path, problem: Problem::Unexpected { expected, found } });
        }
        for (logical_id, resource) in http {
            // Two APIs would be two gateways.
            if template.http.is_some() {
                return Err(resource.error(Problem::Unsupported));
            }
            template.http = Some(HttpApi::read(logical_id, unconditional(&resource)?, &template)?);
        }
        template.sockets = SocketApi::read(&sockets, &template)?;
        Ok(template)
    }

    /// The table with this logical id.
    pub fn table(&self, logical_id: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.logical_id == logical_id)
    }

    /// The queue with this logical id.
    pub fn queue(&self, logical_id: &str) -> Option<&Queue> {
        self.queues.iter().find(|queue| queue.logical_id == logical_id)
    }

    /// The role of a function, if it has one.
    pub fn role(&self, function: &Function) -> Option<&Role> {
        self.roles.iter().find(|role| Some(&role.logical_id) == function.role.as_ref())
    }

    /// The variables that a function starts with. `overrides` replace what the template says, by
    /// name; `locate` tells what exists only once it has been created (URLs, ARNs), while names are
    /// filled in from the template.
    ///
    /// # Errors
    /// When a variable that is not overridden refers to something that `locate` does not know: the
    /// template may use resources that do not exist on one machine as long as nobody needs them.
    pub fn environment(
        &self,
        function: &Function,
        overrides: &BTreeMap<String, String>,
        locate: impl Fn(&Reference) -> Option<String>,
    ) -> Result<BTreeMap<String, String>, UnresolvedVariable> {
        let known = |reference: &Reference| match reference {
            Reference::TableName(id) => self.table(id).map(|table| table.name.clone()),
            Reference::QueueName(id) => self.queue(id).map(|queue| queue.name.clone()),
            created => locate(created),
        };
        let mut environment = BTreeMap::new();
        for (variable, value) in &function.environment {
            if !overrides.contains_key(variable) {
                let text = value.resolve(known).map_err(|reference| UnresolvedVariable {
                    function: function.logical_id.clone(),
                    variable: variable.clone(),
                    reference: reference.clone(),
                })?;
                environment.insert(variable.clone(), text);
            }
        }
        environment.extend(overrides.clone());
        Ok(environment)
    }
}

/// A condition would decide per deployment whether the resource is there, and what refers to it would have to know.
fn unconditional<'n, 'a>(resource: &'n Node<'a>) -> Result<&'n Node<'a>, TemplateError> {
    match resource.get("Condition")? {
        Some(condition) => Err(condition.error(Problem::Unsupported)),
        None => Ok(resource),
    }
}

/// Two resources with one name would silently be one and the same here; AWS refuses the second.
fn named_once<'o>(
    resource: &Node<'_>,
    name: &str,
    mut others: impl Iterator<Item = (&'o String, &'o String)>,
) -> Result<(), TemplateError> {
    match others.find(|(other, _)| *other == name) {
        Some((_, taken_by)) => {
            Err(resource.error(Problem::NameTaken { name: name.to_owned(), taken_by: taken_by.clone() }))
        }
        None => Ok(()),
    }
}
