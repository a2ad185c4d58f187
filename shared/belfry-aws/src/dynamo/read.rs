//! Consistent reads of single items.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use aws_sdk_dynamodb::types::KeysAndAttributes;
use belfry_core::{FoundItems, Item, Place};

use super::attempt::{AttemptOutcome, classify, wait};
use super::convert::{from_sdk, to_sdk};
use crate::{Belfry, Error};

/// DynamoDB reads at most this many items in one call.
const BATCH: usize = 100;

impl Belfry {
    /// Reads one item consistently.
    pub async fn get_item(&self, place: &Place) -> Result<Option<Item>, Error> {
        let table = self.0.config.tables.name(place.table)?;
        self.attempt(None, || async {
            let request = self.0.dynamodb.get_item().table_name(&table).set_key(Some(to_sdk(place.attributes())));
            match request.consistent_read(true).send().await {
                Ok(output) => AttemptOutcome::Done(output.item.map(from_sdk)),
                Err(error) => classify(&error),
            }
        })
        .await
    }

    /// Reads items of any tables consistently. One round trip per 100.
    pub async fn get_all(
        &self,
        places: impl IntoIterator<Item = Place>,
        deadline: Option<Instant>,
    ) -> Result<FoundItems, Error> {
        let mut found = FoundItems::default();
        let mut seen = HashSet::new();
        // DynamoDB refuses a batch with the same key twice.
        let places: Vec<Place> = places.into_iter().filter(|place| seen.insert(place.clone())).collect();
        for places in places.chunks(BATCH) {
            self.get_batch(places, deadline, &mut found).await?;
        }
        Ok(found)
    }

    async fn get_batch(
        &self,
        places: &[Place],
        deadline: Option<Instant>,
        found: &mut FoundItems,
    ) -> Result<(), Error> {
        let mut keys: HashMap<String, Vec<_>> = HashMap::new();
        for place in places {
            keys.entry(self.0.config.tables.name(place.table)?).or_default().push(to_sdk(place.attributes()));
        }
        let mut wanted = HashMap::new();
        for (table, keys) in keys {
            let keys = KeysAndAttributes::builder().set_keys(Some(keys)).consistent_read(true).build();
            wanted.insert(table, keys.map_err(|error| Error::Refused { reason: error.to_string() })?);
        }
        let policy = &self.0.config.retry;
        // When it throttles, DynamoDB returns part of the keys as unprocessed.
        for round in 1..=policy.attempts {
            let output = self
                .attempt(deadline, || async {
                    match self.0.dynamodb.batch_get_item().set_request_items(Some(wanted.clone())).send().await {
                        Ok(output) => AttemptOutcome::Done(output),
                        Err(error) => classify(&error),
                    }
                })
                .await?;
            for (table, items) in output.responses.unwrap_or_default() {
                for item in items.into_iter().map(from_sdk) {
                    let of_table =
                        |place: &&Place| self.0.config.tables.name(place.table).is_ok_and(|name| name == table);
                    if let Some(place) = places.iter().filter(of_table).find(|place| place.is_of(&item)) {
                        found.0.insert(place.clone(), item);
                    }
                }
            }
            wanted = output.unprocessed_keys.unwrap_or_default();
            if wanted.is_empty() {
                return Ok(());
            }
            wait(policy, round).await;
        }
        Err(Error::Unavailable { attempts: policy.attempts, reason: "keys stay unprocessed".to_owned() })
    }
}
