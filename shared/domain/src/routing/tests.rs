use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::recipient::Channel;
use crate::{UserId, event_types};

fn routes() -> &'static Routes {
    Routes::load().expect("routes")
}

fn told(event_type: &str, payload: &Value) -> Vec<Audience> {
    routes().queues(event_type, payload).filter_map(Queue::audience).collect()
}

fn announcement(audience: Audience) -> &'static Route {
    routes().route("Announcement", audience).expect("a route")
}

#[test]
fn the_routing_file_of_this_build_is_readable() {
    let route = routes().route("EntitlementGranted", Audience::Customer).expect("a route");
    assert_eq!(route.who, Who::User("user_id".to_owned()));
    assert_eq!(told("EntitlementGranted", &json!({"user_id": "u"})), [Audience::Customer]);
    assert!(told("NobodyKnowsThis", &json!({})).is_empty());
    assert!(routes().knows("Announcement") && !routes().knows("NobodyKnowsThis"));
    assert!(event_types::own("OrderPaid") && !event_types::own("Announcement"));
}

#[test]
fn an_agency_is_told_where_there_is_one() {
    use Audience::{AdminUser, AgencyUser, Customer, RestaurantUser};
    let direct = json!({"restaurant_id": "r", "customer_id": "c", "agency_id": null});
    let through = json!({"restaurant_id": "r", "customer_id": "c", "agency_id": "a"});
    assert_eq!(told("ReservationRequested", &direct), [RestaurantUser, Customer, AdminUser]);
    assert_eq!(told("ReservationRequested", &through), [RestaurantUser, Customer, AdminUser, AgencyUser]);
    let route = routes().route("ReservationRequested", AgencyUser).expect("a route");
    assert_eq!(route.group(&direct), Ok(None));
    assert_eq!(route.group(&through), Ok(Some(Group::Agency(crate::id::AgencyId::parse("a").expect("an id")))));
}

#[test]
fn a_field_that_must_be_there_is_missed_by_name() {
    let route = routes().route("ReservationRequested", Audience::Customer).expect("a route");
    let problem = |payload| route.group(&payload).expect_err("no group").to_string();
    assert_eq!(problem(json!({})), "payload field customer_id is missing");
    assert_eq!(problem(json!({"customer_id": 7})), "payload field customer_id must be text");
    let unseen = problem(json!({"customer_id": "s e c r e t"}));
    assert_eq!(unseen, "payload field customer_id must be 1 to 128 visible characters");
}

#[test]
fn an_announcement_reaches_the_audience_that_it_names_alone() {
    for audience in Audience::ALL {
        assert_eq!(told("Announcement", &json!({"audience": audience})), [audience]);
    }
    assert!(told("Announcement", &json!({"audience": "EVERYBODY"})).is_empty());
    assert!(told("Announcement", &json!({})).is_empty());
}

#[test]
fn an_announcement_says_whom_of_its_audience_it_means() {
    let group = |audience, payload: Value| announcement(audience).group(&payload);
    let one = Group::User(UserId::parse("u").expect("an id"));
    for audience in Audience::ALL {
        assert_eq!(group(audience, json!({"user_id": "u"})), Ok(Some(one.clone())));
    }
    let both = json!({"user_id": "u", "restaurant_id": "r"});
    assert_eq!(group(Audience::RestaurantUser, both), Ok(Some(one)));
    assert!(matches!(group(Audience::RestaurantUser, json!({"restaurant_id": "r"})), Ok(Some(Group::Restaurant(_)))));
    assert!(matches!(group(Audience::AgencyUser, json!({"agency_id": "a"})), Ok(Some(Group::Agency(_)))));
    assert_eq!(group(Audience::AdminUser, json!({})), Ok(Some(Group::All)));
    for (audience, field) in [
        (Audience::Customer, "user_id"),
        (Audience::RestaurantUser, "restaurant_id"),
        (Audience::AgencyUser, "agency_id"),
    ] {
        assert_eq!(group(audience, json!({})).expect_err("nobody").field, field);
    }
}

#[test]
fn a_restaurant_named_to_admins_does_not_become_all_admins() {
    let problem = announcement(Audience::AdminUser).group(&json!({"restaurant_id": "r"})).expect_err("a mix-up");
    assert_eq!(problem.to_string(), "payload field restaurant_id is not for this audience");
}

