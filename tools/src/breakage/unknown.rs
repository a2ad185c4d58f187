//! Where nobody can know whether a provider has sent something, and what the channel's setting makes of that.

use super::{Break, Call, Effects, Service, Unknown};

/// Whether nobody can know what a provider did that takes no key: it was asked, and whoever asked it is dead or has no
/// answer. Where it is held, a dead worker is enough: who claims a send may have handed it over.
pub fn is_unknown(calls: &[Call], index: usize, broken: Break, unknown: Unknown) -> bool {
    let is_write = |call: &Call| call.service == Service::DynamoDb && !call.is_read();
    let claim = calls.iter().position(is_write);
    let record = calls.iter().rposition(is_write);
    let is_asked = calls[index].is_send();
    match unknown {
        Unknown::Resent => {
            (is_asked && matches!(broken, Break::KilledAfter | Break::AnswerLost))
                || (record == Some(index) && broken == Break::KilledBefore)
        }
        Unknown::Held => {
            let asked = calls.iter().position(Call::is_send);
            (claim == Some(index) && claim < asked && broken == Break::KilledAfter)
                || (is_asked && (broken.kills() || broken == Break::AnswerLost))
                || (record == Some(index) && broken == Break::KilledBefore)
        }
    }
}

/// Whether exactly that is left which the channel's setting says.
pub fn is_as_set(unknown: Unknown, seen: &Effects, expected: &Effects) -> bool {
    let channel = ["EMAIL", "SMS", "PUSH", "SLACK"].into_iter().find(|channel| expected.of(channel) > 0);
    let Some(channel) = channel else { return false };
    match unknown {
        Unknown::Resent => *seen == expected.with(channel, 2),
        Unknown::Held => {
            let held = expected.with("sends SENT", expected.of("sends SENT") - 1).with("sends UNCERTAIN", 1);
            let held = held.with("dead-letters OPEN", 1);
            let seen = seen.without_content("dead-letters");
            [0, 1].into_iter().any(|times| seen == held.with(channel, times))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_token_excuses_nothing_and_a_lost_send_does() {
        let call = |service, operation: &str| Call { service, operation: operation.to_owned(), before: 0 };
        let calls = [
            call(Service::DynamoDb, "PutItem"),
            call(Service::Provider, "/token"),
            call(Service::Provider, "/v1/projects/belfry/messages:send"),
            call(Service::DynamoDb, "TransactWriteItems"),
        ];
        for unknown in [Unknown::Resent, Unknown::Held] {
            assert!(!is_unknown(&calls, 1, Break::AnswerLost, unknown));
            assert!(is_unknown(&calls, 2, Break::AnswerLost, unknown));
            assert!(!is_unknown(&calls, 2, Break::Throttled, unknown));
            assert!(is_unknown(&calls, 3, Break::KilledBefore, unknown));
        }
        assert!(!is_unknown(&calls, 2, Break::KilledBefore, Unknown::Resent));
    }
}
