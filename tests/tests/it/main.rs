//! Black-box tests: every test starts a stack of its own and uses it over HTTP.

mod authorisation;
mod bad_input;
mod broken_calls;
mod consumers;
mod dead_letters;
mod entitlements;
mod events_in;
mod grant_to_inbox;
mod groups;
mod host;
mod inside;
mod keys;
mod live;
mod local_routes;
mod model;
mod relay;
mod reservation_rights;
mod reservations;
mod schemas;
mod sends;
mod sends_uncertain;
mod several_queues;
mod story;
mod sweeper;
mod ten_thousand;
mod tokens;