#[test]
fn an_announcement_brings_its_own_channels_and_sms_only_when_urgent() {
    let route = announcement(Audience::Customer);
    let channels = |payload: Value| route.channels_for(&payload);
    assert_eq!(channels(json!({})), Ok(BTreeSet::from([Channel::Email, Channel::Push])));
    let asked = json!({"channels": ["SMS", "EMAIL", "SMS"]});
    assert_eq!(channels(asked), Ok(BTreeSet::from([Channel::Email])));
    let asked = json!({"channels": ["SMS", "EMAIL"], "urgent": true});
    assert_eq!(channels(asked), Ok(BTreeSet::from([Channel::Email, Channel::Sms])));
    for bad in [json!({"channels": ["FAX"]}), json!({"channels": ["WEBSOCKET"]}), json!({"channels": "EMAIL"})] {
        assert_eq!(channels(bad).expect_err("no channels").field, "channels");
    }
    assert_eq!(channels(json!({"urgent": "yes"})).expect_err("no").field, "urgent");
}

#[test]
fn no_other_payload_chooses_its_channels() {
    let route = routes().route("EntitlementGranted", Audience::Customer).expect("a route");
    let payload = json!({"channels": ["SMS"], "urgent": true});
    assert_eq!(route.channels_for(&payload), Ok(BTreeSet::from([Channel::Email, Channel::Push])));
}

#[test]
fn a_mistake_names_its_line() {
    let route = |audience, channel, who| {
        format!(
            "[[route]]\nevent_type = \"OrderFailed\"\naudience = \"{audience}\"\nchannels = [\"{channel}\"]\nwho = {who}\n"
        )
    };
    for (file, line) in [
        (route("NOBODY", "EMAIL", "\"all\""), "line 3"),
        (route("ADMIN_USER", "FAX", "\"all\""), "line 4"),
        (route("ADMIN_USER", "EMAIL", "\"some\""), "line 5"),
        (route("ADMIN_USER", "EMAIL", "\"all\"\nurgnet = true"), "line 6"),
    ] {
        let problem = Routes::parse(&file).expect_err("a mistake").to_string();
        assert!(problem.contains(line), "{problem}");
    }
}

#[test]
fn what_cannot_be_meant_names_its_route() {
    let of = |event_type: &str, audience: &str, rest: &str| {
        let file = format!("[[route]]\nevent_type = \"{event_type}\"\naudience = \"{audience}\"\n{rest}");
        Routes::parse(&file).expect_err("a misfit").to_string()
    };
    let user = "who = { user = \"u\" }\n";
    for (event_type, audience, rest, problem) in [
        ("OrderFaild", "CUSTOMER", format!("{user}channels = []"), "no event type of our own"),
        ("OrderFailed", "CUSTOMER", format!("{user}channels = []\nsource = true"), "no source may hand it in"),
        ("OrderFailed", "CUSTOMER", "who = \"all\"\nchannels = []".to_owned(), "ADMIN_USER alone"),
        ("OrderFailed", "CUSTOMER", "who = { restaurant = \"r\" }\nchannels = []".to_owned(), "RESTAURANT_USER"),
        ("OrderFailed", "CUSTOMER", "who = { agency = \"a\" }\nchannels = []".to_owned(), "AGENCY_USER"),
        ("OrderFailed", "CUSTOMER", "who = \"announced\"\nchannels = []".to_owned(), "needs named_by"),
        ("OrderFailed", "ADMIN_USER", "who = \"all\"\noptional = true\nchannels = []".to_owned(), "optional"),
        ("OrderFailed", "CUSTOMER", format!("{user}channels = [\"WEBSOCKET\"]"), "never listed"),
        ("OrderFailed", "CUSTOMER", format!("{user}channels = [\"PUSH\", \"PUSH\"]"), "twice"),
        ("OrderFailed", "CUSTOMER", format!("{user}channels = [\"SMS\"]"), "urgent routes alone"),
    ] {
        let said = of(event_type, audience, &rest);
        assert!(said.contains(problem) && said.contains(&format!("{event_type} to {audience}")), "{said}");
    }
}

#[test]
fn a_route_given_twice_is_refused() {
    let route =
        "[[route]]\nevent_type = \"OrderFailed\"\naudience = \"CUSTOMER\"\nwho = { user = \"u\" }\nchannels = []\n";
    assert!(Routes::parse(route).is_ok());
    assert!(matches!(Routes::parse(&format!("{route}{route}")), Err(BadRouting::Twice { .. })));
}
