#![doc = include_str!("../README.md")]

use std::time::Duration;

use aws_sdk_apigatewaymanagement::Client;
use aws_sdk_apigatewaymanagement::config::Builder;
use aws_sdk_apigatewaymanagement::primitives::Blob;
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::TimeoutConfig;
use aws_types::SdkConfig;
use domain::{Audience, Time, UserId};
use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt};
use ledger::connections::Connection;
use ledger::{Connections, Ledger, causes};
use runtime::{BadSetting, Settings};
use serde::Serialize;

const ENDPOINT_URL: &str = "BELFRY_LIVE_ENDPOINT_URL";
/// The time limit of a push to all users: the queries, the posts and deleting closed connections.
const PUSH_LIMIT: Duration = Duration::from_secs(2);
/// Users served concurrently.
const CONCURRENCY: usize = 10;
/// API Gateway answers `Gone` until it has told the client that the socket is open, which is after we stored it. So a
/// younger connection is not deleted.
const MIN_AGE: Duration = Duration::from_secs(10);

/// Pushes messages to the sockets of users.
#[derive(Debug, Clone)]
pub struct Sockets {
    ledger: Ledger,
    connections: Connections,
    client: Client,
}

/// The numbers of sockets by the result of a push.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pushed {
    /// Sockets that accepted the message.
    pub taken: u32,
    /// Sockets that were closed.
    pub gone: u32,
    /// Sockets whose post failed otherwise.
    pub failed: u32,
}

/// The result of a push to one socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PostOutcome {
    Taken,
    Gone,
    Failed,
}

impl Sockets {
    /// Reads `BELFRY_CONNECTIONS_TABLE` and `BELFRY_LIVE_ENDPOINT_URL`, the URL of API Gateway's management API.
    pub fn new(settings: &Settings, ledger: Ledger, aws: &SdkConfig) -> Result<Self, BadSetting> {
        // Refuses an endpoint beyond this machine in a container of `sam local`.
        settings.endpoint_url(ENDPOINT_URL)?;
        let config = Builder::from(aws)
            .endpoint_url(settings.text(ENDPOINT_URL)?)
            .retry_config(RetryConfig::disabled())
            .timeout_config(TimeoutConfig::builder().connect_timeout(PUSH_LIMIT).operation_timeout(PUSH_LIMIT).build());
        let connections = Connections::new(settings.text("BELFRY_CONNECTIONS_TABLE")?);
        Ok(Self { ledger, connections, client: Client::from_conf(config.build()) })
    }

    /// Pushes a message to every socket of a user. Failures are logged, without the message.
    pub async fn push(&self, user_type: Audience, user_id: &UserId, message: &impl Serialize) -> Pushed {
        self.push_all([(user_type, user_id.clone(), message)]).await
    }

    /// Pushes to many users, to each their own message (the notifications of a group differ in their ids). A user without
    /// sockets costs one query. Users whose turn does not come within two seconds are skipped.
    pub async fn push_all<M: Serialize>(&self, messages: impl IntoIterator<Item = (Audience, UserId, M)>) -> Pushed {
        let mut pushed = Pushed::default();
        let mut pushes = stream::iter(messages)
            .map(|(user_type, user_id, message)| async move { self.push_to_each(user_type, &user_id, &message).await })
            .buffer_unordered(CONCURRENCY);
        let all = async {
            while let Some(one) = pushes.next().await {
                pushed.taken += one.taken;
                pushed.gone += one.gone;
                pushed.failed += one.failed;
            }
        };
        if tokio::time::timeout(PUSH_LIMIT, all).await.is_err() {
            tracing::warn!(
                limit_s = PUSH_LIMIT.as_secs(),
                "socket push stopped at its time limit; clients read the inbox when they reconnect"
            );
        }
        pushed
    }

    async fn push_to_each(&self, user_type: Audience, user_id: &UserId, message: &impl Serialize) -> Pushed {
        let now = Time::now();
        let connections = match self.connections.of_user(&self.ledger, user_type, user_id, now).await {
            Ok(connections) => connections,
            Err(error) => {
                tracing::warn!(reason = %error, user_id = user_id.as_str(), "cannot read connections; push skipped");
                return Pushed::default();
            }
        };
        if connections.is_empty() {
            return Pushed::default();
        }
        let message = match serde_json::to_vec(message) {
            Ok(message) => Blob::new(message),
            Err(error) => {
                tracing::error!(reason = %error, user_id = user_id.as_str(), "cannot serialise the message; push skipped");
                return Pushed::default();
            }
        };
        let outcomes =
            join_all(connections.iter().map(|connection| self.push_to(connection, message.clone(), now))).await;
        let count =
            |wanted| u32::try_from(outcomes.iter().filter(|outcome| **outcome == wanted).count()).unwrap_or(u32::MAX);
        Pushed { taken: count(PostOutcome::Taken), gone: count(PostOutcome::Gone), failed: count(PostOutcome::Failed) }
    }

    async fn push_to(&self, connection: &Connection, message: Blob, now: Time) -> PostOutcome {
        let connection_id = connection.connection_id.as_str();
        let post = self.client.post_to_connection().connection_id(connection_id).data(message);
        // Boxed: the SDK's futures are kilobytes.
        match Box::pin(post.send()).await {
            Ok(_) => PostOutcome::Taken,
            Err(error) if error.as_service_error().is_some_and(|error| error.is_gone_exception()) => {
                if may_be_deleted(connection.connected_at, now)
                    && let Err(error) = self.connections.forget(&self.ledger, connection).await
                {
                    tracing::warn!(reason = %error, connection_id, "cannot delete a closed connection; it expires");
                }
                PostOutcome::Gone
            }
            Err(error) => {
                tracing::warn!(reason = causes(&error), connection_id, "socket push failed; not retried");
                PostOutcome::Failed
            }
        }
    }
}

fn may_be_deleted(connected_at: Time, now: Time) -> bool {
    now.since(connected_at) >= MIN_AGE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_connection_is_kept_for_its_first_ten_seconds() {
        let now = Time::now();
        for (age, deleted) in [(0, false), (9_999, false), (10_000, true), (60_000, true)] {
            assert_eq!(may_be_deleted(now.minus(Duration::from_millis(age)), now), deleted, "{age} ms");
        }
        assert!(!may_be_deleted(now.plus(MIN_AGE), now), "a connection from the future is not old");
    }
}
