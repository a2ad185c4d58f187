//! What a consumer does with a message.

use std::fmt;

use belfry_core::{Command, Commit};
use futures_util::future::BoxFuture;

use crate::execute::{Unanswered, Work};

/// What a consumer does with a message.
#[must_use = "an effect does nothing until it is returned to the kernel"]
pub struct Effect {
    pub(super) kind: EffectKind,
    pub(super) after_commit: Option<BoxFuture<'static, ()>>,
}

pub(super) enum EffectKind {
    Commit(Commit<()>),
    Run(Box<dyn Work>),
    Done,
}

impl Effect {
    /// Commits these writes and events together with the processed mark. If something that they depend on has changed,
    /// the handler is asked again.
    pub fn commit(commit: Commit<()>) -> Self {
        Self { kind: EffectKind::Commit(commit), after_commit: None }
    }

    /// Runs a command and commits it together with the processed mark. It decides again after a lost race.
    pub fn run<C: Command + Send + 'static>(command: C) -> Self {
        Self { kind: EffectKind::Run(Box::new(Unanswered(command))), after_commit: None }
    }

    /// Acknowledges the message without a processed mark. A redelivery is handled again.
    pub fn done() -> Self {
        Self { kind: EffectKind::Done, after_commit: None }
    }

    /// Runs after the commit, at most once and best effort: not for a duplicate, and not if one of the optional writes
    /// existed already, because then another delivery has run it.
    pub fn then(mut self, after_commit: impl Future<Output = ()> + Send + 'static) -> Self {
        self.after_commit = Some(Box::pin(after_commit));
        self
    }
}

impl From<Commit<()>> for Effect {
    fn from(commit: Commit<()>) -> Self {
        Self::commit(commit)
    }
}

impl fmt::Debug for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.kind {
            EffectKind::Commit(_) => "Commit",
            EffectKind::Run(_) => "Run",
            EffectKind::Done => "Done",
        };
        f.debug_struct("Effect").field("kind", &kind).finish_non_exhaustive()
    }
}
