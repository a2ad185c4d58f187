//! Faults: how a provider fails, and for how many requests (the local host's `POST /local/faults`).

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// A provider, named after its channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Target {
    /// SES v2.
    Email,
    /// AWS End User Messaging.
    Sms,
    /// Firebase Cloud Messaging.
    Push,
    /// Slack's incoming webhooks.
    Slack,
    /// Stripe's payment intents and refunds.
    Payment,
}

/// How the provider treats a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Works normally.
    Ok,
    /// Fails with 500 and does nothing.
    Error,
    /// Refuses for good: rejected mail, invalid number, unregistered push token, removed webhook, declined card.
    Reject,
    /// Throttles (429, 503) and does nothing.
    Unavailable,
    /// Does nothing and holds the answer for 30 s or until the client disconnects.
    Timeout,
    /// Does what was requested, then closes the connection without an answer.
    DropAnswer,
}

/// A provider's fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The provider.
    pub target: Target,
    /// How it fails.
    pub mode: Mode,
    /// The number of requests after which it works again; `None` lasts until the fault is replaced.
    pub times: Option<u32>,
}

/// The faults, at most one for each provider.
#[derive(Default)]
pub(crate) struct Faults(HashMap<Target, Fault>);

impl Faults {
    pub(crate) fn set(&mut self, fault: Fault) {
        self.0.insert(fault.target, fault);
    }

    /// Returns the fault of the next request to `target`, without counting it.
    pub(crate) fn mode(&self, target: Target) -> Mode {
        match self.0.get(&target) {
            None | Some(Fault { times: Some(0), .. }) => Mode::Ok,
            Some(fault) => fault.mode,
        }
    }

    /// Returns the faults that are not used up, in the order of [`Target`].
    pub(crate) fn in_force(&self) -> Vec<Fault> {
        let targets = [Target::Email, Target::Sms, Target::Push, Target::Slack, Target::Payment];
        targets
            .iter()
            .filter(|target| self.mode(**target) != Mode::Ok)
            .filter_map(|target| self.0.get(target).cloned())
            .collect()
    }

    /// Counts one request to `target` against its fault.
    pub(crate) fn count(&mut self, target: Target) {
        if let Some(Fault { times: Some(left), .. }) = self.0.get_mut(&target) {
            *left = left.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(mode: Mode, times: Option<u32>) -> Fault {
        Fault { target: Target::Sms, mode, times }
    }

    fn next(faults: &mut Faults, target: Target) -> Mode {
        let mode = faults.mode(target);
        faults.count(target);
        mode
    }

    #[test]
    fn counted_fault_ends_and_affects_no_other_provider() {
        let mut faults = Faults::default();
        faults.set(fault(Mode::Error, Some(2)));
        assert_eq!(next(&mut faults, Target::Email), Mode::Ok);
        let met: Vec<Mode> = (0..3).map(|_| next(&mut faults, Target::Sms)).collect();
        assert_eq!(met, [Mode::Error, Mode::Error, Mode::Ok]);
        assert_eq!(faults.in_force(), []);
    }

    #[test]
    fn uncounted_fault_lasts_until_replaced() {
        let mut faults = Faults::default();
        faults.set(fault(Mode::Timeout, None));
        assert_eq!(faults.in_force(), [fault(Mode::Timeout, None)]);
        assert!((0..50).all(|_| next(&mut faults, Target::Sms) == Mode::Timeout));
        faults.set(fault(Mode::Ok, None));
        assert_eq!(next(&mut faults, Target::Sms), Mode::Ok);
    }

    #[test]
    fn fault_is_parsed_as_the_local_host_documents_it() {
        let read = |body| serde_json::from_str::<Fault>(body).ok();
        let counted = r#"{"target": "SMS", "mode": "drop_answer", "times": 3}"#;
        assert_eq!(read(counted), Some(fault(Mode::DropAnswer, Some(3))));
        let uncounted = r#"{"target": "SMS", "mode": "ok"}"#;
        assert_eq!(read(uncounted), Some(fault(Mode::Ok, None)));
        let misspelt = r#"{"target": "SMS", "mode": "ok", "time": 3}"#;
        assert_eq!(read(misspelt), None);
    }
}
