//! Reads `infra/template.yaml`, so that the local host runs what is deployed.
//!
//! A mistake stops the start and is named by its path in the template: SAM's linters miss a misspelt property of an
//! event source mapping. Resources without a meaning on one machine (alarms, backups) are skipped. Resources that would
//! act in AWS and are not read here are refused.

#[cfg(test)]
pub mod deployed;
mod error;
mod function;
mod http;
mod mapping;
mod parameters;
mod queue;
mod resolve;
mod role;
mod table;
#[cfg(test)]
mod tests;
mod typed;
mod value;
mod websocket;

pub use error::{TemplateError, UnresolvedVariable};
pub use function::Function;
pub use http::{Access, HttpApi};
pub use mapping::{QueueMapping, ScheduleMapping, StreamMapping};
pub use queue::Queue;
pub use role::Role;
pub use table::{KeySchema, Projection, Table};
pub use value::{Reference, Value};
pub use websocket::{Route, WebSocketApi};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fmt::Display;
use typed::{Invocation, Text, properties, typed};
use yaml_serde::{Mapping, Value as Yaml};

/// What the template declares, in its order.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    pub tables: Vec<Table>,
    pub queues: Vec<Queue>,
    pub functions: Vec<Function>,
    pub roles: Vec<Role>,
    pub http: Option<HttpApi>,
    pub websocket_api: Option<WebSocketApi>,
}

/// Resources that would run, store or allow something in AWS, and have a supported alternative.
const REFUSED: [&str; 8] = [
    "AWS::DynamoDB::GlobalTable",
    "AWS::Events::Rule",
    "AWS::IAM::ManagedPolicy",
    "AWS::IAM::Policy",
    "AWS::IAM::RolePolicy",
    "AWS::Lambda::Function",
    "AWS::Scheduler::Schedule",
    "AWS::Serverless::SimpleTable",
];

struct Resource {
    logical_id: String,
    path: String,
    kind: String,
    metadata: Yaml,
    properties: Yaml,
}

