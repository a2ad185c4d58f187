//! Money, by the payment provider's own books: an order that is completed was charged once and kept, any other was not
//! charged or paid back once.

use std::collections::{BTreeMap, BTreeSet};

use belfry_core::Stored;
use domain::order::{Order, OrderStatus};
use domain::payment::PaymentState;
use harness::clients;
use ledger::survey::Survey;
use serde_json::Value;

use super::Soak;
use super::audit::all;

/// What the provider has of one order.
#[derive(Debug, Default)]
struct Account {
    /// What was charged, intent by intent, and what of it was paid back.
    charged: Vec<(String, u64, u64)>,
}

impl Soak {
    pub(super) async fn money_is_right(&self, survey: &Survey, orders: &[Stored<Order>]) -> Vec<String> {
        let mut accounts = self.accounts().await;
        let mut wrong = Vec::new();
        for order in orders {
            let id = order.order_id.to_string();
            let account = accounts.remove(&id).unwrap_or_default();
            let kept: Vec<u64> =
                account.charged.iter().map(|(_, amount, back)| amount - back).filter(|kept| *kept > 0).collect();
            let total = order.total.as_ref().map_or(0, |total| total.amount);
            let expected = if order.status == OrderStatus::Completed { vec![total] } else { vec![] };
            if kept != expected || account.charged.len() > 1 {
                let charged = &account.charged;
                wrong.push(format!(
                    "order {id}: {} of {total}, the provider charged {charged:?}",
                    order.status.as_str()
                ));
            }
        }
        wrong.extend(
            accounts.into_keys().map(|id| format!("order {id}: the provider has charged it, and it is nobody's")),
        );
        wrong.extend(self.intents_are_known(survey).await);
        wrong
    }

    /// What was charged by the provider's books is an intent that a payment has stored.
    async fn intents_are_known(&self, survey: &Survey) -> Vec<String> {
        let payments = all(survey, &survey.payments).await;
        let stored: BTreeSet<String> = payments
            .iter()
            .filter_map(|payment| match &payment.state {
                PaymentState::Charged(intent) | PaymentState::Refunded(intent) => Some(intent.intent_id.to_string()),
                PaymentState::Intended(_) | PaymentState::Declined(_) | PaymentState::Closed => None,
            })
            .collect();
        let accounts = self.accounts().await;
        let charged = accounts.values().flat_map(|account| &account.charged).map(|(intent, _, _)| intent);
        let unknown = charged.filter(|intent| !stored.contains(*intent));
        unknown.map(|intent| format!("intent {intent}: charged, and no payment says so")).collect()
    }

    async fn accounts(&self) -> BTreeMap<String, Account> {
        let mut paid_back: BTreeMap<String, u64> = BTreeMap::new();
        for refund in self.books("/v1/refunds").await {
            let intent = refund["payment_intent"].as_str().unwrap_or_default().to_owned();
            *paid_back.entry(intent).or_default() += refund["amount"].as_u64().unwrap_or_default();
        }
        let mut accounts: BTreeMap<String, Account> = BTreeMap::new();
        for intent in self.books("/v1/payment_intents").await {
            if intent["status"] == "succeeded" {
                let id = intent["id"].as_str().unwrap_or_default().to_owned();
                let order = intent["metadata"]["order_id"].as_str().unwrap_or_default().to_owned();
                let back = paid_back.get(&id).copied().unwrap_or_default();
                let amount = intent["amount_received"].as_u64().unwrap_or_default();
                accounts.entry(order).or_default().charged.push((id, amount, back));
            }
        }
        accounts
    }

    /// Everything of a list of the provider's.
    async fn books(&self, path: &str) -> Vec<Value> {
        let client = clients::http();
        let mut entries: Vec<Value> = Vec::new();
        loop {
            let after = entries.last().and_then(|entry| entry["id"].as_str());
            let after = after.map_or_else(String::new, |id| format!("&starting_after={id}"));
            let url = format!("{}{path}?limit=100{after}", self.world.backends.providers_url);
            let page: Value = client
                .get(url)
                .bearer_auth("sk_audit")
                .send()
                .await
                .expect("the provider answers")
                .json()
                .await
                .expect("a list");
            entries.extend(page["data"].as_array().cloned().unwrap_or_default());
            if page["has_more"] != true {
                return entries;
            }
        }
    }
}
