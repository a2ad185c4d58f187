//! The attribute values of a stream record in Lambda's JSON.

use std::collections::HashMap;

use aws_sdk_dynamodbstreams::types::AttributeValue;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

pub fn item(attributes: &HashMap<String, AttributeValue>) -> Value {
    Value::Object(attributes.iter().map(|(name, value)| (name.clone(), attribute(value))).collect::<Map<_, _>>())
}

fn attribute(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::S(text) => json!({"S": text}),
        AttributeValue::N(number) => json!({"N": number}),
        AttributeValue::Bool(truth) => json!({"BOOL": truth}),
        AttributeValue::Null(_) => json!({"NULL": true}),
        AttributeValue::B(bytes) => json!({"B": STANDARD.encode(bytes)}),
        AttributeValue::M(attributes) => json!({"M": item(attributes)}),
        AttributeValue::L(values) => json!({"L": values.iter().map(attribute).collect::<Vec<_>>()}),
        AttributeValue::Ss(texts) => json!({"SS": texts}),
        AttributeValue::Ns(numbers) => json!({"NS": numbers}),
        AttributeValue::Bs(all) => json!({"BS": all.iter().map(|bytes| STANDARD.encode(bytes)).collect::<Vec<_>>()}),
        _ => Value::Null,
    }
}
