//! What is going on, for `/local/idle`: how many invocations are under way, and how many requests that may change
//! something, and whether anything has begun since somebody last looked.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A count of what is under way, shared by everything that starts something.
#[derive(Debug, Clone, Default)]
pub struct Activity {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    under_way: AtomicUsize,
    begun: AtomicU64,
}

/// Something under way; it ends when this is dropped, however it ends.
#[derive(Debug)]
pub struct UnderWay {
    shared: Arc<Shared>,
}

impl Activity {
    /// Something begins.
    pub fn begin(&self) -> UnderWay {
        self.shared.under_way.fetch_add(1, Ordering::SeqCst);
        self.shared.begun.fetch_add(1, Ordering::SeqCst);
        UnderWay { shared: Arc::clone(&self.shared) }
    }

    /// How much is under way.
    pub fn under_way(&self) -> usize {
        self.shared.under_way.load(Ordering::SeqCst)
    }

    /// How much has ever begun.
    pub fn begun(&self) -> u64 {
        self.shared.begun.load(Ordering::SeqCst)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.shared.under_way.fetch_sub(1, Ordering::SeqCst);
    }
}
