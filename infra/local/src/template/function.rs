//! `AWS::Serverless::Function`: which binary runs, with what environment, woken by what.

use super::Template;
use super::error::TemplateError;
use super::event::Event;
use super::node::Node;
use super::queue_mapping::QueueMapping;
use super::role::Role;
use super::schedule_mapping::ScheduleMapping;
use super::stream_mapping::StreamMapping;
use super::value::Value;
use std::collections::BTreeMap;

/// A function and everything that invokes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    /// The name within the template.
    pub logical_id: String,
    /// The cargo binary (`Metadata.BuildProperties.Binary`).
    pub binary: String,
    /// How long one invocation may take, in seconds.
    pub timeout: u32,
    /// The logical id of its role. Without one it may do nothing.
    pub role: Option<String>,
    /// Its variables, those of `Globals` included; see [`Template::environment`].
    pub environment: BTreeMap<String, Value>,
    /// The streams that it reads.
    pub streams: Vec<StreamMapping>,
    /// The queues that it consumes.
    pub queues: Vec<QueueMapping>,
    /// The times at which it runs.
    pub schedules: Vec<ScheduleMapping>,
}

/// `Policies` is not among all these: what SAM makes of it, and adds to it, is not to be seen in the template.
const READ: [&str; 4] = ["Environment", "Events", "Role", "Timeout"];
/// Packaging, networks and size: the local host runs the handler within its own process.
const SKIPPED: [&str; 24] = [
    "Architectures",
    "AutoPublishAlias",
    "CodeUri",
    "DeadLetterQueue",
    "DeploymentPreference",
    "Description",
    "EphemeralStorage",
    "EventInvokeConfig",
    "FunctionName",
    "Handler",
    "KmsKeyArn",
    "Layers",
    "LoggingConfig",
    "MemorySize",
    "PackageType",
    "PermissionsBoundary",
    "PropagateTags",
    "ProvisionedConcurrencyConfig",
    "ReservedConcurrentExecutions",
    "Runtime",
    "SnapStart",
    "Tags",
    "Tracing",
    "VpcConfig",
];

impl Function {
    /// `template` has to hold the tables and queues already.
    pub(super) fn read(
        logical_id: &str,
        resource: &Node<'_>,
        globals: Option<&Node<'_>>,
        template: &Template,
    ) -> Result<Self, TemplateError> {
        let binary = resource.need("Metadata")?.need("BuildProperties")?.need("Binary")?.text()?;
        let properties = resource.need("Properties")?;
        properties.only(&[READ.as_slice(), &SKIPPED].concat())?;

        // A function's own setting wins over the one for all.
        let layers: Vec<_> = globals.into_iter().chain([&properties]).collect();
        let mut timeout = 3;
        let mut environment = BTreeMap::new();
        for layer in layers {
            timeout = layer.number_or("Timeout", timeout, 1..=900)?;
            environment.extend(variables(layer)?);
        }

        let mut function = Self {
            logical_id: logical_id.to_owned(),
            binary,
            timeout,
            role: properties.get("Role")?.map(|role| Role::named(&role)).transpose()?,
            environment,
            streams: Vec::new(),
            queues: Vec::new(),
            schedules: Vec::new(),
        };
        let events = properties.get("Events")?;
        for (name, event) in events.map_or(Ok(Vec::new()), |events| events.entries())? {
            match Event::read(name, &event, timeout, template)? {
                Event::Stream(mapping) => function.streams.push(mapping),
                Event::Queue(mapping) => function.queues.push(mapping),
                Event::Schedule(mapping) => function.schedules.push(mapping),
                Event::Disabled => {}
            }
        }
        Ok(function)
    }
}

fn variables(layer: &Node<'_>) -> Result<BTreeMap<String, Value>, TemplateError> {
    let Some(environment) = layer.get("Environment")? else {
        return Ok(BTreeMap::new());
    };
    environment.only(&["Variables"])?;
    let variables = environment.need("Variables")?.entries()?;
    variables.into_iter().map(|(name, value)| Ok((name.to_owned(), value.value()?))).collect()
}
