//! Running invocations and requests, for `/local/idle`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Counts what is running. Clones share the counts.
#[derive(Debug, Clone, Default)]
pub struct Activity {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    running: AtomicUsize,
    begun: AtomicU64,
}

/// Something running. It ends when this is dropped.
#[derive(Debug)]
pub struct Running {
    shared: Arc<Shared>,
}

impl Activity {
    pub fn begin(&self) -> Running {
        self.shared.running.fetch_add(1, Ordering::SeqCst);
        self.shared.begun.fetch_add(1, Ordering::SeqCst);
        Running { shared: Arc::clone(&self.shared) }
    }

    pub fn running(&self) -> usize {
        self.shared.running.load(Ordering::SeqCst)
    }

    pub fn begun(&self) -> u64 {
        self.shared.begun.load(Ordering::SeqCst)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shared.running.fetch_sub(1, Ordering::SeqCst);
    }
}
