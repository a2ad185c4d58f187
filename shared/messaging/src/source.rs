//! The queues that a consumer reads.

use std::time::Duration;

use aws_lambda_events::sqs::SqsMessage;
use domain::routing::Queue;
use runtime::{BadSetting, Settings};

/// One queue, and the consumer behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The queue's name, as dead letters show it.
    pub queue: String,
    /// Its URL.
    pub url: String,
    /// The consumer, as processed marks and dead letters name it.
    pub consumer: String,
}

impl Source {
    /// One of the system's own queues, its URL from its setting.
    pub fn from_settings(settings: &Settings, queue: Queue) -> Result<Self, BadSetting> {
        Ok(Self { queue: queue.name().to_owned(), url: settings.text(queue.setting())?, consumer: queue.consumer() })
    }

    /// The source that a message came from.
    pub fn of<'a>(sources: &'a [Self], message: &SqsMessage) -> Option<&'a Self> {
        let name = resource_name(message)?;
        sources.iter().find(|source| source.resource_name() == name)
    }

    /// The source whose dead letter queue a message came from: it has the queue's name with `-dlq` behind it.
    pub fn of_dead<'a>(sources: &'a [Self], message: &SqsMessage) -> Option<&'a Self> {
        let name = resource_name(message)?.strip_suffix("-dlq")?;
        sources.iter().find(|source| source.resource_name() == name)
    }

    /// Makes a message visible again after a wait, to the nearest second. Where that fails, it comes back later: no loss.
    pub async fn come_back(&self, sqs: &aws_sdk_sqs::Client, message: &SqsMessage, wait: Duration) {
        let seconds = i32::try_from(wait.as_millis().saturating_add(500) / 1_000).unwrap_or(i32::MAX).min(43_200);
        let request = sqs.change_message_visibility().queue_url(&self.url).visibility_timeout(seconds);
        let changed = request.set_receipt_handle(message.receipt_handle.clone()).send().await;
        if let Err(error) = changed {
            tracing::warn!(reason = ledger::causes(&error), "visibility not changed");
        }
    }

    /// The name of the queue's resource, which its URL and its ARN both end with.
    fn resource_name(&self) -> &str {
        self.url.rsplit('/').next().unwrap_or_default()
    }
}

fn resource_name(message: &SqsMessage) -> Option<&str> {
    message.event_source_arn.as_deref().and_then(|arn| arn.rsplit(':').next())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(arn: &str) -> SqsMessage {
        let mut message = SqsMessage::default();
        message.event_source_arn = Some(arn.to_owned());
        message
    }

    #[test]
    fn a_message_is_traced_to_its_queue_or_to_the_queue_it_died_in() {
        let source = |name: &str| Source {
            queue: name.to_owned(),
            url: format!("https://sqs.eu-west-1.amazonaws.com/123456789012/belfry-{name}"),
            consumer: name.to_owned(),
        };
        let sources = [source("a"), source("b")];
        let live = message("arn:aws:sqs:eu-west-1:123456789012:belfry-b");
        assert_eq!(Source::of(&sources, &live), Some(&sources[1]));
        assert_eq!(Source::of_dead(&sources, &live), None);
        let dead = message("arn:aws:sqs:eu-west-1:123456789012:belfry-a-dlq");
        assert_eq!(Source::of_dead(&sources, &dead), Some(&sources[0]));
        assert_eq!(Source::of(&sources, &dead), None);
    }
}
