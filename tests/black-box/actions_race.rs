//! Actions at the same time: the first one counts, and of two doors to a reservation one is opened.

use futures_util::future::join_all;
use harness::{Answer, Caller, Fault, Stack};
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::restaurant::{newest, path, requested, staff};

async fn events(stack: &Stack, event_type: &str) -> usize {
    stack.column("events", "event_type").await.iter().filter(|stored| *stored == event_type).count()
}

/// How often somebody was told of this.
async fn told(of: &Caller, event_type: &str) -> usize {
    let inbox = of.all("/v1/inbox", "notifications").await;
    inbox.iter().filter(|told| told["event_type"] == event_type).count()
}

#[tokio::test]
async fn of_twenty_who_act_at_once_one_wins_and_the_others_are_told_who() {
    let stack = Stack::start().await;
    let all = staff(&stack, 20).await;
    stack.recipient("AGENCY_USER", "anna", json!({"name": "Anna", "agency_id": "a-1"})).await;
    let id = requested(&stack, "k").await;
    let paths = join_all(all.iter().map(path)).await;
    let act = |n: usize| {
        let (person, path) = (&all[n], &paths[n]);
        async move { person.command(&format!("{path}/actions"), "k", &json!({"action_type": "CONFIRMED"})).await }
    };
    let answers = join_all((0..20).map(act)).await;
    stack.idle().await;
    let winners: Vec<usize> = (0..20).filter(|n| answers[*n].status == StatusCode::OK).collect();
    let [winner] = winners.as_slice() else { panic!("{} have won: {answers:?}", winners.len()) };
    let handled_by = answers[*winner].json()["handled_by"].clone();
    assert_eq!(handled_by["name"], format!("Staff {winner}"));
    let message = format!("handled by Staff {winner}: CONFIRMED at {}", handled_by["at"].as_str().expect("a time"));
    for (n, answer) in answers.iter().enumerate().filter(|(n, _)| n != winner) {
        assert_eq!((answer.status, answer.code().as_str()), (StatusCode::CONFLICT, "ALREADY_HANDLED"), "s-{n}");
        assert_eq!((&answer.json()["message"], &answer.json()["handled_by"]), (&json!(message), &handled_by), "s-{n}");
        assert_eq!(newest(&all[n]).await["handled_by"], handled_by, "s-{n}");
    }
    assert_eq!((events(&stack, "NotificationActed").await, events(&stack, "ReservationAccepted").await), (1, 1));
    assert!(stack.column("events", "status").await.iter().all(|status| status == "PUBLISHED"));
    let reservation = stack.operator().await.get(&format!("/v1/reservations/{id}")).await.json();
    assert_eq!((&reservation["status"], &reservation["decided_by"]), (&json!("ACCEPTED"), &handled_by["user_id"]));
    let anna = stack.caller("anna", "AGENCY_USER", &[]).await;
    for person in [&stack.customer("ugo").await, &anna] {
        assert_eq!(told(person, "ReservationAccepted").await, 1);
    }
    let again = join_all((0..20).map(act)).await;
    let bytes =
        |answers: &[Answer]| answers.iter().map(|answer| (answer.status, answer.text.clone())).collect::<Vec<_>>();
    assert_eq!(bytes(&again), bytes(&answers));
    assert!(again.iter().all(|answer| answer.replayed));
}

#[tokio::test]
async fn yes_and_no_at_once_with_keys_that_are_repeated_still_have_one_effect() {
    let stack = Stack::start().await;
    let all = staff(&stack, 6).await;
    requested(&stack, "k").await;
    let paths = join_all(all.iter().map(path)).await;
    let acts = (0..24).map(|n| {
        let (person, path) = (&all[n % 6], &paths[n % 6]);
        let action = if n % 2 == 0 { "CONFIRMED" } else { "REJECTED" };
        async move { person.command(&format!("{path}/actions"), "k", &json!({"action_type": action})).await }
    });
    let answers = join_all(acts).await;
    for (n, answer) in answers.iter().enumerate() {
        assert_eq!(answer.text, answers[n % 6].text, "each gets one answer, however often");
    }
    assert_eq!(answers[..6].iter().filter(|answer| answer.status == StatusCode::OK).count(), 1);
    assert!(answers[..6].iter().all(|answer| answer.status == StatusCode::OK || answer.code() == "ALREADY_HANDLED"));
    assert_eq!(stack.count("events").await, 3);
}

