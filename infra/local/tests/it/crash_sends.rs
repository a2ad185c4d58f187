//! A host that dies at a call of the delivery, before the call or after it, the provider's among them: what the
//! provider was not asked for is asked once; what it may have sent is sent again where the channel says so, and is an
//! operator's case where it says that; what is recorded is not sent again. The providers outlive the host, and count.

use std::time::Duration;

use futures_util::StreamExt;
use harness::Fault;
use providers::Target;

use crate::staff::{BOTH_COME_BACK, CHANNELS, SHORT_LEASE, SOON, Stored, address, user_id};
use crate::world::{PATIENCE, World, template};

/// How many people are told, and which of them is caught.
const PEOPLE: usize = 3;
const CAUGHT: usize = 1;

/// How many cells run side by side: most of the time they wait for a lease to end.
const SIDE_BY_SIDE: usize = 6;

/// The calls on the way of one send, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Call {
    /// The relay puts its message onto its channel's queue.
    Queued,
    /// The delivery reads it.
    Read,
    /// And claims it.
    Claimed,
    /// And hands it to the provider.
    Sent,
    /// And records what came of it.
    Recorded,
    /// The message is deleted.
    Deleted,
}

const CALLS: [Call; 6] = [Call::Queued, Call::Read, Call::Claimed, Call::Sent, Call::Recorded, Call::Deleted];

/// How far a send had come when its worker died.
#[derive(Debug, Clone, Copy)]
struct Reached {
    claimed: bool,
    asked: bool,
    recorded: bool,
}

