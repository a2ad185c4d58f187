//! `AWS::Serverless::Function`: which binary runs, with which environment and role, invoked by what.

use super::error::TemplateError;
use super::mapping::{Event, QueueMapping, ScheduleMapping, StreamMapping};
use super::typed::{Text, Whole, properties, role_arn, typed};
use super::value::Value;
use super::{Resource, Template};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use yaml_serde::Mapping;

/// A function and everything that invokes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    pub logical_id: String,
    /// `Metadata.BuildProperties.Binary`.
    pub binary: String,
    /// In seconds.
    pub timeout: u32,
    /// The logical id of the role. Without one, everything is denied.
    pub role: Option<String>,
    /// The variables, including those of `Globals`. See [`Template::environment`].
    pub environment: BTreeMap<String, Value>,
    /// The names of all declared variables, including those that are `AWS::NoValue`. `sam local` passes no others.
    pub declared: BTreeSet<String>,
    pub streams: Vec<StreamMapping>,
    pub queues: Vec<QueueMapping>,
    pub schedules: Vec<ScheduleMapping>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Metadata {
    build_properties: BuildProperties,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct BuildProperties {
    binary: Text,
}

properties! {
    /// Of a function and of `Globals.Function`. `Policies` is refused: the template does not show what SAM makes of it.
    #[derive(Default)]
    struct Properties {
        environment: Option<Environment>,
        events: Option<Mapping>,
        #[serde(default, deserialize_with = "role_arn")]
        role: Option<String>,
        timeout: Option<Whole<1, 900>>,
    }
    // Packaging, network and size: the local host runs the handler in its own process.
    ignored {
        Architectures AutoPublishAlias CodeUri DeadLetterQueue DeploymentPreference Description EphemeralStorage
        EventInvokeConfig FunctionName Handler KmsKeyArn Layers LoggingConfig MemorySize PackageType
        PermissionsBoundary PropagateTags ProvisionedConcurrencyConfig ReservedConcurrentExecutions Runtime
        SnapStart Tags Tracing VpcConfig
    }

    #[derive(Clone)]
    struct Environment {
        /// `None` for `AWS::NoValue`.
        variables: BTreeMap<String, Option<Value>>,
    }
}

impl Function {
    /// `template` must already hold the tables and queues.
    pub(super) fn read(resource: &Resource, globals: &Properties, template: &Template) -> Result<Self, TemplateError> {
        let metadata: Metadata = typed(&format!("{}.Metadata", resource.path), &resource.metadata)?;
        let path = resource.properties_path();
        let properties: Properties = resource.typed()?;
        // A function's own setting wins over the one for all.
        let timeout = properties.timeout.or(globals.timeout).map_or(3, |timeout| timeout.0);
        let mut variables = BTreeMap::new();
        for environment in [&globals.environment, &properties.environment].into_iter().flatten() {
            variables.extend(environment.variables.clone());
        }
        let mut function = Self {
            logical_id: resource.logical_id.clone(),
            binary: metadata.build_properties.binary.0,
            timeout,
            role: properties.role,
            declared: variables.keys().cloned().collect(),
            environment: variables.into_iter().filter_map(|(name, value)| Some((name, value?))).collect(),
            streams: Vec::new(),
            queues: Vec::new(),
            schedules: Vec::new(),
        };
        for (name, event) in properties.events.iter().flatten() {
            let name = name.as_str().unwrap_or_default();
            match Event::read(name, &format!("{path}.Events.{name}"), event, timeout, template)? {
                Some(Event::Stream(mapping)) => function.streams.push(mapping),
                Some(Event::Queue(mapping)) => function.queues.push(mapping),
                Some(Event::Schedule(mapping)) => function.schedules.push(mapping),
                None => {}
            }
        }
        Ok(function)
    }
}
