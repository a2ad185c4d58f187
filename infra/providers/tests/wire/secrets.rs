//! Secrets Manager over plain HTTP, and the payment provider's use of it.

use providers::{Outcome, Secrets, Target};
use reqwest::Response;
use serde_json::{Value, json};

use crate::{PATIENT, Stage, http};

async fn get(stage: &Stage, id: &str, version: &str) -> (u16, Value) {
    let request = http(PATIENT).post(&stage.url).header("x-amz-target", "secretsmanager.GetSecretValue");
    let body = json!({"SecretId": id, "VersionStage": version}).to_string();
    let answer = request.body(body).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

#[tokio::test]
async fn secret_is_found_by_arn_and_name_in_current_and_previous_version() {
    let stage = Stage::start().await;
    let secrets = stage.providers.secrets();
    secrets.put("s", "one");
    let arn = Secrets::arn("s");
    for id in ["s", arn.as_str()] {
        let (status, answer) = get(&stage, id, "AWSCURRENT").await;
        assert_eq!((status, &answer["SecretString"], &answer["ARN"]), (200, &json!("one"), &json!(arn)));
    }
    let (status, answer) = get(&stage, "s", "AWSPREVIOUS").await;
    assert_eq!((status, &answer["__type"]), (400, &json!("ResourceNotFoundException")));
    secrets.put("s", "two");
    let versions = [get(&stage, "s", "AWSCURRENT").await.1, get(&stage, "s", "AWSPREVIOUS").await.1];
    assert_eq!(versions.map(|version| version["SecretString"].clone()), [json!("two"), json!("one")]);
    assert_eq!(get(&stage, "nobody", "AWSCURRENT").await.1["__type"], "ResourceNotFoundException");
    assert!(stage.providers.sent(None).is_empty(), "a secret is not in the record");
}

#[tokio::test]
async fn payments_accept_the_current_key_only() {
    let stage = Stage::start().await;
    stage.providers.secrets().put("payment", r#"{"key": "sk_one"}"#);
    stage.providers.know_payment_secret("payment");
    let pay = async |key: &str| -> Response {
        let request = http(PATIENT).post(format!("{}/v1/payment_intents", stage.url)).bearer_auth(key);
        request.form(&[("amount", "100"), ("currency", "eur")]).send().await.unwrap()
    };
    assert_eq!(pay("sk_one").await.status(), 200);
    stage.providers.secrets().put("payment", r#"{"key": "sk_two"}"#);
    assert_eq!(pay("sk_one").await.status(), 401);
    assert_eq!(pay("sk_two").await.status(), 200);
    let expected = [Outcome::Accepted, Outcome::Rejected, Outcome::Accepted];
    assert_eq!(stage.outcomes(Target::Payment), expected);
}
