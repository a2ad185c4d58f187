//! `DeadLetterRedriven` → the message, as it was, to the queue of the consumer that gave it up, and to no other.
//!
//! Reads the dead letter; sends; then the mark. A crash in between sends it twice, which the consumer's own mark makes
//! harmless: the message keeps its event id.

use aws_sdk_sqs::types::MessageAttributeValue;
use domain::Event;
use domain::dead_letter::{DeadLetter, DeadLetterHandled, DeadLetterStatus};
use messaging::order::REDRIVE;
use messaging::{Effect, Failure};
use serde::Deserialize;

use crate::DeadLetters;

impl DeadLetters {
    pub(crate) async fn redrive(&self, event: &Event) -> Result<Effect, Failure> {
        let handled = DeadLetterHandled::deserialize(&event.payload);
        let handled =
            handled.map_err(|error| Failure::Reject(format!("payload is no redrive: {:?}", error.classify())))?;
        let letter = self.table.get(self.ledger(), &handled.dead_letter_id).await?;
        let letter = letter.ok_or_else(|| Failure::Reject("the dead letter is gone".to_owned()))?;
        // A later version means that this redrive has arrived already: it failed again, or was handled since.
        if letter.version == handled.version && letter.status == DeadLetterStatus::Redriven {
            self.send(&letter, event).await?;
        }
        Ok(Effect::default())
    }

    async fn send(&self, letter: &DeadLetter, redrive: &Event) -> Result<(), Failure> {
        let source = self.sources.iter().find(|source| source.queue == letter.queue);
        let source = source.ok_or_else(|| Failure::Reject(format!("no queue {}", letter.queue)))?;
        let mut request = self.sqs.send_message().queue_url(&source.url).message_body(&letter.body);
        // A send that was given up has no mark to tell a redrive from a message that comes twice: it goes by this.
        let mut attributes = letter.attributes.clone();
        attributes.insert(REDRIVE.to_owned(), redrive.event_id.to_string());
        for (name, value) in &attributes {
            let value = MessageAttributeValue::builder().data_type("String").string_value(value).build();
            let value = value.map_err(|error| Failure::Reject(format!("attribute {name}: {error}")))?;
            request = request.message_attributes(name, value);
        }
        let sent = request.send().await.map_err(|error| Failure::Retry(ledger::causes(&error)))?;
        tracing::info!(
            dead_letter_id = %letter.dead_letter_id,
            queue = letter.queue,
            sent_message_id = sent.message_id,
            "redriven"
        );
        Ok(())
    }
}
