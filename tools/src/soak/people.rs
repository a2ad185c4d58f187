//! Who is told in a soak: customers, two restaurants' staff, an agency's users and admins, each with addresses of their
//! own that name them.

use providers::Target;
use serde_json::{Value, json};

/// How many customers there are.
pub const CUSTOMERS: usize = 5;
/// How many people there are.
pub const PEOPLE: usize = CUSTOMERS + 6 + 2 + 2;
/// How many units there are in stock; the last of them is filled up again and again.
pub const UNITS: usize = 4;

/// How many of a unit there are at the beginning: of the first there is too little before long.
pub fn stock(unit: usize) -> u64 {
    if unit == 0 { 25 } else { 100_000 }
}

/// A person: the user type and the group within it, as the event notifications name it.
pub fn kind(person: usize) -> (&'static str, Option<(&'static str, String)>) {
    match person {
        0..CUSTOMERS => ("CUSTOMER", None),
        CUSTOMERS..11 => {
            let restaurant = format!("r-{}", (person - CUSTOMERS) / 3);
            ("RESTAURANT_USER", Some(("restaurant_id", restaurant)))
        }
        11..13 => ("AGENCY_USER", Some(("agency_id", "a-0".to_owned()))),
        _ => ("ADMIN_USER", None),
    }
}

/// Their user id.
pub fn user_id(person: usize) -> String {
    format!("person-{person:02}")
}

/// One of a restaurant's staff.
pub fn staff(restaurant: usize, nth: usize) -> usize {
    CUSTOMERS + restaurant * 3 + nth
}

/// How many people a group has, by the text that names it in its audience.
pub fn members(audience: &str, group: &str) -> usize {
    match (audience, group) {
        (_, group) if group.starts_with("user:") => 1,
        (_, group) if group.starts_with("restaurant:") => 3,
        (_, group) if group.starts_with("agency:") => 2,
        ("ADMIN_USER", "all") => 2,
        _ => 0,
    }
}

/// A person's record; each `move_` gives them new addresses for all channels.
pub fn record(person: usize, move_: usize) -> Value {
    let user_id = user_id(person);
    let mut record = json!({
        "name": user_id,
        "email": format!("{user_id}.{move_}@example.com"),
        "phone": format!("+39{person:02}{move_:07}"),
        "push_tokens": [format!("{user_id}.{move_}")],
        "slack_webhook_url": format!("https://hooks.slack.com/services/T0/{user_id}/{move_}"),
    });
    if let (_, Some((field, id))) = kind(person) {
        record[field] = json!(id);
    }
    record
}

/// Whose address it is, and since which move.
pub fn home(channel: Target, address: &str) -> Option<(String, usize)> {
    let (user, move_) = match channel {
        Target::Email => address.split_once('@')?.0.split_once('.')?,
        Target::Push => address.split_once('.')?,
        Target::Sms => return Some((user_id(address.get(3..5)?.parse().ok()?), address.get(5..)?.parse().ok()?)),
        Target::Slack => address.strip_prefix("/services/T0/")?.split_once('/')?,
        Target::Payment => return None,
    };
    Some((user.to_owned(), move_.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_its_owner_and_their_move() {
        let record = record(12, 3);
        for (channel, address) in [
            (Target::Email, record["email"].as_str()),
            (Target::Sms, record["phone"].as_str()),
            (Target::Push, record["push_tokens"][0].as_str()),
            (Target::Slack, Some("/services/T0/person-12/3")),
        ] {
            let home = home(channel, address.expect("an address"));
            assert_eq!(home, Some(("person-12".to_owned(), 3)), "{channel:?}");
        }
    }
}
