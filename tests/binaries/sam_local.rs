//! The functions as `sam local` starts them: with `AWS_SAM_LOCAL`, the caller's credentials, and of the variables those that
//! somebody gave them.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use harness::Stack;
use harness::lambda::{FUNCTIONS, Lambda};
use local::{Containers, Options};

use crate::function::{binary, by_hand, environment};

/// What SAM puts into a container besides what the template declares.
const OF_SAM: [(&str, &str); 4] = [
    ("AWS_SAM_LOCAL", "true"),
    ("AWS_REGION", "us-east-1"),
    ("AWS_ACCESS_KEY_ID", "defaultkey"),
    ("AWS_SECRET_ACCESS_KEY", "defaultsecret"),
];

fn with_sams(mut environment: BTreeMap<String, String>) -> BTreeMap<String, String> {
    environment.extend(OF_SAM.map(|(name, value)| (name.to_owned(), value.to_owned())));
    environment
}

/// What a function says that does not start.
async fn refusal(function: &str, environment: &BTreeMap<String, String>) -> String {
    let mut process = Lambda::start(binary(function), environment).await;
    assert!(!process.ended().await.success(), "{function} has started");
    process.said().await
}

#[tokio::test(flavor = "multi_thread")]
async fn no_function_starts_in_sam_local_without_local_endpoints() {
    let stack = Stack::with(by_hand()).await;
    let what_to_do =
        "start the local stack with \"cargo run -- --containers\" and pass --env-vars target/environment.json";
    for (function, _) in FUNCTIONS {
        let complete = with_sams(environment(&stack, function).await);
        let mut without = complete.clone();
        without.retain(|name, _| !name.starts_with("AWS_ENDPOINT_URL"));
        let said = refusal(function, &without).await;
        let expected = format!("AWS_SAM_LOCAL is set but AWS_ENDPOINT_URL_DYNAMODB is not: {what_to_do}");
        assert!(said.contains(&expected), "{function}: {said}");
        // As SAM hands over what the template declares without a value.
        let mut empty = complete;
        empty.insert("AWS_ENDPOINT_URL_SQS".to_owned(), String::new());
        let said = refusal(function, &empty).await;
        assert!(said.contains("AWS_SAM_LOCAL is set but AWS_ENDPOINT_URL_SQS is not: "), "{function}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_function_starts_in_sam_local_with_a_provider_that_is_not_local() {
    let stack = Stack::with(by_hand()).await;
    for (function, endpoint, real) in [
        ("DeliverEmailFunction", "BELFRY_SES_ENDPOINT_URL", "https://email.us-east-1.amazonaws.com"),
        ("DeliverSmsFunction", "BELFRY_SMS_ENDPOINT_URL", "https://sms-voice.us-east-1.amazonaws.com"),
        ("DeliverPushFunction", "BELFRY_FCM_URL", "https://fcm.googleapis.com"),
        ("DeliverSlackFunction", "BELFRY_SLACK_ENDPOINT_URL", "https://hooks.slack.com"),
        ("PaymentFunction", "BELFRY_PAYMENT_URL", "https://api.stripe.com"),
        ("FanoutFunction", "BELFRY_LIVE_ENDPOINT_URL", "https://abc.execute-api.us-east-1.amazonaws.com/live"),
        ("ApiFunction", "BELFRY_LIVE_ENDPOINT_URL", "https://abc.execute-api.us-east-1.amazonaws.com/live"),
    ] {
        let complete = with_sams(environment(&stack, function).await);
        for (value, state) in [("", "not: ".to_owned()), (real, format!("\"{real}\", which is not on this machine: "))]
        {
            let mut other = complete.clone();
            other.insert(endpoint.to_owned(), value.to_owned()).unwrap_or_else(|| panic!("{function}: {endpoint}"));
            let said = refusal(function, &other).await;
            assert!(said.contains(&format!("AWS_SAM_LOCAL is set but {endpoint} is {state}")), "{function}: {said}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_function_starts_in_sam_local_with_what_the_host_has_written_for_it() {
    let folder = std::env::temp_dir().join(format!("belfry-{}", uuid::Uuid::now_v7()));
    let path = folder.join("environment.json");
    let containers = Containers { address: Ipv4Addr::LOCALHOST.into(), environment: path.clone() };
    let _stack = Stack::with(Options { containers: Some(containers), ..by_hand() }).await;
    let written = std::fs::read_to_string(&path).expect("it is written");
    std::fs::remove_dir_all(&folder).expect("it is there");
    let mut written: BTreeMap<String, BTreeMap<String, String>> = serde_json::from_str(&written).expect("JSON");
    for (function, _) in FUNCTIONS {
        let told = written.remove(function).unwrap_or_else(|| panic!("nothing for {function}"));
        Lambda::start(binary(function), &with_sams(told)).await.until_first_poll().await;
    }
    assert!(written.is_empty(), "{written:?}");
}
