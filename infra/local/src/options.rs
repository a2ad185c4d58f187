//! What the host is started with.

use std::collections::BTreeMap;

use crate::aws::{ACCOUNT, Endpoints, REGION};
use crate::containers::Containers;
use crate::provider_settings;
use crate::template::{Template, TemplateError};

/// The deployed template. It is compiled in, so the program runs from any folder.
const TEMPLATE: &str = include_str!("../../template.yaml");

/// The default stack name. No deployed stack has it, so a function that reached AWS by mistake would find no tables there.
pub const STACK: &str = "belfry-local";

/// What the host is started with.
#[derive(Debug, Clone)]
pub struct Options {
    /// The port of the HTTP API. The system chooses one for 0.
    pub port: u16,
    /// The stack name, the prefix of all table and queue names.
    pub stack: String,
    /// A template to use instead of the deployed one.
    pub template: Option<String>,
    /// Template parameters that differ from their defaults.
    pub parameters: BTreeMap<String, String>,
    /// Settings of all functions. They override the template's.
    pub settings: BTreeMap<String, String>,
    /// Where DynamoDB and SQS answer. Without it, the host starts its own engines.
    pub endpoints: Option<Endpoints>,
    /// Writes the demo data.
    pub demo: bool,
    /// Runs no pollers and no schedules: functions are invoked by hand.
    pub by_hand: bool,
    /// Also serves containers on this machine.
    pub containers: Option<Containers>,
    /// The URL of `sam local start-lambda`. Without it, functions run in this process.
    pub lambda: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            port: 3000,
            stack: STACK.to_owned(),
            template: None,
            parameters: BTreeMap::new(),
            settings: BTreeMap::new(),
            endpoints: None,
            demo: false,
            by_hand: false,
            containers: None,
            lambda: None,
        }
    }
}

impl Options {
    /// Reads the template with the parameters of a local deployment.
    pub(crate) fn read_template(&self) -> Result<Template, TemplateError> {
        let mut parameters = self.parameters.clone();
        for (name, value) in [
            ("AWS::StackName", self.stack.as_str()),
            ("AWS::Region", REGION),
            ("AWS::AccountId", ACCOUNT),
            ("AWS::Partition", "aws"),
            ("AWS::URLSuffix", "amazonaws.com"),
        ] {
            parameters.insert(name.to_owned(), value.to_owned());
        }
        let template = self.template.as_deref().unwrap_or(TEMPLATE);
        for (name, value) in provider_settings::parameters(&self.stack) {
            // Another template need not declare it.
            if template.contains(&format!("\n  {name}:\n")) {
                parameters.entry(name).or_insert(value);
            }
        }
        Template::parse(template, &parameters)
    }
}

#[cfg(test)]
mod tests {
    use super::STACK;

    #[test]
    fn no_stack_is_deployed_under_the_local_stacks_name() {
        let configuration: toml::Table = include_str!("../../../samconfig.toml").parse().expect("TOML");
        let deploys = configuration.values().filter_map(|environment| environment.get("deploy")?.get("parameters"));
        let names: Vec<&str> = deploys.filter_map(|parameters| parameters.get("stack_name")?.as_str()).collect();
        assert!(!names.is_empty() && !names.contains(&STACK), "{names:?}");
    }
}
