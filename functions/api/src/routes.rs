//! Every route, named once: what serves it and what describes it are both taken from its handler's `#[utoipa::path]`.
//!
//! The description is committed as `openapi.json`, and the tests refuse one that says something else than the code does:
//! building it took a third of the function's start and half a megabyte of its binary, for something that does not change
//! between two releases.

use std::sync::Arc;

use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodFilter, MethodRouter};
use utoipa::Path;
use utoipa::openapi::HttpMethod;

use crate::Api;
#[cfg(test)]
use described::{Grouped, Tokens};

/// The OpenAPI description of the routes, as it is committed.
pub const OPENAPI: &str = include_str!("../openapi.json");

macro_rules! routes {
    ($($($module:ident)::+ => $handler:ident),* $(,)?) => {
        /// The routes, without what they share.
        pub(crate) fn served() -> Router<Arc<Api>> {
            let router = Router::new();
            $(let router = pastey::paste!(
                on::<crate::$($module)::+::[<__path_ $handler>], _, _>(router, crate::$($module)::+::$handler)
            );)*
            router
        }

        #[cfg(test)]
        #[derive(utoipa::OpenApi)]
        #[openapi(
            info(title = "Belfry", description = "An exactly-once-effect event and notification backbone."),
            paths($(crate::$($module)::+::$handler),*),
            components(schemas(crate::http::error::ErrorBody)),
            modifiers(&Tokens, &Grouped),
            // Unless a route says otherwise: a token, whatever its scopes. A scope that a route asks for is the gateway's
            // to check too, so the template has to name it: a test compares.
            security(("jwt" = []))
        )]
        struct Described;
    };
}

routes!(
    entitlements::grant => grant,
    entitlements::revoke => revoke,
    entitlements::history => entitlement_history,
    idempotency_keys => look_up,
    idempotency_keys => evict,
    entitlements::list => list_entitlements,
    recipients => put_recipient,
    recipients => show_recipient,
    recipients => delete_recipient,
    reservations::request => request_reservation,
    reservations::show => show_reservation,
    reservations::accept => accept_reservation,
    reservations::reject => reject_reservation,
    reservations::cancel => cancel_reservation,
    orders::place => place_order,
    orders::show => show_order,
    orders::cancel => cancel_order,
    inventory::put => put_stock,
    inventory::show => show_stock,
    inbox => inbox,
    inbox => debug_inbox,
    read_notification => read_notification,
    read_all => read_all,
    act => act,
    preferences => put_preferences,
    hand_in_events => hand_in_events,
    aggregate_events => aggregate_events,
    story => story,
    overview => overview,
    outbox => list_outbox,
    republish => republish,
    dead_letters => list_dead_letters,
    redrive_dead_letters => redrive_dead_letters,
    dead_letters => show_dead_letter,
    handle_dead_letter => redrive_dead_letter,
    handle_dead_letter => discard_dead_letter,
    unsubscribe => unsubscribe,
    unsubscribe => ask_to_unsubscribe,
    live_ticket => issue_live_ticket,
    schemas => schema,
    health => health,
);

/// Serves what `P` describes.
fn on<P, H, T>(router: Router<Arc<Api>>, handler: H) -> Router<Arc<Api>>
where
    P: Path,
    H: Handler<T, Arc<Api>>,
    T: 'static,
{
    let methods = P::methods().into_iter().map(filter).reduce(MethodFilter::or);
    let Some(methods) = methods else { return router };
    router.route(&P::path(), MethodRouter::new().on(methods, handler))
}

fn filter(method: HttpMethod) -> MethodFilter {
    match method {
        HttpMethod::Get => MethodFilter::GET,
        HttpMethod::Post => MethodFilter::POST,
        HttpMethod::Put => MethodFilter::PUT,
        HttpMethod::Delete => MethodFilter::DELETE,
        HttpMethod::Options => MethodFilter::OPTIONS,
        HttpMethod::Head => MethodFilter::HEAD,
        HttpMethod::Patch => MethodFilter::PATCH,
        HttpMethod::Trace => MethodFilter::TRACE,
    }
}

#[cfg(test)]
mod described {
    use std::{env, fs};

    use serde::Serialize;
    use serde_json::ser::PrettyFormatter;
    use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
    use utoipa::{Modify, OpenApi};

    /// Describes the tokens.
    pub(super) struct Tokens;

    impl Modify for Tokens {
        fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
            let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("JWT").build();
            let components = openapi.components.get_or_insert_default();
            components.add_security_scheme("jwt", SecurityScheme::Http(scheme));
        }
    }

    /// Groups the operations by what their paths begin with, for those who browse.
    pub(super) struct Grouped;

    impl Modify for Grouped {
        fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
            for (path, item) in &mut openapi.paths.paths {
                let group = path.split('/').find(|segment| !["", "v1", "debug"].contains(segment)).map(str::to_owned);
                let operations = [&mut item.get, &mut item.put, &mut item.post, &mut item.delete];
                for operation in operations.into_iter().flatten() {
                    operation.tags = group.clone().map(|group| vec![group]);
                }
            }
        }
    }

    #[test]
    fn openapi_json_says_what_the_code_does() {
        let mut described = Vec::new();
        // Lines for those who read what changed, without the indentation for those who load it.
        let lines = PrettyFormatter::with_indent(b"");
        let mut serializer = serde_json::Serializer::with_formatter(&mut described, lines);
        super::Described::openapi().serialize(&mut serializer).expect("JSON");
        described.push(b'\n');
        if env::var_os("BELFRY_BLESS").is_some() {
            return fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json"), described).expect("written");
        }
        let stale = "openapi.json is not what the code says: BELFRY_BLESS=1 cargo test --workspace openapi_json";
        assert!(described == super::OPENAPI.as_bytes(), "{stale}");
    }
}
