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
/// All of a push, to however many: the queries, the sockets, and forgetting those that are gone.
const WITHIN: Duration = Duration::from_secs(2);
/// So many users are looked up and told at once.
const AT_ONCE: usize = 10;
/// API Gateway says that a socket is gone until it has told the client that it is open, which is after we stored it.
const YOUNG: Duration = Duration::from_secs(10);

/// The live sockets, and the way to them.
#[derive(Debug, Clone)]
pub struct Sockets {
    ledger: Ledger,
    connections: Connections,
    client: Client,
}

/// How many sockets a message met in which state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pushed {
    /// They took it.
    pub taken: u32,
    /// They were gone.
    pub gone: u32,
    /// It did not get through.
    pub failed: u32,
}

/// What one socket did with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Met {
    Taken,
    Gone,
    Failed,
}

impl Sockets {
    /// Reads the table's name and `BELFRY_LIVE_ENDPOINT_URL`, where API Gateway's management API answers.
    pub fn new(settings: &Settings, ledger: Ledger, aws: &SdkConfig) -> Result<Self, BadSetting> {
        // In a container of `sam local` it must be the local stack's.
        settings.endpoint_url(ENDPOINT_URL)?;
        let config = Builder::from(aws)
            .endpoint_url(settings.text(ENDPOINT_URL)?)
            .retry_config(RetryConfig::disabled())
            .timeout_config(TimeoutConfig::builder().connect_timeout(WITHIN).operation_timeout(WITHIN).build());
        let connections = Connections::new(settings.text("BELFRY_CONNECTIONS_TABLE")?);
        Ok(Self { ledger, connections, client: Client::from_conf(config.build()) })
    }

    /// Sends a message through every socket of a user, for those who listen right now. Failures are logged, without the
    /// message.
    pub async fn push(&self, user_type: Audience, user_id: &UserId, message: &impl Serialize) -> Pushed {
        self.push_all([(user_type, user_id.clone(), message)]).await
    }

    /// The same for many users, to each their own message: the notifications of a group differ in their ids. Who has no
    /// socket costs one query. Whom the time is too short for is not told.
    pub async fn push_all<M: Serialize>(&self, messages: impl IntoIterator<Item = (Audience, UserId, M)>) -> Pushed {
        let mut pushed = Pushed::default();
        let mut pushes = stream::iter(messages)
            .map(|(user_type, user_id, message)| async move { self.push_to_each(user_type, &user_id, &message).await })
            .buffer_unordered(AT_ONCE);
        let all = async {
            while let Some(one) = pushes.next().await {
                pushed.taken += one.taken;
                pushed.gone += one.gone;
                pushed.failed += one.failed;
            }
        };
        if tokio::time::timeout(WITHIN, all).await.is_err() {
            tracing::warn!("pushing took too long");
        }
        pushed
    }

    async fn push_to_each(&self, user_type: Audience, user_id: &UserId, message: &impl Serialize) -> Pushed {
        let now = Time::now();
        let connections = match self.connections.of_user(&self.ledger, user_type, user_id, now).await {
            Ok(connections) => connections,
            Err(error) => {
                tracing::warn!(reason = %error, user_id = user_id.as_str(), "sockets are not known");
                return Pushed::default();
            }
        };
        if connections.is_empty() {
            return Pushed::default();
        }
        let message = match serde_json::to_vec(message) {
            Ok(message) => Blob::new(message),
            Err(error) => {
                tracing::error!(reason = %error, user_id = user_id.as_str(), "a message cannot be written");
                return Pushed::default();
            }
        };
        let met = join_all(connections.iter().map(|connection| self.push_to(connection, message.clone(), now))).await;
        let count = |wanted| u32::try_from(met.iter().filter(|met| **met == wanted).count()).unwrap_or(u32::MAX);
        Pushed { taken: count(Met::Taken), gone: count(Met::Gone), failed: count(Met::Failed) }
    }

    async fn push_to(&self, connection: &Connection, message: Blob, now: Time) -> Met {
        let connection_id = connection.connection_id.as_str();
        let post = self.client.post_to_connection().connection_id(connection_id).data(message);
        // Boxed: the SDK's futures are kilobytes.
        match Box::pin(post.send()).await {
            Ok(_) => Met::Taken,
            Err(error) if error.as_service_error().is_some_and(|error| error.is_gone_exception()) => {
                if may_be_forgotten(connection.connected_at, now)
                    && let Err(error) = self.connections.forget(&self.ledger, connection).await
                {
                    tracing::warn!(reason = %error, connection_id, "a gone socket is not forgotten");
                }
                Met::Gone
            }
            Err(error) => {
                tracing::warn!(reason = causes(&error), connection_id, "push failed");
                Met::Failed
            }
        }
    }
}

fn may_be_forgotten(connected_at: Time, now: Time) -> bool {
    now.since(connected_at) >= YOUNG
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gone_socket_is_kept_for_its_first_ten_seconds() {
        let now = Time::now();
        for (age, forgotten) in [(0, false), (9_999, false), (10_000, true), (60_000, true)] {
            assert_eq!(may_be_forgotten(now.minus(Duration::from_millis(age)), now), forgotten, "{age} ms");
        }
        assert!(!may_be_forgotten(now.plus(YOUNG), now), "a clock that is ahead makes nobody old");
    }
}
