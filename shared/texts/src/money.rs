//! Formats amounts of money, in minor units, in a language.

use crate::Language;

/// Currencies without a minor unit (ISO 4217).
const WHOLE: [&str; 16] =
    ["BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "VND", "VUV", "XAF", "XOF", "XPF"];
/// Currencies with a minor unit of a thousandth (ISO 4217).
const THOUSANDTHS: [&str; 7] = ["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"];

/// Formats the amount with its currency. `None` if that is not three letters.
pub(crate) fn format(amount: i64, currency: &str, language: Language) -> Option<String> {
    let currency = currency.to_ascii_uppercase();
    if currency.len() != 3 || !currency.bytes().all(|b| b.is_ascii_uppercase()) {
        return None;
    }
    let decimals = decimals(&currency);
    let unit = 10_u64.pow(decimals);
    let (whole, rest) = (amount.unsigned_abs() / unit, amount.unsigned_abs() % unit);
    let (thousands, point) = match language {
        Language::En => (',', '.'),
        Language::It => ('.', ','),
    };
    let mut number = grouped(whole, thousands);
    if decimals > 0 {
        number.push_str(&format!("{point}{rest:0width$}", width = decimals as usize));
    }
    let sign = if amount < 0 { "-" } else { "" };
    Some(match (language, symbol(&currency)) {
        (Language::En, Some(symbol)) => format!("{sign}{symbol}{number}"),
        (Language::En, None) => format!("{sign}{currency} {number}"),
        (Language::It, symbol) => format!("{sign}{number} {}", symbol.unwrap_or(&currency)),
    })
}

fn decimals(currency: &str) -> u32 {
    if WHOLE.contains(&currency) {
        0
    } else if THOUSANDTHS.contains(&currency) {
        3
    } else {
        2
    }
}

/// Returns the symbol of a currency, if it is unambiguous. "$" means USD, so Canadian dollars are CAD.
fn symbol(currency: &str) -> Option<&'static str> {
    match currency {
        "EUR" => Some("€"),
        "USD" => Some("$"),
        "GBP" => Some("£"),
        _ => None,
    }
}

fn grouped(whole: u64, separator: char) -> String {
    let digits = whole.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(separator);
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn currency_has_its_number_of_decimals() {
        for (amount, currency, en, it) in [
            (123_456, "EUR", "€1,234.56", "1.234,56 €"),
            (5, "eur", "€0.05", "0,05 €"),
            (-1_250, "USD", "-$12.50", "-12,50 $"),
            (100, "GBP", "£1.00", "1,00 £"),
            (123_456, "JPY", "JPY 123,456", "123.456 JPY"),
            (1_234_567, "KWD", "KWD 1,234.567", "1.234,567 KWD"),
            (99, "CHF", "CHF 0.99", "0,99 CHF"),
            (i64::MIN, "EUR", "-€92,233,720,368,547,758.08", "-92.233.720.368.547.758,08 €"),
        ] {
            assert_eq!(format(amount, currency, Language::En).as_deref(), Some(en));
            assert_eq!(format(amount, currency, Language::It).as_deref(), Some(it));
        }
    }

    #[test]
    fn invalid_currency_is_refused() {
        for currency in ["", "EU", "EURO", "€", "E R"] {
            assert_eq!(format(1, currency, Language::En), None, "{currency}");
        }
    }
}
