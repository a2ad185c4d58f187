//! Black-box tests: every test starts a stack of its own and uses it over HTTP.

mod bad_input;
mod broken_calls;
mod grant_to_inbox;
mod host;
mod local_routes;
mod tokens;