#[tokio::test]
async fn whoever_is_overtaken_is_told_by_whom_whatever_they_do() {
    let stack = Stack::behind_a_proxy().await;
    let all = staff(&stack, 2).await;
    for (round, (action, other)) in
        [("DISMISSED", "POSTPONED"), ("CUSTOM", "CONFIRMED"), ("REJECTED", "DISMISSED")].into_iter().enumerate()
    {
        requested(&stack, &format!("k{round}")).await;
        let paths = join_all(all.iter().map(path)).await;
        let act = async |n: usize, action: &str| {
            let body = json!({"action_type": action});
            all[n].command(&format!("{}/actions", paths[n]), &format!("a{round}"), &body).await
        };
        stack.proxy().break_next_with("TransactWriteItems", "#s-0", &[Fault::HeldBefore]);
        let overtake = async {
            stack.proxy().held().await;
            act(1, other).await
        };
        let (slow, fast) = tokio::join!(act(0, action), overtake);
        assert_eq!(fast.status, StatusCode::OK, "{action}: {}", fast.text);
        assert_eq!((slow.status, slow.code().as_str()), (StatusCode::CONFLICT, "ALREADY_HANDLED"), "{action}");
        assert_eq!(slow.json()["handled_by"], fast.json()["handled_by"], "{action}");
        assert_eq!(newest(&all[0]).await["handled_by"], fast.json()["handled_by"], "{action}");
    }
    assert_eq!((events(&stack, "NotificationActed").await, events(&stack, "ReservationRejected").await), (3, 0));
}

#[tokio::test]
async fn an_action_that_the_other_door_overtakes_handles_nothing_and_the_other_way_round() {
    let stack = Stack::behind_a_proxy().await;
    let (all, shop) = (staff(&stack, 1).await, stack.shop().await);
    for (held_up, decided_by) in [("NotificationActed", "shop"), ("ReservationAccepted", "s-0")] {
        let id = requested(&stack, held_up).await;
        let (actions, body) = (format!("{}/actions", path(&all[0]).await), json!({"action_type": "CONFIRMED"}));
        let (accept, key) = (format!("/v1/reservations/{id}/accept"), format!("{held_up}-step"));
        stack.proxy().break_next_with("TransactWriteItems", held_up, &[Fault::HeldBefore]);
        let (acted, accepted) = if decided_by == "shop" {
            let overtake = async {
                stack.proxy().held().await;
                shop.order(&accept, &key).await
            };
            tokio::join!(all[0].command(&actions, &key, &body), overtake)
        } else {
            let overtake = async {
                stack.proxy().held().await;
                all[0].command(&actions, &key, &body).await
            };
            let (accepted, acted) = tokio::join!(shop.order(&accept, &key), overtake);
            (acted, accepted)
        };
        let (won, lost) = if decided_by == "shop" { (&accepted, &acted) } else { (&acted, &accepted) };
        assert_eq!(won.status, StatusCode::OK, "{held_up}: {}", won.text);
        assert_eq!((lost.status, lost.code().as_str()), (StatusCode::CONFLICT, "RESERVATION_STATE_CONFLICT"));
        let handled_by = newest(&all[0]).await["handled_by"].clone();
        assert_eq!(handled_by == Value::Null, decided_by == "shop", "{held_up}: {handled_by}");
        let stands = stack.operator().await.get(&format!("/v1/reservations/{id}")).await.json();
        assert_eq!((&stands["version"], &stands["decided_by"]), (&json!(2), &json!(decided_by)));
    }
    assert_eq!((events(&stack, "NotificationActed").await, events(&stack, "ReservationAccepted").await), (1, 2));
}

#[tokio::test]
async fn of_an_accept_and_an_action_at_the_same_time_one_wins() {
    let stack = Stack::start().await;
    let all = staff(&stack, 2).await;
    let shop = stack.shop().await;
    for round in 0..15 {
        let id = requested(&stack, &format!("k{round}")).await;
        let (action, step) = if round % 3 == 0 { ("REJECTED", "reject") } else { ("CONFIRMED", "accept") };
        let (actions, body) = (format!("{}/actions", path(&all[0]).await), json!({"action_type": action}));
        let (key, door) = (format!("{step}-{round}"), format!("/v1/reservations/{id}/{step}"));
        let act = all[0].command(&actions, &key, &body);
        let (acted, stepped) = tokio::join!(act, shop.order(&door, &key));
        let statuses = (acted.status.as_u16(), stepped.status.as_u16());
        let handled_by = newest(&all[1]).await["handled_by"].clone();
        let (refused, decided_by) = match statuses {
            (200, 409) => (&stepped, "s-0"),
            (409, 200) => (&acted, "shop"),
            _ => panic!("round {round}: {statuses:?}, {} {}", acted.text, stepped.text),
        };
        assert_eq!(refused.code(), "RESERVATION_STATE_CONFLICT", "round {round}");
        assert_eq!(handled_by == Value::Null, decided_by == "shop", "round {round}: nothing is handled by who lost");
        let stands = stack.operator().await.get(&format!("/v1/reservations/{id}")).await.json();
        assert_eq!((&stands["version"], &stands["decided_by"]), (&json!(2), &json!(decided_by)), "round {round}");
    }
    let decided = events(&stack, "ReservationAccepted").await + events(&stack, "ReservationRejected").await;
    assert_eq!(decided, 15);
}
