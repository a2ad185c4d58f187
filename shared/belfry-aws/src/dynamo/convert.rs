//! Items of the pure crate and of the SDK. By hand, because the feature of serde_dynamo that does it would make the pure
//! crate depend on the SDK.

use std::collections::HashMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue as Sdk;
use belfry_core::{AttributeValue, Item};

pub(crate) type SdkItem = HashMap<String, Sdk>;

pub(crate) fn to_sdk(item: Item) -> SdkItem {
    item.into_iter().map(|(name, value)| (name, value_to_sdk(value))).collect()
}

pub(crate) fn value_to_sdk(value: AttributeValue) -> Sdk {
    match value {
        AttributeValue::S(text) => Sdk::S(text),
        AttributeValue::N(number) => Sdk::N(number),
        AttributeValue::B(bytes) => Sdk::B(Blob::new(bytes)),
        AttributeValue::Bool(flag) => Sdk::Bool(flag),
        AttributeValue::Null(null) => Sdk::Null(null),
        AttributeValue::L(values) => Sdk::L(values.into_iter().map(value_to_sdk).collect()),
        AttributeValue::M(map) => Sdk::M(to_sdk(map)),
        AttributeValue::Ss(texts) => Sdk::Ss(texts),
        AttributeValue::Ns(numbers) => Sdk::Ns(numbers),
        AttributeValue::Bs(bytes) => Sdk::Bs(bytes.into_iter().map(Blob::new).collect()),
    }
}

pub(crate) fn from_sdk(item: SdkItem) -> Item {
    item.into_iter().map(|(name, value)| (name, value_from_sdk(value))).collect()
}

fn value_from_sdk(value: Sdk) -> AttributeValue {
    match value {
        Sdk::S(text) => AttributeValue::S(text),
        Sdk::N(number) => AttributeValue::N(number),
        Sdk::B(bytes) => AttributeValue::B(bytes.into_inner()),
        Sdk::Bool(flag) => AttributeValue::Bool(flag),
        Sdk::L(values) => AttributeValue::L(values.into_iter().map(value_from_sdk).collect()),
        Sdk::M(map) => AttributeValue::M(from_sdk(map)),
        Sdk::Ss(texts) => AttributeValue::Ss(texts),
        Sdk::Ns(numbers) => AttributeValue::Ns(numbers),
        Sdk::Bs(bytes) => AttributeValue::Bs(bytes.into_iter().map(Blob::into_inner).collect()),
        // Null, and types that DynamoDB may have one day.
        _ => AttributeValue::Null(true),
    }
}
