//! The environment of each function, for people who run its binary themselves.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::aws::{Endpoints, REGION};
use crate::containers::from_a_container;
use crate::template::Function;

/// URLs for people, who open them on this machine and not in a container.
const FOR_PEOPLE: [&str; 2] = ["BELFRY_PUBLIC_URL", "BELFRY_LIVE_URL"];

/// By logical id.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct Environments {
    functions: BTreeMap<String, BTreeMap<String, String>>,
    /// What Lambda adds.
    #[serde(skip)]
    platform: BTreeMap<String, String>,
}

impl Environments {
    /// Secrets Manager answers at `secrets`.
    pub fn new(endpoints: &Endpoints, secrets: &str) -> Self {
        let platform = [
            ("AWS_ENDPOINT_URL_DYNAMODB", endpoints.dynamodb.as_str()),
            ("AWS_ENDPOINT_URL_SQS", &endpoints.sqs),
            ("AWS_ENDPOINT_URL_SECRETS_MANAGER", secrets),
            ("AWS_REGION", REGION),
            ("AWS_ACCESS_KEY_ID", "local"),
            ("AWS_SECRET_ACCESS_KEY", "local"),
        ];
        let platform = platform.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self { functions: BTreeMap::new(), platform: platform.into() }
    }

    pub fn add(&mut self, function: &Function, settings: &BTreeMap<String, String>) {
        let mut environment = self.platform.clone();
        environment.extend(settings.clone());
        self.functions.insert(function.logical_id.clone(), environment);
    }

    /// One function's variables in the format of `.env` files.
    pub fn lines(&self, function: &str) -> Option<String> {
        let variables = self.functions.get(function)?;
        Some(variables.iter().map(|(name, value)| format!("{name}='{value}'\n")).collect())
    }

    /// The environments for `sam local` in containers, which passes only declared variables. URLs name this machine as
    /// containers do.
    pub fn in_containers(&self, functions: &[Function]) -> BTreeMap<String, BTreeMap<String, String>> {
        let of_function = |function: &Function| {
            let told = self.functions.get(&function.logical_id).into_iter().flatten();
            let told = told.filter(|(name, _)| function.declared.contains(*name)).map(|(name, value)| {
                let value = if FOR_PEOPLE.contains(&name.as_str()) { value.clone() } else { from_a_container(value) };
                (name.clone(), value)
            });
            (function.logical_id.clone(), told.collect())
        };
        functions.iter().map(of_function).collect()
    }
}
