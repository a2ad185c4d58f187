//! The functions' metrics, for `GET /local/metrics` and `GET /local/pulse`. In AWS, CloudWatch extracts them from the
//! log.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use belfry_aws::Metrics;
use serde_json::Value;

use crate::pulse::Pulse;

const KEPT: usize = 10_000;

#[derive(Debug, Clone, Default)]
pub struct RecentMetrics {
    lines: Arc<Mutex<VecDeque<String>>>,
    pulse: Arc<Mutex<Pulse>>,
}

struct Line {
    bytes: Vec<u8>,
    recent: RecentMetrics,
}

impl RecentMetrics {
    /// The same for functions on the kernel.
    pub fn sink(&self) -> Metrics {
        let recent = self.clone();
        Metrics::to_each(move || Line { bytes: Vec::new(), recent: recent.clone() })
    }

    /// Oldest first.
    pub fn lines(&self) -> Vec<Value> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

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
