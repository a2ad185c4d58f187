//! A library that lends books, written from the README of `belfry-aws` alone.
//!
//! `library setup` creates tables and queues, `library borrow KEY BOOK READER` executes the command, `library relay` publishes
//! what is in the outbox, `library remind` runs the consumer on what is in its queue. With `CRASH=1`, `borrow` ends its
//! process after the commit and before it could say so.

use std::time::Duration;

use belfry_aws::aws_lambda_events::sqs::{SqsEvent, SqsMessage};
use belfry_aws::*;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize)]
struct Loan {
    book: String,
    reader: String,
}
entity!(Loan in "loans" by book);

#[derive(Clone, Serialize, Deserialize)]
struct BookBorrowed {
    book: String,
    reader: String,
}

impl Payload for BookBorrowed {
    const TYPE: &'static str = "BookBorrowed";
    type Of = Loan;

    fn subject(&self) -> &str {
        &self.book
    }
}

#[derive(Clone, Serialize, Deserialize)]
struct Reminder {
    reader: String,
    book: String,
}
entity!(Reminder in "reminders" by (reader, book));

#[derive(Debug, thiserror::Error)]
#[error("{0} has it")]
struct LentTo(String);

impl Refusal for LentTo {
    fn keep(&self) -> Keep {
        Keep::Store
    }
}

impl Command for Loan {
    const NAME: &'static str = "borrow";
    type Reads = Get<Loan>;
    type Output = ();
    type Refusal = LentTo;

    fn reads(&self) -> Get<Loan> {
        Loan::by_id(&self.book).assume_absent()
    }

    fn decide(&self, found: Option<Stored<Loan>>, ctx: &Context) -> Result<Commit<()>, LentTo> {
        if let Some(loan) = found {
            return Err(LentTo(loan.reader.clone()));
        }
        Ok(ctx.commit().create(self).event(BookBorrowed { book: self.book.clone(), reader: self.reader.clone() }))
    }
}

fn routes(event: &Event) -> Vec<Destination> {
    if event.event_type == BookBorrowed::TYPE { vec!["reminders".into()] } else { Vec::new() }
}

async fn borrow(belfry: &Belfry, key: &str, loan: &Loan) -> Result<String, Box<dyn std::error::Error>> {
    let request = Request {
        caller: Caller { issuer: "library".into(), subject: "desk".into() },
        key: IdempotencyKey::parse(key)?,
        fingerprint: Fingerprint::of_json("POST", "/loans", &serde_json::to_value(loan)?)?,
        trace: None,
        deadline: None,
    };
    let executed = belfry.execute(&request, loan, |end| match end {
        Ok(()) => StoredResponse::json(201, loan),
        Err(refusal) => StoredResponse::json(409, &refusal.to_string()),
    });
    Ok(match executed.await? {
        Executed::Accepted { response, .. } => format!("accepted {} {}", response.status, response.body),
        Executed::Refused { response, .. } => format!("refused {} {}", response.status, response.body),
        Executed::Replayed(response) => format!("replayed {} {}", response.status, response.body),
        _ => "key conflict".to_owned(),
    })
}

/// Runs the consumer on every message of its queue, each delivered twice.
async fn remind(belfry: &Belfry) -> Result<String, Box<dyn std::error::Error>> {
    let reminders = consumer(belfry, "reminders", async |delivery: Delivery<BookBorrowed>| {
        let BookBorrowed { book, reader } = delivery.message.clone();
        Ok(delivery.commit().create(&Reminder { reader, book }).into())
    });
    let url = &belfry.config().queues["reminders"].url;
    let received = belfry.sqs().receive_message().queue_url(url).max_number_of_messages(10).send().await?;
    let messages = received.messages.unwrap_or_default();
    let mut batch = SqsEvent::default();
    for body in messages.iter().filter_map(|message| message.body.clone()) {
        let mut message = SqsMessage::default();
        message.body = Some(body);
        message.event_source_arn = Some("arn:aws:sqs:us-east-1:000000000000:library-reminders".to_owned());
        batch.records.extend([message.clone(), message]);
    }
    let failures = reminders.batch(batch, None).await.batch_item_failures.len();
    let reminders = belfry.get::<Reminder>(("ada", "QA76")).await?;
    Ok(format!("{} messages, {failures} failures, reminder version {:?}", messages.len(), reminders.map(|r| r.version())))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut settings = Settings::from_env();
    let aws = clients::aws(&mut settings);
    let mut config = Config::read(&mut settings);
    config.stream_grace = Duration::ZERO;
    config.require_tables(&mut settings, tables::ALL.into_iter().chain([Loan::TABLE, Reminder::TABLE]));
    settings.finish()?;
    let (dynamodb, sqs) = (clients::dynamodb(&aws), aws_sdk_sqs::Client::new(&aws));
    let metrics = Metrics::to_each(std::io::sink);
    let belfry = Belfry::builder(config).routes(routes).metrics(metrics).build(dynamodb, sqs);
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["setup"] => {
            let own = [Loan::TABLE, Reminder::TABLE];
            tables::create(belfry.dynamodb(), &belfry.config().tables, tables::ALL.into_iter().chain(own)).await?;
            let queue = belfry.sqs().create_queue().queue_name("library-reminders").send().await?;
            println!("{}", queue.queue_url().unwrap_or_default());
        }
        ["borrow", key, book, reader] => {
            let said = borrow(&belfry, key, &Loan { book: book.to_owned(), reader: reader.to_owned() }).await?;
            if std::env::var_os("CRASH").is_some() {
                std::process::abort();
            }
            println!("{said}");
        }
        ["relay"] => println!("published {}", belfry.sweep_outbox(Duration::from_secs(20)).await?.published),
        ["remind"] => println!("{}", remind(&belfry).await?),
        _ => return Err("library setup | borrow KEY BOOK READER | relay | remind".into()),
    }
    Ok(())
}
