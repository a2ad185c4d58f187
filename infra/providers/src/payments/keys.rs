//! Idempotency keys: the first answer under a key is the answer to every repetition of the same request, and a
//! different request under the same key is an error.

use std::collections::HashMap;

use super::Reply;
use super::refusal::Refusal;
use crate::sent::PaymentCall;

/// The keys that are remembered.
#[derive(Default)]
pub(super) struct Keys(HashMap<String, First>);

/// The first request under a key, and its answer.
struct First {
    call: PaymentCall,
    reply: Reply,
}

impl Keys {
    /// The answer to a request whose key is known.
    pub(super) fn replay(&self, key: &str, call: &PaymentCall) -> Option<Reply> {
        let first = self.0.get(key)?;
        Some(if first.call == *call {
            Reply { replayed: true, ..first.reply.clone() }
        } else {
            Refusal::KeyReused.into()
        })
    }

    pub(super) fn keep(&mut self, key: &str, call: &PaymentCall, reply: &Reply) {
        let first = First { call: call.clone(), reply: reply.clone() };
        self.0.insert(key.to_owned(), first);
    }
}
