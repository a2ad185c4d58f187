//! The provider's words that we repeat. Any other stays outside.

/// Why a card was declined, as far as its holder may know: the provider asks not to tell that a card counts as lost,
/// stolen or fraudulent, so those are plainly declined.
const DECLINES: [&str; 30] = [
    "approve_with_id",
    "authentication_required",
    "call_issuer",
    "card_declined",
    "card_not_supported",
    "card_velocity_exceeded",
    "currency_not_supported",
    "do_not_honor",
    "duplicate_transaction",
    "expired_card",
    "generic_decline",
    "incorrect_address",
    "incorrect_cvc",
    "incorrect_number",
    "incorrect_pin",
    "incorrect_zip",
    "insufficient_funds",
    "invalid_account",
    "invalid_amount",
    "invalid_cvc",
    "invalid_expiry_month",
    "invalid_expiry_year",
    "issuer_not_available",
    "new_account_information_available",
    "not_permitted",
    "processing_error",
    "testmode_decline",
    "transaction_not_allowed",
    "try_again_later",
    "withdrawal_count_limit_exceeded",
];

/// Codes of answers, then their types, which say less.
const CODES: [&str; 21] = [
    "amount_too_large",
    "amount_too_small",
    "api_key_expired",
    "charge_already_refunded",
    "charge_disputed",
    "idempotency_key_in_use",
    "insufficient_funds",
    "invalid_charge_amount",
    "livemode_mismatch",
    "lock_timeout",
    "parameter_invalid_empty",
    "parameter_invalid_integer",
    "parameter_missing",
    "parameter_unknown",
    "payment_intent_unexpected_state",
    "rate_limit",
    "resource_missing",
    "api_error",
    "card_error",
    "idempotency_error",
    "invalid_request_error",
];

/// The states of an intent that end nothing.
const OPEN: [&str; 6] = [
    "processing",
    "requires_action",
    "requires_capture",
    "requires_confirmation",
    "requires_payment_method",
    "requires_source_action",
];

/// Why a card was declined, or just that it was. The finer code comes first.
pub(crate) fn decline(decline_code: &str, code: &str) -> &'static str {
    // A finer code that must not be told is not replaced by the coarser one beside it.
    let told = if decline_code.is_empty() { code } else { decline_code };
    among(&DECLINES, told).unwrap_or("declined")
}

/// The word for an answer's code, or else for its type.
pub(crate) fn code(code: &str, kind: &str) -> Option<&'static str> {
    among(&CODES, code).or_else(|| among(&CODES, kind))
}

/// The state of an intent that is still open.
pub(crate) fn open(status: &str) -> &'static str {
    among(&OPEN, status).unwrap_or("a state that is not known")
}

fn among(words: &[&'static str], text: &str) -> Option<&'static str> {
    words.iter().find(|word| **word == text).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decline_is_told_in_known_words_and_never_that_a_card_was_stolen() {
        assert_eq!(decline("insufficient_funds", "card_declined"), "insufficient_funds");
        assert_eq!(decline("", "expired_card"), "expired_card");
        for untold in ["stolen_card", "fraudulent", "something new", "4242 4242 4242 4242"] {
            assert_eq!(decline(untold, "card_declined"), "declined");
        }
        assert_eq!(decline("", ""), "declined");
    }
}
