//! Commits: the writes and events of one transaction, as plain data.

use std::collections::HashMap;
use std::marker::PhantomData;

use uuid::Uuid;

use crate::context::event_id;
use crate::entity::{Entity, Revision, Stored, VERSION, WRITTEN_BY, place_of};
use crate::event::{EventDraft, IntoEvent, Stamp};
use crate::item::{AttributeValue, Item, Place, Unwritable, number, text};
use crate::{EventId, Timestamp};

/// Writes and events that commit together, and the output of the decision.
#[derive(Debug, Clone)]
#[must_use = "a commit does nothing until it is returned to the kernel"]
pub struct Commit<T = ()> {
    body: CommitBody,
    output: T,
}

/// What a commit writes.
#[derive(Debug, Clone)]
pub struct CommitBody {
    pub(crate) execution: Uuid,
    pub(crate) now: Timestamp,
    /// The writes.
    pub writes: Vec<Write>,
    /// The events.
    pub events: Vec<EventDraft>,
    /// Why it cannot be written, if it cannot.
    pub problem: Option<Unwritable>,
}

/// One write of a transaction, with its condition.
#[derive(Debug, Clone)]
pub struct Write {
    /// The item.
    pub place: Place,
    /// What is done to it.
    pub action: Action,
    /// The condition under which it is done.
    pub condition: Condition,
    /// Whether the rest of the transaction goes on without this write where the item exists already.
    pub optional: bool,
    /// The version that the item will have, for entities.
    pub version: Option<u64>,
    /// Attributes that are set to the time of each attempt.
    pub stamped: &'static [&'static str],
}

/// What a write does.
#[derive(Debug, Clone)]
pub enum Action {
    /// Replaces the item.
    Put(Item),
    /// Changes attributes.
    Update(Expression),
    /// Deletes the item.
    Delete,
    /// Changes nothing; only the condition counts.
    Check,
}

/// The condition of a write.
#[derive(Debug, Clone)]
pub enum Condition {
    /// None.
    Always,
    /// The item must not exist.
    Absent,
    /// The item must have this version.
    Version(u64),
    /// This expression must hold.
    Expression(Expression),
}

/// An update or condition expression. A word after `#` names an attribute, a word after `:` a value.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    /// The expression.
    pub text: String,
    /// The values, by their placeholder.
    pub values: Vec<(String, AttributeValue)>,
}

impl Expression {
    /// An expression and its values.
    pub fn new<'a>(text: impl Into<String>, values: impl IntoIterator<Item = (&'a str, AttributeValue)>) -> Self {
        Self { text: text.into(), values: values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect() }
    }

    /// The attribute names that the expression uses, by placeholder. Any of them may be a word that DynamoDB reserves.
    pub fn names(&self) -> HashMap<String, String> {
        let words = self.text.split('#').skip(1);
        let words =
            words.map(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default());
        words.map(|word| (format!("#{word}"), word.to_owned())).collect()
    }
}

impl Write {
    fn new(place: Place, action: Action, condition: Condition) -> Self {
        Self { place, action, condition, optional: false, version: None, stamped: &[] }
    }

    /// Puts an item, whatever stands there.
    pub fn put(place: Place, item: Item) -> Self {
        Self::new(place, Action::Put(item), Condition::Always)
    }

    /// Puts an item that must not exist yet.
    pub fn create(place: Place, item: Item) -> Self {
        Self::new(place, Action::Put(item), Condition::Absent)
    }

    /// Changes attributes of an item.
    pub fn update(place: Place, update: Expression) -> Self {
        Self::new(place, Action::Update(update), Condition::Always)
    }

    /// Deletes an item.
    pub fn delete(place: Place) -> Self {
        Self::new(place, Action::Delete, Condition::Always)
    }

    /// Adds a condition.
    #[must_use]
    pub fn when(mut self, condition: Expression) -> Self {
        self.condition = Condition::Expression(condition);
        self
    }

    /// Makes the write optional: where the item exists already, the rest of the transaction goes on without it.
    #[must_use]
    pub fn if_absent(mut self) -> Self {
        self.condition = Condition::Absent;
        self.optional = true;
        self
    }

