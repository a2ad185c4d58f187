//! Idempotency keys: a repetition of a request gets the stored answer, and another request under the same key is an error.

use std::collections::HashMap;

use super::Reply;
use super::refusal::Refusal;
use crate::sent::PaymentCall;

/// The stored answers by key.
#[derive(Default)]
pub(super) struct Keys(HashMap<String, StoredAnswer>);

struct StoredAnswer {
    call: PaymentCall,
    reply: Reply,
}

impl Keys {
    /// Returns the answer to a request whose key is known.
    pub(super) fn replay(&self, key: &str, call: &PaymentCall) -> Option<Reply> {
        let stored = self.0.get(key)?;
        Some(if stored.call == *call {
            Reply { replayed: true, ..stored.reply.clone() }
        } else {
            Refusal::KeyReused.into()
        })
    }

    pub(super) fn store(&mut self, key: &str, call: &PaymentCall, reply: &Reply) {
        self.0.insert(key.to_owned(), StoredAnswer { call: call.clone(), reply: reply.clone() });
    }
}
