#![doc = include_str!("../README.md")]

use std::time::Duration;

use aws_sdk_apigatewaymanagement::Client;
use aws_sdk_apigatewaymanagement::config::Builder;
use aws_sdk_apigatewaymanagement::primitives::Blob;
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::TimeoutConfig;
use aws_types::SdkConfig;
use belfry_aws::{Belfry, Settings, Timestamp, causes, clients};
use domain::{Audience, UserId};
use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt};
use serde::Serialize;
use store::connections::{self, Connection};

const ENDPOINT_URL: &str = "BELFRY_LIVE_ENDPOINT_URL";
/// The time limit of a push to any number of users: the queries, the calls, and deleting connections that are gone.
const TIME_LIMIT: Duration = Duration::from_secs(2);
/// How many users are pushed to at the same time.
const PARALLEL_USERS: usize = 10;
/// API Gateway says that a connection is gone until it has told the client that it is open, which is after we stored it.
const NEW_FOR: Duration = Duration::from_secs(10);

/// Pushes to connected clients.
#[derive(Debug, Clone)]
pub struct Sockets {
    belfry: Belfry,
    client: Client,
}

/// How many connections a message reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pushed {
    /// They accepted it.
    pub delivered: u32,
    /// They were gone.
    pub gone: u32,
    /// The call failed.
    pub failed: u32,
}

/// What became of a message to one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PushOutcome {
    Delivered,
    Gone,
    Failed,
}

impl Sockets {
    /// Reads `BELFRY_LIVE_ENDPOINT_URL`, where API Gateway's management API answers.
    pub fn new(settings: &mut Settings, aws: &SdkConfig, belfry: &Belfry) -> Self {
        // In a container of `sam local` it must be the local stack's.
        clients::endpoint_url(settings, ENDPOINT_URL);
        let config = Builder::from(aws)
            .endpoint_url(settings.text(ENDPOINT_URL))
            .retry_config(RetryConfig::disabled())
            .timeout_config(TimeoutConfig::builder().connect_timeout(TIME_LIMIT).operation_timeout(TIME_LIMIT).build());
        Self { belfry: belfry.clone(), client: Client::from_conf(config.build()) }
    }

    /// Sends a message to every connection of a user. Failures are logged, without the message.
    pub async fn push(&self, user_type: Audience, user_id: &UserId, message: &impl Serialize) -> Pushed {
        self.push_all([(user_type, user_id.clone(), message)]).await
    }

    /// Sends each of many users a message of their own. A user without a connection costs one query. Users for whom the
    /// time limit leaves no time get nothing.
    pub async fn push_all<M: Serialize>(&self, messages: impl IntoIterator<Item = (Audience, UserId, M)>) -> Pushed {
        let mut pushed = Pushed::default();
        let mut pushes = stream::iter(messages)
            .map(|(user_type, user_id, message)| async move { self.push_to_user(user_type, &user_id, &message).await })
            .buffer_unordered(PARALLEL_USERS);
        let all = async {
            while let Some(one) = pushes.next().await {
                pushed.delivered += one.delivered;
                pushed.gone += one.gone;
                pushed.failed += one.failed;
            }
        };
        if tokio::time::timeout(TIME_LIMIT, all).await.is_err() {
            tracing::warn!(limit_s = TIME_LIMIT.as_secs(), "live push exceeded its time limit");
        }
        pushed
    }

    async fn push_to_user(&self, user_type: Audience, user_id: &UserId, message: &impl Serialize) -> Pushed {
        let now = self.belfry.now();
        let connections = match connections::of_user(&self.belfry, user_type, user_id, now).await {
            Ok(connections) => connections,
            Err(error) => {
                tracing::warn!(reason = %error, user_id = user_id.as_str(), "could not read the connections of a user");
                return Pushed::default();
            }
        };
        if connections.is_empty() {
            return Pushed::default();
        }
        let message = match serde_json::to_vec(message) {
            Ok(message) => Blob::new(message),
            Err(error) => {
                tracing::error!(reason = %error, user_id = user_id.as_str(), "could not write a live message");
                return Pushed::default();
            }
        };
        let outcomes = connections.iter().map(|connection| self.push_to_connection(connection, message.clone(), now));
        let outcomes = join_all(outcomes).await;
        let count =
            |wanted| u32::try_from(outcomes.iter().filter(|outcome| **outcome == wanted).count()).unwrap_or(u32::MAX);
        Pushed {
            delivered: count(PushOutcome::Delivered),
            gone: count(PushOutcome::Gone),
            failed: count(PushOutcome::Failed),
        }
    }

    async fn push_to_connection(&self, connection: &Connection, message: Blob, now: Timestamp) -> PushOutcome {
        let connection_id = connection.connection_id.as_str();
        let post = self.client.post_to_connection().connection_id(connection_id).data(message);
        // Boxed: the SDK's futures are kilobytes.
        match Box::pin(post.send()).await {
            Ok(_) => PushOutcome::Delivered,
            Err(error) if error.as_service_error().is_some_and(|error| error.is_gone_exception()) => {
                if may_be_deleted(connection.connected_at, now)
                    && let Err(error) = connections::delete(&self.belfry, connection).await
                {
                    tracing::warn!(reason = %error, connection_id, "could not delete a connection that is gone");
                }
                PushOutcome::Gone
            }
            Err(error) => {
                tracing::warn!(reason = causes(&error), connection_id, "live push failed");
                PushOutcome::Failed
            }
        }
    }
}

fn may_be_deleted(connected_at: Timestamp, now: Timestamp) -> bool {
    now.since(connected_at) >= NEW_FOR
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_is_gone_is_kept_for_its_first_ten_seconds() {
        let now = Timestamp::now();
        for (age, deleted) in [(0, false), (9_999, false), (10_000, true), (60_000, true)] {
            assert_eq!(may_be_deleted(now.minus(Duration::from_millis(age)), now), deleted, "{age} ms");
        }
        assert!(!may_be_deleted(now.plus(NEW_FOR), now), "a clock that is ahead makes no connection old");
    }
}