    /// Sets these attributes to the time of each attempt.
    #[must_use]
    pub fn stamped(mut self, attributes: &'static [&'static str]) -> Self {
        self.stamped = attributes;
        self
    }

    /// Makes the write say which execution it belongs to, and refuses to repeat an update of the same execution.
    #[doc(hidden)]
    pub fn written_by(&mut self, execution: Uuid) {
        let execution = text(execution);
        match &mut self.action {
            Action::Put(item) => {
                item.insert(WRITTEN_BY.to_owned(), execution);
            }
            Action::Update(update) => {
                update.text = match update.text.strip_prefix("SET ") {
                    Some(rest) => format!("SET #{WRITTEN_BY} = :written_by, {rest}"),
                    None => format!("SET #{WRITTEN_BY} = :written_by {}", update.text),
                };
                update.values.push((":written_by".to_owned(), execution));
                // An update whose condition still holds after it was made would be made again.
                let again = format!("(attribute_not_exists(#{WRITTEN_BY}) OR #{WRITTEN_BY} <> :written_by)");
                match &mut self.condition {
                    Condition::Expression(condition) => condition.text = format!("({}) AND {again}", condition.text),
                    other @ Condition::Always => *other = Condition::Expression(Expression::new(again, [])),
                    Condition::Absent | Condition::Version(_) => {}
                }
            }
            Action::Delete | Action::Check => {}
        }
    }
}

impl Commit<()> {
    pub(crate) fn new(execution: Uuid, now: Timestamp) -> Self {
        let body = CommitBody { execution, now, writes: Vec::new(), events: Vec::new(), problem: None };
        Self { body, output: () }
    }
}

impl<T> Commit<T> {
    /// Writes a revision, if the stored version is the one that it is based on.
    pub fn put<E: Entity>(self, revision: &Revision<E>) -> Self {
        self.put_with(revision, None)
    }

    /// Writes a revision with attributes that depend on settings, such as a time to live.
    pub fn put_with<E: Entity>(
        mut self,
        revision: &Revision<E>,
        attributes: impl IntoIterator<Item = (String, AttributeValue)>,
    ) -> Self {
        match revision.item() {
            Ok(mut item) => {
                item.extend(attributes);
                let condition = revision.before().map_or(Condition::Absent, Condition::Version);
                let write = Write::new(place_of::<E>(revision), Action::Put(item), condition);
                self.body.writes.push(Write { version: Some(revision.version()), ..write });
                self
            }
            Err(problem) => self.problem(problem),
        }
    }

    /// Creates an entity that must not exist yet.
    pub fn create<E: Entity + Clone>(self, new: &E) -> Self {
        self.put(&Revision::new(new.clone()))
    }

    /// Creates an entity, unless it exists already.
    pub fn create_if_absent<E: Entity + Clone>(self, new: &E) -> Self {
        self.create_if_absent_with(new, None)
    }

    /// Creates an entity, unless it exists already, with attributes that depend on settings.
    pub fn create_if_absent_with<E: Entity + Clone>(
        self,
        new: &E,
        attributes: impl IntoIterator<Item = (String, AttributeValue)>,
    ) -> Self {
        let mut commit = self.put_with(&Revision::new(new.clone()), attributes);
        if let Some(write) = commit.body.writes.last_mut() {
            write.optional = true;
        }
        commit
    }

    /// Deletes an entity, if it still has the version that was read.
    pub fn delete<E: Entity>(self, before: &Stored<E>) -> Self {
        let condition = Condition::Version(before.version());
        self.write(Write::new(place_of::<E>(before), Action::Delete, condition))
    }

    /// Requires that an entity that is only read has not changed. Costs two write units, and conflicts with writers.
    pub fn unchanged<E: Entity>(self, read: &Stored<E>) -> Self {
        self.write(Write::new(place_of::<E>(read), Action::Check, Condition::Version(read.version())))
    }

    /// Requires that an entity is still absent.
    pub fn absent<E: Entity>(self, id: E::Id<'_>) -> Self {
        self.write(Write::new(E::place(id), Action::Check, Condition::Absent))
    }

    /// Changes single attributes of an entity by arithmetic.
    pub fn change<E: Entity>(self, change: Change<E>) -> Self {
        self.write(change.into_write())
    }

    /// Adds a write of the application's own making.
    pub fn write(mut self, write: Write) -> Self {
        self.body.writes.push(write);
        self
    }

