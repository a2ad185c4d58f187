//! Why an engine does not start.

use std::io;

use dynoxide::DynoxideError;

/// Why an engine does not start.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Somebody else listens on the port that was asked for.
    #[error("port {port} is taken")]
    PortTaken {
        /// The port that was asked for.
        port: u16,
        /// What the system said.
        source: io::Error,
    },
    /// The port cannot be listened on, for another reason.
    #[error("cannot listen on port {port}: {source}")]
    Listen {
        /// The port that was asked for.
        port: u16,
        /// What the system said.
        source: io::Error,
    },
    /// There is no thread or no runtime to be had.
    #[error("cannot start the thread of {name}")]
    Thread {
        /// Which of the two engines.
        name: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The schema that every database starts from could not be made. It is made once for the whole process.
    #[error("cannot make the schema that every database starts from")]
    Template(#[source] &'static TemplateError),
    /// The schema could not be copied into a new database.
    #[error("cannot make a database in memory")]
    Database(#[source] DynoxideError),
}

/// Why the schema that every database starts from could not be made.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// dynoxide could not make its own part.
    #[error("dynoxide's own tables")]
    Tables(#[from] DynoxideError),
    /// The indexes and the trigger could not be added.
    #[error("the indexes and the trigger")]
    Additions(#[from] rusqlite::Error),
}
