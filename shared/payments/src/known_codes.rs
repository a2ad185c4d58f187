//! The provider's codes that may be stored and logged. Unknown ones are not repeated.

/// Decline codes that the cardholder may see. The provider asks not to disclose that a card counts as lost, stolen or
/// fraudulent; those become `declined`.
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

/// Error codes, then error types, which are less specific.
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

/// Statuses of an intent that are not final.
const OPEN: [&str; 6] = [
    "processing",
    "requires_action",
    "requires_capture",
    "requires_confirmation",
    "requires_payment_method",
    "requires_source_action",
];

/// Returns the decline code to disclose. `decline_code` is the more specific one.
pub(crate) fn decline(decline_code: &str, code: &str) -> &'static str {
    // A specific code that must not be disclosed is not replaced by the general one.
    let given = if decline_code.is_empty() { code } else { decline_code };
    known(&DECLINES, given).unwrap_or("declined")
}

/// Returns the error's code or, if that is unknown, its type.
pub(crate) fn code(code: &str, kind: &str) -> Option<&'static str> {
    known(&CODES, code).or_else(|| known(&CODES, kind))
}

/// Returns the status of an intent that is not final.
pub(crate) fn open(status: &str) -> &'static str {
    known(&OPEN, status).unwrap_or("unknown intent status")
}

fn known(codes: &[&'static str], text: &str) -> Option<&'static str> {
    codes.iter().find(|code| **code == text).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decline_is_disclosed_as_a_known_code_and_never_as_stolen() {
        assert_eq!(decline("insufficient_funds", "card_declined"), "insufficient_funds");
        assert_eq!(decline("", "expired_card"), "expired_card");
        for hidden in ["stolen_card", "fraudulent", "something new", "4242 4242 4242 4242"] {
            assert_eq!(decline(hidden, "card_declined"), "declined");
        }
        assert_eq!(decline("", ""), "declined");
    }
}