    /// Adds an event.
    pub fn event(self, event: impl IntoEvent) -> Self {
        self.event_with(|_| event)
    }

    /// Adds an event whose payload repeats the event's id or time.
    pub fn event_with<P: IntoEvent>(mut self, event: impl FnOnce(Stamp) -> P) -> Self {
        let derived: EventId = event_id(self.body.execution, self.body.events.len()).into();
        let stamp = Stamp { event_id: derived.clone(), now: self.body.now };
        let mut draft = event(stamp).into_event();
        draft.event_id.get_or_insert(derived);
        if let Err(problem) = &draft.payload {
            let problem = problem.clone();
            self = self.problem(problem);
        }
        self.body.events.push(draft);
        self
    }

    /// Applies `step` to each item.
    pub fn each<I: IntoIterator>(self, items: I, step: impl FnMut(Self, I::Item) -> Self) -> Self {
        items.into_iter().fold(self, step)
    }

    /// Sets the output.
    pub fn output<U>(self, output: U) -> Commit<U> {
        Commit { body: self.body, output }
    }

    /// Separates the commit from its output.
    pub fn split(self) -> (Commit<()>, T) {
        (Commit { body: self.body, output: () }, self.output)
    }

    /// The writes so far.
    pub fn writes(&self) -> &[Write] {
        &self.body.writes
    }

    /// The events so far.
    pub fn events(&self) -> &[EventDraft] {
        &self.body.events
    }

    /// The output.
    pub fn as_output(&self) -> &T {
        &self.output
    }

    fn problem(mut self, problem: Unwritable) -> Self {
        self.body.problem.get_or_insert(problem);
        self
    }

    /// Makes a commit that reports why it cannot be written.
    pub fn unwritable(self, problem: Unwritable) -> Self {
        self.problem(problem)
    }

    #[doc(hidden)]
    pub fn into_parts(self) -> (CommitBody, T) {
        (self.body, self.output)
    }
}

/// A change of single attributes of an entity. It increments the version and requires that the entity exists.
///
/// Two such changes commute: orders for the same unit do not lose to each other as long as every condition holds.
#[derive(Debug, Clone)]
pub struct Change<E> {
    place: Place,
    sets: Vec<String>,
    conditions: Vec<String>,
    values: Vec<(String, AttributeValue)>,
    of: PhantomData<fn() -> E>,
}

impl<E: Entity> Change<E> {
    /// A change of the entity with this id.
    pub fn of(id: E::Id<'_>) -> Self {
        let place = E::place(id);
        let exists = format!("attribute_exists(#{})", place.table.hash.name);
        let change = Self { place, sets: Vec::new(), conditions: vec![exists], values: Vec::new(), of: PhantomData };
        change.add(VERSION, 1)
    }

    /// Adds a number to an attribute that exists.
    #[must_use]
    pub fn add(mut self, attribute: &str, by: i64) -> Self {
        let value = self.value(number(by));
        self.sets.push(format!("#{attribute} = #{attribute} + {value}"));
        self
    }

    /// Sets an attribute.
    #[must_use]
    pub fn set(mut self, attribute: &str, to: AttributeValue) -> Self {
        let value = self.value(to);
        self.sets.push(format!("#{attribute} = {value}"));
        self
    }

    /// Requires that an attribute is at least this number.
    #[must_use]
    pub fn at_least(mut self, attribute: &str, least: u64) -> Self {
        let value = self.value(number(least));
        self.conditions.push(format!("#{attribute} >= {value}"));
        self
    }

    /// Requires that an attribute has this value.
    #[must_use]
    pub fn equals(mut self, attribute: &str, expected: AttributeValue) -> Self {
        let value = self.value(expected);
        self.conditions.push(format!("#{attribute} = {value}"));
        self
    }

    fn value(&mut self, value: AttributeValue) -> String {
        let name = format!(":v{}", self.values.len());
        self.values.push((name.clone(), value));
        name
    }

    fn into_write(self) -> Write {
        let update = Expression { text: format!("SET {}", self.sets.join(", ")), values: self.values };
        let condition = Expression { text: self.conditions.join(" AND "), values: Vec::new() };
        Write::update(self.place, update).when(condition)
    }
}
