//! AWS's list prices, and what something costs by them.
//!
//! `Prices::default().dollars(&tools::costs::chain().await)` is the price of a whole chain, in dollars per million.

use std::ops::AddAssign;

use clap::Args;
use harness::meter::Units;

/// What is billed for one use case, or for one function's part in it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Used {
    /// Units of DynamoDB and SQS, and invocations by a queue or a stream.
    pub units: Units,
    /// Invocations by somebody who calls: over HTTP, by the clock, through a socket.
    pub calls: f64,
    /// Requests of the HTTP API.
    pub http: f64,
}

impl Used {
    /// All invocations, each batch of one message.
    pub fn invocations(&self) -> f64 {
        self.units.batches + self.calls
    }

    /// The same where so many messages or records share the requests and invocations of consumers.
    #[must_use]
    pub fn in_batches_of(mut self, batch: f64) -> Self {
        self.units.requests /= batch;
        self.units.batches /= batch;
        self
    }
}

impl AddAssign for Used {
    fn add_assign(&mut self, more: Self) {
        self.units += more.units;
        self.calls += more.calls;
        self.http += more.http;
    }
}

/// List prices of us-east-1, in dollars per million, and what cannot be measured on a laptop.
#[derive(Debug, Clone, Copy, Args)]
pub struct Prices {
    /// A million write request units of DynamoDB, on demand.
    #[arg(long, default_value_t = Prices::default().write_units)]
    pub write_units: f64,
    /// A million read request units.
    #[arg(long, default_value_t = Prices::default().read_units)]
    pub read_units: f64,
    /// A million requests of SQS.
    #[arg(long, default_value_t = Prices::default().sqs_requests)]
    pub sqs_requests: f64,
    /// A million requests of an HTTP API.
    #[arg(long, default_value_t = Prices::default().http_requests)]
    pub http_requests: f64,
    /// A million invocations.
    #[arg(long, default_value_t = Prices::default().invocations)]
    pub invocations: f64,
    /// A GB-second of Lambda, x86_64.
    #[arg(long, default_value_t = Prices::default().gigabyte_second)]
    pub gigabyte_second: f64,
    /// Memory of the functions, in MB.
    #[arg(long, default_value_t = Prices::default().memory)]
    pub memory: f64,
    /// How long an invocation takes, in milliseconds: depends on the network between Lambda and what it calls.
    #[arg(long, default_value_t = Prices::default().duration)]
    pub duration: f64,
}

impl Default for Prices {
    fn default() -> Self {
        Self {
            write_units: 0.625,
            read_units: 0.125,
            sqs_requests: 0.40,
            http_requests: 1.00,
            invocations: 0.20,
            gigabyte_second: 0.000_016_666_7,
            memory: 256.0,
            duration: 15.0,
        }
    }
}

impl Prices {
    /// Dollars for a million times what was used.
    pub fn dollars(&self, used: &Used) -> f64 {
        let Used { units, http, .. } = used;
        let seconds = self.duration / 1e3 * self.memory / 1024.0;
        self.write_units * units.writes
            + self.read_units * units.reads
            + self.sqs_requests * units.requests
            + self.http_requests * http
            + used.invocations() * (self.invocations + self.gigabyte_second * seconds * 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consumers_share_what_a_batch_takes_and_callers_share_nothing() {
        let units = Units { writes: 8.0, reads: 4.0, requests: 10.0, batches: 10.0 };
        let used = Used { units, calls: 1.0, http: 1.0 };
        let free = Prices { memory: 0.0, ..Prices::default() };
        assert!((free.dollars(&used) - (5.0 + 0.5 + 4.0 + 1.0 + 2.2)).abs() < 1e-9);
        assert!((free.dollars(&used.in_batches_of(10.0)) - (5.0 + 0.5 + 0.4 + 1.0 + 0.4)).abs() < 1e-9);
    }
}
