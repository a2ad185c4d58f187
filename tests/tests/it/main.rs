//! Black-box tests: every test starts a stack of its own and uses it over HTTP.

mod authorisation;
mod bad_input;
mod broken_calls;
mod entitlements;
mod grant_to_inbox;
mod host;
mod inside;
mod keys;
mod local_routes;
mod model;
mod tokens;
