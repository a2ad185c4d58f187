//! Grants and revokes.

use reqwest::StatusCode;
use serde_json::json;

use super::metered::Metered;

impl Metered {
    /// Told to somebody of whom nothing is known, so that both sends are skipped.
    pub async fn entitlements(&mut self) {
        let shop = self.stack.shop().await;
        self.begin().await;
        let granted = shop.grant("g-1", "nobody", "premium").await;
        self.note("a grant, told to a customer without an address", &granted, StatusCode::OK).await;
        let replayed = shop.grant("g-1", "nobody", "premium").await;
        assert!(replayed.replayed, "{}", replayed.text);
        self.note("its replay", &replayed, StatusCode::OK).await;
        let other = shop.grant("g-1", "somebody", "premium").await;
        self.note("its key for another request", &other, StatusCode::CONFLICT).await;
        let again = shop.grant("g-2", "nobody", "premium").await;
        self.note("a grant of what is granted", &again, StatusCode::CONFLICT).await;
        let unit = json!({
            "user_id": "nobody", "stock_keeping_unit": "premium", "reason": "PURCHASE", "purchase_id": "p-1",
        });
        let revoked = shop.command("/v1/entitlements/revokes", "v-1", &unit).await;
        self.note("a revoke, told to the same", &revoked, StatusCode::OK).await;
    }

    /// Told to somebody with one address: the other send is skipped.
    pub async fn grant_by_mail(&mut self) {
        let shop = self.stack.shop().await;
        self.stack.recipient("CUSTOMER", "ada", json!({"name": "Ada", "email": "ada@example.com"})).await;
        self.begin().await;
        let granted = shop.grant("g-3", "ada", "premium").await;
        self.note("a grant, told by one mail", &granted, StatusCode::OK).await;
        assert_eq!(self.stack.sent("EMAIL").await.len(), 1, "it was told");
    }
}
