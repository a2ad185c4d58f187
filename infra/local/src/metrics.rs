//! The metrics of the functions, kept for `GET /local/metrics` and added up for `GET /local/pulse`: in the cloud,
//! CloudWatch reads them off the log.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use runtime::Metrics;
use serde_json::Value;

use crate::pulse::Pulse;

/// How many lines are kept.
const KEPT: usize = 10_000;

/// The last lines in embedded metric format.
#[derive(Debug, Clone, Default)]
pub struct RecentMetrics {
    lines: Arc<Mutex<VecDeque<String>>>,
    pulse: Arc<Mutex<Pulse>>,
}

/// Collects one line.
struct Line {
    bytes: Vec<u8>,
    recent: RecentMetrics,
}

impl RecentMetrics {
    /// Metrics that end up here.
    pub fn sink(&self) -> Metrics {
        let recent = self.clone();
        Metrics::to_each(move || Line { bytes: Vec::new(), recent: recent.clone() })
    }

    /// Metrics of functions on the kernel, which end up here too.
    pub fn kernel_sink(&self) -> belfry_aws::Metrics {
        let recent = self.clone();
        belfry_aws::Metrics::to_each(move || Line { bytes: Vec::new(), recent: recent.clone() })
    }

    /// The lines, oldest first.
    pub fn lines(&self) -> Vec<Value> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// What was counted, by the second.
    pub fn pulse(&self) -> Pulse {
        self.pulse.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl io::Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let text = String::from_utf8_lossy(&self.bytes);
        let now = jiff::Timestamp::now().as_second();
        let mut pulse = self.recent.pulse.lock().unwrap_or_else(PoisonError::into_inner);
        for line in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
            pulse.add(now, &line);
        }
        drop(pulse);
        let mut lines = self.recent.lines.lock().unwrap_or_else(PoisonError::into_inner);
        for line in text.lines().filter(|line| !line.is_empty()) {
            lines.push_back(line.to_owned());
        }
        while lines.len() > KEPT {
            lines.pop_front();
        }
    }
}
