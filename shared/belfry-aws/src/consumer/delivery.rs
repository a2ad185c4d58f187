//! A message as a handler sees it.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use belfry_core::{Context, Event};

use crate::Belfry;

/// A delivered message, its event, and the context of the execution. Ids of the context are the same in every delivery of
/// the event.
#[derive(Debug, Clone)]
pub struct Delivery<M> {
    /// The message.
    pub message: M,
    /// The event that carried it.
    pub event: Arc<Event>,
    /// The queue that it came from.
    pub queue: Arc<str>,
    /// The text attributes of the message.
    pub attributes: Arc<BTreeMap<String, String>>,
    /// How often it has been received, this time included.
    pub receive_count: u32,
    pub(crate) ctx: Context,
    pub(crate) belfry: Belfry,
}

impl<M> Deref for Delivery<M> {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.ctx
    }
}

impl<M> Delivery<M> {
    /// The kernel, for effects that read.
    pub fn belfry(&self) -> &Belfry {
        &self.belfry
    }

    /// The context of the execution.
    pub fn context(&self) -> &Context {
        &self.ctx
    }
}
