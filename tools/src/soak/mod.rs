//! The soak: random commands, duplicates, redeliveries, poison, faults and kills for as long as one likes, then rest, then
//! an audit of everything. What is asked follows from the seed; when it happens does not.

mod about;
mod asked;
mod audit;
mod handing_in;
mod money;
mod people;
mod rest;
mod schedule;
mod skipped;
mod steps;
mod stores;
mod summary;
mod taken;
mod told;
mod trouble;
mod world;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use asked::Log;
use people::{PEOPLE, UNITS, stock};
use schedule::{Op, Schedule};
pub use taken::{EndedBy, Taken};
use world::World;

/// How long, with what, and how much at once.
#[derive(Debug, Clone)]
pub struct Options {
    /// Everything that is asked follows from it.
    pub seed: u64,
    /// For how long steps are taken.
    pub lasting: Duration,
    /// How many steps are taken at most; however many there is time for, without it.
    pub most_steps: Option<usize>,
    /// How many steps are taken at the same time.
    pub at_once: usize,
    /// Starts the host that is killed, if the path of its template is appended.
    pub host: Vec<OsString>,
    /// A folder for the hosts' logs.
    pub logs: Option<PathBuf>,
}

/// A soak.
#[derive(Debug)]
pub struct Soak {
    options: Options,
    world: World,
    log: Log,
    /// To whom each step that hands something in does so, and whether it is urgent.
    handed_in: Mutex<BTreeMap<usize, (usize, bool)>>,
}

impl Soak {
    /// Starts engines, providers and a host; stores people and stock.
    pub async fn start(options: Options) -> Self {
        let world = World::start(options.host.clone(), options.seed, options.logs.clone()).await;
        let soak = Self { options, world, log: Log::default(), handed_in: Mutex::default() };
        soak.world.next_host().await;
        for person in 0..PEOPLE {
            soak.put_record(person, 0).await;
        }
        for unit in 0..UNITS {
            soak.restock(unit, stock(unit)).await;
        }
        soak
    }

    /// Takes steps until the time is over, or there are none left.
    pub async fn run(&self) -> Taken {
        let most_steps = self.options.most_steps.unwrap_or(usize::MAX);
        let schedule = Mutex::new(Schedule::new(self.options.seed).take(most_steps));
        let over = AtomicBool::new(false);
        let steps = AtomicUsize::new(0);
        let take = || async {
            while !over.load(Ordering::Relaxed) {
                let step = schedule.lock().expect("nobody panics with it").next();
                let Some(step) = step else { return };
                steps.fetch_add(1, Ordering::Relaxed);
                if let Op::HandIn { to, urgent } = step.op {
                    self.handed_in.lock().expect("nobody panics with it").insert(step.n, (to, urgent));
                }
                let begun = tokio::time::Instant::now();
                self.take(&step).await;
                self.log.took(&step.op, begun.elapsed());
            }
        };
        let time = async {
            tokio::time::sleep(self.options.lasting).await;
            over.store(true, Ordering::Relaxed);
        };
        let workers = futures_util::future::join_all((0..self.options.at_once).map(|_| take()));
        let mut workers = std::pin::pin!(workers);
        tokio::select! {
            // Every step that was begun comes to its end.
            () = time => drop(workers.await),
            _ = &mut workers => {}
        }
        let steps = steps.load(Ordering::Relaxed);
        let ended_by = if steps == most_steps { EndedBy::Steps } else { EndedBy::Time };
        let Options { seed, at_once, .. } = self.options;
        Taken { seed, at_once, steps, ended_by }
    }

    fn handed_in_steps(&self) -> BTreeMap<usize, (usize, bool)> {
        self.handed_in.lock().expect("nobody panics with it").clone()
    }

    /// The engine's tables and the payment provider, for whoever wants to see the audit fail.
    pub fn behind_the_scenes(&self) -> (aws_sdk_dynamodb::Client, &str) {
        (self.world.engine_client(), &self.world.backends.providers_url)
    }

    /// The engine's queues, for whoever wants to see it come to rest too early.
    pub fn queues(&self) -> aws_sdk_sqs::Client {
        self.world.queue_client()
    }

    /// Ends everything that it started.
    pub async fn stop(self) {
        self.world.stop().await;
    }
}