properties! {
    /// A resource without its properties.
    struct Entry { r#type: Text, metadata: Option<Yaml>, properties: Option<Yaml> }
    ignored { Condition CreationPolicy DeletionPolicy DependsOn UpdatePolicy UpdateReplacePolicy }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Globals {
    function: function::Properties,
}

impl Resource {
    fn read(logical_id: &str, entry: &Yaml) -> Result<Self, TemplateError> {
        let path = format!("Resources.{logical_id}");
        let entry: Entry = typed(&path, entry)?;
        let or_nothing = |yaml: Option<Yaml>| yaml.unwrap_or_else(|| Mapping::new().into());
        Ok(Self {
            logical_id: logical_id.to_owned(),
            path,
            kind: entry.r#type.0,
            metadata: or_nothing(entry.metadata),
            properties: or_nothing(entry.properties),
        })
    }

    fn properties_path(&self) -> String {
        format!("{}.Properties", self.path)
    }

    fn typed<T: DeserializeOwned>(&self) -> Result<T, TemplateError> {
        typed(&self.properties_path(), &self.properties)
    }

    /// The given name, or the one that CloudFormation would generate without its random suffix.
    fn name(&self, name: Option<Text>, stack: &str) -> String {
        name.map_or_else(|| format!("{stack}-{}", self.logical_id), |name| name.0)
    }

    fn wrong(&self, property: &str, problem: impl Display) -> TemplateError {
        TemplateError::at(format!("{}.{property}", self.properties_path()), problem)
    }

    fn unsupported(&self) -> TemplateError {
        TemplateError::at(format!("{}.Type", self.path), format!("{} is not supported here", self.kind))
    }
}

impl Template {
    /// Reads a template with values for its parameters and for the pseudo parameters that it uses, such as
    /// `AWS::StackName`. The error names the first mistake by its path.
    pub fn parse(yaml: &str, parameters: &BTreeMap<String, String>) -> Result<Self, TemplateError> {
        let sections = resolve::resolve(yaml, parameters)?;
        let section = |name: &str| sections.get(name).and_then(Yaml::as_mapping).into_iter().flatten();
        let globals: Globals = typed("Globals", &sections.get("Globals").cloned().unwrap_or_default())?;
        let resources = section("Resources").map(|(id, entry)| Resource::read(id.as_str().unwrap_or_default(), entry));
        let resources = resources.collect::<Result<Vec<_>, _>>()?;
        let of_kind = |kind: &'static str| resources.iter().filter(move |resource| resource.kind == kind);
        if let Some(refused) = resources.iter().find(|resource| REFUSED.contains(&resource.kind.as_str())) {
            return Err(refused.unsupported());
        }
        let stack = parameters.get("AWS::StackName").map_or("stack", String::as_str);

        let mut template = Self {
            tables: Vec::new(),
            queues: Vec::new(),
            functions: Vec::new(),
            roles: Vec::new(),
            http: None,
            websocket_api: None,
        };
        for resource in of_kind("AWS::DynamoDB::Table") {
            let table = Table::read(resource, stack)?;
            let others = template.tables.iter().map(|other| (&other.name, &other.logical_id));
            named_once(resource, &table.name, others)?;
            template.tables.push(table);
        }
        for resource in of_kind("AWS::SQS::Queue") {
            let queue = Queue::read(resource, stack)?;
            let others = template.queues.iter().map(|other| (&other.name, &other.logical_id));
            named_once(resource, &queue.name, others)?;
            template.queues.push(queue);
        }
        for resource in of_kind("AWS::Serverless::Function") {
            let function = Function::read(resource, &globals.function, &template)?;
            if let Some(role) = &function.role {
                let role = of_kind("AWS::IAM::Role").find(|resource| resource.logical_id == *role);
                let role = role.ok_or_else(|| resource.wrong("Role", "must be the Arn of a role of this template"))?;
                if template.role(&function).is_none() {
                    template.roles.push(Role::read(role)?);
                }
            }
            template.functions.push(function);
        }
        for resource in of_kind("AWS::Lambda::EventSourceMapping") {
            let (function, mapping) = QueueMapping::read(resource, &template)?;
            if let Some(function) = template.functions.iter_mut().find(|known| known.logical_id == function) {
                function.queues.extend(mapping);
            }
        }
        for resource in of_kind("AWS::Serverless::HttpApi") {
            // A second API would need a second gateway.
            if template.http.is_some() {
                return Err(resource.unsupported());
            }
            template.http = Some(HttpApi::read(resource, &template)?);
        }
        template.websocket_api = WebSocketApi::read(&resources, &template)?;
        Ok(template)
    }

    pub fn table(&self, logical_id: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.logical_id == logical_id)
    }

    pub fn queue(&self, logical_id: &str) -> Option<&Queue> {
        self.queues.iter().find(|queue| queue.logical_id == logical_id)
    }

    pub fn function(&self, logical_id: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.logical_id == logical_id)
    }

    pub fn role(&self, function: &Function) -> Option<&Role> {
        self.roles.iter().find(|role| Some(&role.logical_id) == function.role.as_ref())
    }

    /// The environment of a function. `overrides` replace variables. `locate` resolves references that exist only after
    /// creation, such as URLs and ARNs.
    ///
    /// A reference that `locate` does not know is an error only if its variable is not overridden.
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

    fn invoked(&self, Invocation(function): &Invocation) -> Result<String, String> {
        match self.function(function) {
            Some(function) => Ok(function.logical_id.clone()),
            None => Err(format!("must be the invocation of a function of this template (got {function})")),
        }
    }
}

/// AWS refuses a second resource with the same name. Here, both would be the same resource.
fn named_once<'o>(
    resource: &Resource,
    name: &str,
    mut others: impl Iterator<Item = (&'o String, &'o String)>,
) -> Result<(), TemplateError> {
    match others.find(|(other, _)| *other == name) {
        Some((_, taken_by)) => Err(TemplateError::at(&resource.path, format!("has the name of {taken_by}, {name}"))),
        None => Ok(()),
    }
}
