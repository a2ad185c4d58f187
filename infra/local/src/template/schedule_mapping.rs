//! The events `Schedule` and `ScheduleV2`: the clock wakes the function.

use super::error::TemplateError;
use super::event::{Event, enabled, refuse};
use super::node::Node;
use crate::mapping::Schedule;

/// A time at which a function runs.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduleMapping {
    /// The name of the event within the function.
    pub name: String,
    /// When.
    pub schedule: Schedule,
    /// What the function is handed, instead of the event that AWS makes.
    pub input: Option<serde_json::Value>,
}

impl ScheduleMapping {
    /// An EventBridge rule.
    pub(super) fn read_rule(name: &str, properties: &Node<'_>) -> Result<Event, TemplateError> {
        properties.only(&[
            "DeadLetterConfig",
            "Description",
            "Enabled",
            "Input",
            "Name",
            "RetryPolicy",
            "RoleArn",
            "Schedule",
            "State",
        ])?;
        Self::read(name, properties, &properties.need("Schedule")?)
    }

    /// EventBridge Scheduler.
    pub(super) fn read_scheduler(name: &str, properties: &Node<'_>) -> Result<Event, TemplateError> {
        refuse(properties, &["EndDate", "StartDate"])?;
        properties.only(&[
            "DeadLetterConfig",
            "Description",
            "FlexibleTimeWindow",
            "GroupName",
            "Input",
            "KmsKeyArn",
            "Name",
            "OmitName",
            "PermissionsBoundary",
            "RetryPolicy",
            "RoleArn",
            "ScheduleExpression",
            "ScheduleExpressionTimezone",
            "State",
        ])?;
        if let Some(zone) = properties.get("ScheduleExpressionTimezone")? {
            zone.choice(&[("UTC", ())])?;
        }
        Self::read(name, properties, &properties.need("ScheduleExpression")?)
    }

    fn read(name: &str, properties: &Node<'_>, expression: &Node<'_>) -> Result<Event, TemplateError> {
        let schedule = Schedule::parse(&expression.text()?).map_err(|error| expression.error(error))?;
        let input = match properties.get("Input")? {
            Some(input) => Some(serde_json::from_str(&input.text()?).map_err(|error| input.error(error))?),
            None => None,
        };
        enabled(properties, Event::Schedule(Self { name: name.to_owned(), schedule, input }))
    }
}
