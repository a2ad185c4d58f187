//! The console's files (`infra/console`), compiled in, with the headers that CloudFront sets when deployed.

use axum::Router;
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::map_response;
use axum::response::Response;
use axum::routing::get;
use serde_json::json;

/// The content security policy without `connect-src`, which depends on the stack. A test compares it with the template.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

macro_rules! files {
    ($($name:literal),* $(,)?) => { [$(($name, include_str!(concat!("../../console/", $name)))),*] };
}

/// All files except `config.json`. A test compares them with the folder.
const FILES: &[(&str, &str)] = &files![
    "index.html",
    "assets/activity.js",
    "assets/answers.js",
    "assets/api.js",
    "assets/base.css",
    "assets/bell.svg",
    "assets/chart.js",
    "assets/commands.js",
    "assets/config.js",
    "assets/confirm.js",
    "assets/copy.js",
    "assets/dead_letter.js",
    "assets/dead_letters.js",
    "assets/dom.js",
    "assets/event_of.js",
    "assets/events.js",
    "assets/faults.js",
    "assets/findings.js",
    "assets/format.js",
    "assets/icons.js",
    "assets/inbox.js",
    "assets/inbox_panel.js",
    "assets/layout.css",
    "assets/live.js",
    "assets/main.js",
    "assets/notices.js",
    "assets/notification.js",
    "assets/overview.js",
    "assets/pages.css",
    "assets/parts.css",
    "assets/pkce.js",
    "assets/polling.js",
    "assets/router.js",
    "assets/scenes.js",
    "assets/session.js",
    "assets/session_chip.js",
    "assets/sign_in.js",
    "assets/stages.js",
    "assets/states.js",
    "assets/steering.js",
    "assets/story.js",
    "assets/story_page.js",
    "assets/tiles.js",
    "assets/time_ago.js",
    "assets/timeline.js",
    "assets/try_it.js",
];

pub fn routes(address: std::net::SocketAddr) -> Router {
    let port = address.port();
    // WebSocket URLs have the first address. The page may be opened at either.
    let policy = format!("{POLICY}; connect-src 'self' ws://127.0.0.1:{port} ws://localhost:{port}");
    let settings = json!({"local": true}).to_string();
    let mut routes = Router::new().route("/config.json", get(|| async { typed("config.json", settings) }));
    for &(name, text) in FILES {
        let path = if name == "index.html" { "/".to_owned() } else { format!("/{name}") };
        routes = routes.route(&path, get(move || async move { typed(name, text.to_owned()) }));
    }
    routes.layer(map_response(move |mut response: Response| {
        let policy = HeaderValue::from_str(&policy);
        async move {
            let headers = response.headers_mut();
            headers.extend(policy.map(|policy| (header::CONTENT_SECURITY_POLICY, policy)));
            headers.extend(HEADERS.map(|(name, value)| (name, HeaderValue::from_static(value))));
            response
        }
    }))
}

const HEADERS: [(HeaderName, &str); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    // After a rebuild, browsers must not show the old page.
    (header::CACHE_CONTROL, "no-cache"),
];

fn typed(name: &str, text: String) -> ([(HeaderName, &'static str); 1], String) {
    let kind = match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/json",
    };
    ([(header::CONTENT_TYPE, kind)], text)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    fn below(folder: &Path, prefix: &str, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                below(&entry.path(), &format!("{name}/"), found);
            } else {
                found.insert(name);
            }
        }
    }

    #[test]
    fn every_file_of_the_folder_is_served() {
        let mut found = BTreeSet::new();
        below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../console"), "", &mut found);
        let served =
            FILES.iter().map(|(name, _)| (*name).to_owned()).chain(["config.json", "README.md"].map(String::from));
        assert_eq!(served.collect::<BTreeSet<_>>(), found);
    }

    /// User content is shown as text: nothing in the console interprets text as markup or code, and nothing is loaded
    /// from elsewhere.
    #[test]
    fn nothing_is_read_as_markup_and_nothing_is_inline() {
        let sinks = [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "DOMParser",
            "createContextualFragment",
            "eval(",
            "new Function",
            "setAttribute('style'",
            "srcdoc",
            "localStorage",
            "://cdn",
            "@import url",
        ];
        for (name, text) in FILES {
            for sink in sinks {
                assert!(!text.contains(sink), "{name} has {sink}");
            }
        }
        let (_, page) = FILES[0];
        for inline in ["<style", " style=", " onclick=", "javascript:", "<script>"] {
            assert!(!page.contains(inline), "index.html has {inline}");
        }
    }
}
