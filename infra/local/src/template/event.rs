//! One entry of a function's `Events`, and what its kinds have in common.
//!
//! Unlike a table's or a function's, every property here changes what is delivered, so none is
//! skipped unless it is named; limits and defaults are Lambda's.

use super::Template;
use super::error::{Problem, TemplateError};
use super::node::Node;
use super::queue_mapping::QueueMapping;
use super::schedule_mapping::ScheduleMapping;
use super::stream_mapping::StreamMapping;
use crate::mapping::Filter;

/// One entry of `Events`.
pub(super) enum Event {
    Stream(StreamMapping),
    Queue(QueueMapping),
    Schedule(ScheduleMapping),
    /// Checked like the others, and then not started.
    Disabled,
}

impl Event {
    /// `timeout` is the function's.
    pub(super) fn read(name: &str, event: &Node<'_>, timeout: u32, template: &Template) -> Result<Self, TemplateError> {
        event.only(&["Properties", "Type"])?;
        let kind = event.need("Type")?;
        let properties = event.need("Properties")?;
        match kind.text()?.as_str() {
            "DynamoDB" => StreamMapping::read(name, &properties, template),
            "SQS" => QueueMapping::read(name, &properties, timeout, template),
            "Schedule" => ScheduleMapping::read_rule(name, &properties),
            "ScheduleV2" => ScheduleMapping::read_scheduler(name, &properties),
            _ => Err(kind.unexpected("DynamoDB, SQS, Schedule or ScheduleV2")),
        }
    }
}

/// The event, unless it is switched off.
pub(super) fn enabled(properties: &Node<'_>, event: Event) -> Result<Event, TemplateError> {
    let states = [("ENABLED", true), ("DISABLED", false)];
    let state = properties.get("State")?.map_or(Ok(true), |state| state.choice(&states))?;
    let enabled = state && properties.flag_or("Enabled", true)?;
    Ok(if enabled { event } else { Event::Disabled })
}

/// Refuses what AWS would do and the local host does not.
pub(super) fn refuse(properties: &Node<'_>, unsupported: &[&str]) -> Result<(), TemplateError> {
    for name in unsupported {
        if let Some(property) = properties.get(name)? {
            return Err(property.error(Problem::Unsupported));
        }
    }
    Ok(())
}

/// The patterns of `FilterCriteria`.
pub(super) fn filters(properties: &Node<'_>) -> Result<Vec<Filter>, TemplateError> {
    let Some(criteria) = properties.get("FilterCriteria")? else {
        return Ok(Vec::new());
    };
    criteria.only(&["Filters"])?;
    let filters = criteria.need("Filters")?.items()?;
    let filters = filters.iter().map(|filter| {
        filter.only(&["Pattern"])?;
        let pattern = filter.need("Pattern")?;
        Filter::parse(&pattern.text()?).map_err(|error| pattern.error(error))
    });
    filters.collect()
}

/// Whether `FunctionResponseTypes` asks for it.
pub(super) fn report_batch_item_failures(properties: &Node<'_>) -> Result<bool, TemplateError> {
    let types = properties.get("FunctionResponseTypes")?;
    let types = types.map_or(Ok(Vec::new()), |types| types.items())?;
    for kind in &types {
        kind.choice(&[("ReportBatchItemFailures", ())])?;
    }
    Ok(!types.is_empty())
}
