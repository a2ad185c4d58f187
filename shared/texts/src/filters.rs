//! The filters of templates: `{{ total | money }}`, `{{ slot_time | when }}`.

use std::borrow::Cow;

use jiff::Timestamp;
use minijinja::{Error, State, Value};

use crate::error::Expected;
use crate::{Reader, money};

/// The variable that holds the reader. It hides a field of the event with that name.
pub(crate) const READER: &str = "reader";

/// Formats `{amount, currency}`, in minor units, in the reader's language.
pub(crate) fn money(state: &State, value: Value) -> Result<String, Error> {
    const EXPECTED: Expected = Expected("money expects {amount, currency} with the amount in minor units");
    let amount = i64::try_from(value.get_attr("amount")?).map_err(|_| EXPECTED)?;
    let currency = value.get_attr("currency")?;
    let currency = currency.as_str().ok_or(EXPECTED)?;
    reader(state, |reader| money::format(amount, currency, reader.language).ok_or(EXPECTED.into()))
}

/// Formats an RFC 3339 time in the reader's language and time zone.
pub(crate) fn when(state: &State, text: Cow<'_, str>) -> Result<String, Error> {
    let moment = text.parse::<Timestamp>().map_err(|_| Expected("when expects an RFC 3339 time"))?;
    reader(state, |reader| Ok(reader.when(moment)))
}

fn reader(state: &State, with: impl FnOnce(&Reader) -> Result<String, Error>) -> Result<String, Error> {
    let reader = state.lookup(READER);
    with(
        reader
            .as_ref()
            .and_then(Value::downcast_object_ref)
            .ok_or(Expected("no reader in the template's variables"))?,
    )
}