impl Reached {
    /// None where the call does not bound it: once the message is on its queue, the delivery goes on while the relay is
    /// held, and dies wherever it has come to.
    fn new(call: Call, fault: Fault) -> Option<Self> {
        if (call, fault) == (Call::Queued, Fault::HeldAfter) {
            return None;
        }
        let is_done = |step: Call| call > step || (call == step && fault == Fault::HeldAfter);
        Some(Self { claimed: is_done(Call::Claimed), asked: is_done(Call::Sent), recorded: is_done(Call::Recorded) })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_killed_at_any_of_its_calls_tells_everybody_and_repeats_only_what_nobody_can_know() {
    // Mail and push are sent again, text messages are held: the defaults.
    killed_everywhere(&[], |channel| channel == Target::Sms).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_killed_at_any_of_its_calls_goes_by_its_channels_setting() {
    let turned = [
        ("BELFRY_EMAIL_WHEN_UNCERTAIN", "hold"),
        ("BELFRY_PUSH_WHEN_UNCERTAIN", "hold"),
        ("BELFRY_SMS_WHEN_UNCERTAIN", "resend"),
    ];
    killed_everywhere(&turned, |channel| channel != Target::Sms).await;
}

async fn killed_everywhere(settings: &[(&str, &str)], is_held: impl Fn(Target) -> bool + Copy) {
    let settings = &[SOON.as_slice(), &SHORT_LEASE, settings].concat();
    let cells = CALLS.into_iter().flat_map(|call| [(call, Fault::HeldBefore), (call, Fault::HeldAfter)]);
    let killed = async |(call, fault)| killed_at(call, fault, settings, is_held).await;
    futures_util::stream::iter(cells).for_each_concurrent(SIDE_BY_SIDE, killed).await;
}

async fn killed_at(call: Call, fault: Fault, settings: &[(&str, &str)], is_held: impl Fn(Target) -> bool) {
    let world = World::new(format!("{call:?}, {fault:?}"), &BOTH_COME_BACK, settings).await;
    let host = world.host().await;
    world.employ(&host, PEOPLE).await;
    for channel in CHANNELS {
        world.hold_send(call, fault, channel);
    }
    world.announce_to_staff(&host).await;
    if call == Call::Deleted {
        // Which batch the caught one's message is in, the call does not say: all of them are held.
        let all_sent = |sends: &[Stored]| sends.len() == PEOPLE * 3 && sends.iter().all(|send| send.status == "SENT");
        world.until_sends("all sent", all_sent).await;
    }
    for _ in CHANNELS {
        world.held().await;
    }
    host.kill();
    world.backends.mend();
    let host = world.host().await;
    let sends = world.settled(&host, PEOPLE * CHANNELS.len()).await;
    for send in &sends {
        world.is_well_told(send, Reached::new(call, fault), is_held(send.channel));
    }
    let held: Vec<&Stored> = sends.iter().filter(|send| send.status == "UNCERTAIN").collect();
    let letters = world.rows("dead-letters", ["consumer", "status"]).await;
    let mut expected: Vec<[String; 2]> = held.iter().map(|send| [consumer(send.channel), "OPEN".to_owned()]).collect();
    expected.sort();
    assert_eq!(letters, expected, "{}: a dead letter for each that is held", world.cell);

    // An operator decides that they are to be sent after all.
    let before = world.reached();
    world.redrive_each(&host).await;
    let again = world.settled(&host, sends.len()).await;
    assert!(again.iter().all(|send| send.status == "SENT"), "{}: {again:?}", world.cell);
    for (to, times) in world.reached() {
        let is_redriven =
            held.iter().any(|send| to == (format!("{:?}", send.channel), address(&send.user_id, send.channel)));
        let times_before = before.get(&to).copied().unwrap_or_default();
        assert_eq!(times, times_before + usize::from(is_redriven), "{}: {to:?} after the redrive", world.cell);
    }
}

fn consumer(channel: Target) -> String {
    format!("deliver:{}", name(channel))
}

fn name(channel: Target) -> String {
    format!("{channel:?}").to_uppercase()
}

impl World {
    /// Plans to hold the host at a call on the way of the caught person's send.
    fn hold_send(&self, call: Call, fault: Fault, channel: Target) {
        let caught = user_id(CAUGHT);
        // A call that is not answered for a while is made again: until the other channels are there too, it must not
        // get through.
        let once = [&[fault][..], &[Fault::HeldStill; 20]].concat();
        let queue = format!("belfry-local-deliver-{}", name(channel).to_lowercase());
        let place = format!("#{}", name(channel));
        match call {
            Call::Queued => self.backends.break_next("SendMessageBatch", &[&queue, &caught], &once),
            Call::Read => self.backends.break_next("BatchGetItem", &["belfry-local-sends", &place, &caught], &once),
            Call::Claimed => self.backends.break_next("PutItem", &["PROCESSING", &place, &caught], &once),
            Call::Sent => {
                let operation = match channel {
                    Target::Sms => "SendTextMessage",
                    Target::Push => "/v1/projects/belfry-local/messages:send",
                    _ => "/v2/email/outbound-emails",
                };
                self.backends.break_next(operation, &[&address(&caught, channel)], &once);
            }
            Call::Recorded => self.backends.break_next("PutItem", &["sent_at", &place, &caught], &once),
            Call::Deleted => self.backends.break_next("DeleteMessageBatch", &[&queue], &[fault; 20]),
        }
    }

    /// What became of a send, and how often its provider was asked, fit each other; of the caught one, they fit where
    /// it was caught.
    fn is_well_told(&self, send: &Stored, caught: Option<Reached>, is_held: bool) {
        let to = (format!("{:?}", send.channel), address(&send.user_id, send.channel));
        let times = self.reached().get(&to).copied().unwrap_or_default();
        let why = format!("{}: {send:?}, reached {times} times", self.cell);
        // A worker that died may have sent it or not.
        let (sent, died) = (send.ended("sent"), send.ended("unknown: its worker died"));
        assert_eq!(send.attempts.len(), sent + died, "{why}");
        assert!((sent..=sent + died).contains(&times) && died <= 1, "{why}");
        let expected = if is_held && died > 0 { "UNCERTAIN" } else { "SENT" };
        assert_eq!((send.status.as_str(), sent), (expected, usize::from(expected == "SENT")), "{why}");
        let caught = caught.filter(|_| send.user_id == user_id(CAUGHT));
        let Some(Reached { claimed, asked, recorded }) = caught else {
            return;
        };
        let is_lost = claimed && !recorded;
        assert_eq!(died, usize::from(is_lost), "{why}");
        let is_at_rest = recorded || (is_lost && is_held);
        assert_eq!(times, usize::from(asked) + usize::from(!is_at_rest), "{why}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_dead_worker_held_is_found_by_the_sweeper_alone() {
    // Of the deployed template: nobody waits for six minutes until its message comes back.
    let template = template("deployed", &[]);
    let settings = [SOON.as_slice(), &SHORT_LEASE, &[("BELFRY_SMS_WHEN_UNCERTAIN", "resend")]].concat();
    let world = World::new("swept".to_owned(), &template, &settings).await;
    let host = world.host().await;
    world.employ(&host, PEOPLE).await;
    world.backends.break_next("PutItem", &["PROCESSING"], &[Fault::HeldAfter; 100]);
    world.announce_to_staff(&host).await;
    let all = PEOPLE * CHANNELS.len();
    let all_claimed = |sends: &[Stored]| sends.len() == all && sends.iter().all(|send| send.status == "PROCESSING");
    world.until_sends("all claimed", all_claimed).await;
    host.kill();
    world.backends.mend();
    let host = world.host().await;
    let mut swept = 0;
    let settled = async {
        while world.sends().await.iter().any(|send| send.is_open) {
            swept += world.sweep_sends(&host).await;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(PATIENCE, settled).await.expect("all of them settled");
    assert_eq!(usize::try_from(swept), Ok(all), "each is sent for once");
    world.all_reached_once(PEOPLE).await;
}
