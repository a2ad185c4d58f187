//! What AWS bills for a write that was refused. The engine reports nothing consumed for one, so this is computed from the
//! request and from what the answer says stands in the way: for a cancelled transaction as if every item had been prepared,
//! which is the most that AWS can bill.

use serde_json::Value;

/// DynamoDB bills every KiB of a written item as one unit.
const BYTES_OF_A_UNIT: usize = 1024;

/// Write units of an answer that refuses; none where it does not.
pub fn writes(request: &Value, answer: &Value) -> f64 {
    let kind = answer["__type"].as_str().and_then(|kind| kind.rsplit('#').next());
    match kind {
        Some("TransactionCanceledException") => {
            let asked = request["TransactItems"].as_array().into_iter().flatten();
            let standing = |index: usize| &answer["CancellationReasons"][index]["Item"];
            // An item is an object of one field that says what is done with it. Preparing and committing are two writes.
            let writes = asked.enumerate().flat_map(|(index, item)| {
                item.as_object().into_iter().flat_map(|item| item.values()).map(move |write| (write, standing(index)))
            });
            writes.map(|(write, standing)| 2.0 * units(write, standing)).sum()
        }
        Some("ConditionalCheckFailedException") => units(request, &answer["Item"]),
        _ => 0.0,
    }
}

/// Units of one write: by the item that it puts, or by what it names of the item, or by the item that stands there.
fn units(write: &Value, standing: &Value) -> f64 {
    let named = attributes(&write["Key"]) + attributes(&write["ExpressionAttributeValues"]);
    let bytes = attributes(&write["Item"]).max(named).max(attributes(standing));
    bytes.div_ceil(BYTES_OF_A_UNIT).max(1) as f64
}

/// The size of an item's attributes as DynamoDB reckons it: names and values.
fn attributes(item: &Value) -> usize {
    item.as_object().into_iter().flatten().map(|(name, value)| name.len() + size(value)).sum()
}

/// The size of a value in DynamoDB's JSON, `{"S": "text"}`.
fn size(value: &Value) -> usize {
    let Some((kind, value)) = value.as_object().and_then(|value| value.iter().next()) else { return 0 };
    let text = value.as_str().map_or(0, str::len);
    let all = || value.as_array().into_iter().flatten();
    match kind.as_str() {
        // Two digits to a byte, and one for the sign and the exponent.
        "N" => text.div_ceil(2) + 1,
        // As base64.
        "B" => text.div_ceil(4) * 3,
        "L" => 3 + all().map(|value| 1 + size(value)).sum::<usize>(),
        "M" => 3 + value.as_object().map_or(0, serde_json::Map::len) + attributes(value),
        "SS" | "NS" | "BS" => all().filter_map(Value::as_str).map(str::len).sum(),
        "S" => text,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cancelled_transaction_is_billed_twice_for_each_kibibyte_of_each_item() {
        let small = json!({"Put": {"Item": {"id": {"S": "a"}}}});
        let large = json!({"Put": {"Item": {"id": {"S": "a"}, "body": {"S": "x".repeat(1030)}}}});
        let changed = json!({"Update": {"Key": {"id": {"S": "a"}}, "ExpressionAttributeValues": {":n": {"N": "12"}}}});
        let request = json!({"TransactItems": [small, large, changed]});
        let standing = json!({"id": {"S": "a"}, "body": {"M": {"text": {"S": "x".repeat(2100)}}}});
        let reasons = json!([{"Code": "None"}, {"Code": "None"}, {"Code": "ConditionalCheckFailed", "Item": standing}]);
        let refused = json!({
            "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException", "CancellationReasons": reasons,
        });
        assert!((writes(&request, &refused) - (2.0 + 4.0 + 6.0)).abs() < f64::EPSILON);
        assert!(writes(&request, &json!({"ConsumedCapacity": []})).abs() < f64::EPSILON);
    }

    #[test]
    fn a_failed_condition_is_billed_once_and_at_least_one_unit() {
        let request = json!({"Key": {"id": {"S": "a"}}});
        let refused = json!({"__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"});
        assert!((writes(&request, &refused) - 1.0).abs() < f64::EPSILON);
    }
}
