//! Belfry's idempotent command against its limit and its peers: `scripts/peers`.

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tools::peers::main().await
}
