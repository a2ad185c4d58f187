//! Containers of this machine: where they reach the host, its engines and its stand-ins, and what their functions are told.
//!
//! A container has a loopback of its own. On Linux it reaches its machine at the address of the Docker bridge, which is no
//! address of any other network; Docker Desktop passes what containers send to `host.docker.internal` on to the loopback.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_LENGTH, HOST};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// The bridge that Docker makes when it starts.
const BRIDGE: &str = "docker0";
/// Where the functions' environments are written, from the root of the workspace.
const ENVIRONMENT: &str = "target/environment.json";

/// What Docker calls the machine that a container runs on.
const MACHINE: &str = "host.docker.internal";
/// No stand-in says more.
const LARGEST_ANSWER: usize = 16 * 1024 * 1024;

/// How containers are served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Containers {
    /// The address of this machine that containers reach.
    pub address: IpAddr,
    /// Where the functions' environments are written, in the shape of `sam local invoke --env-vars`.
    pub environment: PathBuf,
}

/// Why containers cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum NoContainers {
    /// Docker does not run, or not as this host knows it.
    #[error(
        "no Docker bridge ({BRIDGE}) on this machine: start Docker, or name the address at which containers reach this \
         machine with --containers-address"
    )]
    NoBridge,
    /// The address would let others in.
    #[error(
        "--containers-address {0} is not in the network of a Docker bridge of this machine: others could reach the local stack \
         there"
    )]
    NotPrivate(IpAddr),
    /// There is no current folder to write to.
    #[error("the current folder cannot be read: {0}")]
    NoFolder(#[from] io::Error),
}

impl Containers {
    /// Finds the address of the Docker bridge, unless one is named.
    pub fn find(named: Option<IpAddr>) -> Result<Self, NoContainers> {
        let address = match named {
            Some(address) if address.is_loopback() || is_of_a_bridge(address) => address,
            Some(address) => return Err(NoContainers::NotPrivate(address)),
            None => reachable().ok_or(NoContainers::NoBridge)?,
        };
        Ok(Self { address, environment: workspace(&std::env::current_dir()?).join(ENVIRONMENT) })
    }

    /// Writes the functions' environments. They may hold secrets: only the owner can read them.
    pub(crate) fn write(&self, environments: &impl Serialize) -> io::Result<()> {
        if let Some(folder) = self.environment.parent() {
            fs::create_dir_all(folder)?;
        }
        // A new file in place of an old one, which others may be able to read, or may be reading.
        let new = self.environment.with_extension("json.new");
        fs::remove_file(&new)
            .or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&new)?;
        serde_json::to_writer_pretty(&mut file, environments)?;
        file.write_all(b"\n")?;
        fs::rename(new, &self.environment)
    }
}

/// A text whose URLs of the loopback are those of the machine that a container runs on.
pub(crate) fn from_a_container(text: &str) -> String {
    let loopback = ["://127.0.0.1:", "://localhost:", "://[::1]:"];
    loopback.into_iter().fold(text.to_owned(), |text, loopback| text.replace(loopback, &format!("://{MACHINE}:")))
}

/// Answers a container with URLs that it can reach: some of what the stand-ins say has more of their own URLs in it.
pub(crate) async fn answer_containers(request: Request, next: Next) -> Response {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let is_container = host.split(':').next() == Some(MACHINE);
    let response = next.run(request).await;
    if !is_container {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(body) = to_bytes(body, LARGEST_ANSWER).await else { return StatusCode::BAD_GATEWAY.into_response() };
    parts.headers.remove(CONTENT_LENGTH);
    let body = match std::str::from_utf8(&body) {
        Ok(text) => Body::from(from_a_container(text)),
        Err(_) => Body::from(body),
    };
    Response::from_parts(parts, body)
}

/// The nearest folder above that has a lock file of cargo's, or else this one.
fn workspace(folder: &Path) -> &Path {
    folder.ancestors().find(|folder| folder.join("Cargo.lock").is_file()).unwrap_or(folder)
}

/// Where containers reach this machine.
#[cfg(target_os = "linux")]
fn reachable() -> Option<IpAddr> {
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    let bridge = bridge_address(&read("/proc/net/route"), &read("/proc/net/fib_trie"));
    bridge.map(IpAddr::V4).or_else(|| is_docker_desktop().then_some(Ipv4Addr::LOCALHOST.into()))
}

/// Docker has a virtual machine of its own on other systems.
#[cfg(not(target_os = "linux"))]
fn reachable() -> Option<IpAddr> {
    Some(Ipv4Addr::LOCALHOST.into())
}

/// It has no bridge on this machine either, and says its name.
#[cfg(target_os = "linux")]
fn is_docker_desktop() -> bool {
    let asked = std::process::Command::new("docker").args(["info", "--format", "{{.OperatingSystem}}"]).output();
    asked.is_ok_and(|answer| String::from_utf8_lossy(&answer.stdout).contains("Docker Desktop"))
}

/// Whether an address is in a network that is routed to a bridge of Docker's.
#[cfg(target_os = "linux")]
fn is_of_a_bridge(address: IpAddr) -> bool {
    let routes = fs::read_to_string("/proc/net/route").unwrap_or_default();
    matches!(address, IpAddr::V4(address) if is_routed_to_a_bridge(&routes, address))
}

/// Containers are in a virtual machine there.
#[cfg(not(target_os = "linux"))]
fn is_of_a_bridge(_address: IpAddr) -> bool {
    false
}

#[cfg(target_os = "linux")]
fn is_routed_to_a_bridge(routes: &str, address: Ipv4Addr) -> bool {
    routes.lines().filter_map(route).any(|(interface, network, mask)| {
        // A network that a user made has a bridge of its own, which is called after its id.
        (interface == BRIDGE || interface.starts_with("br-")) && mask != 0 && u32::from(address) & mask == network
    })
}

/// The interface, the network and the mask of a line of `/proc/net/route`.
#[cfg(target_os = "linux")]
fn route(line: &str) -> Option<(&str, u32, u32)> {
    let number = |hexadecimal: &str| u32::from_str_radix(hexadecimal, 16).ok().map(u32::swap_bytes);
    let columns: Vec<&str> = line.split_whitespace().collect();
    let [interface, network, _, _, _, _, _, mask, ..] = columns[..] else { return None };
    Some((interface, number(network)?, number(mask)?))
}

/// The bridge's own address: the one of this machine (from `/proc/net/fib_trie`) that is in the network which is routed to
/// the bridge (from `/proc/net/route`).
#[cfg(target_os = "linux")]
fn bridge_address(routes: &str, trie: &str) -> Option<Ipv4Addr> {
    let (_, network, mask) = routes.lines().filter_map(route).find(|(interface, ..)| *interface == BRIDGE)?;
    let lines: Vec<&str> = trie.lines().map(str::trim).collect();
    let own = lines.windows(2).filter_map(|pair| match pair {
        [address, "/32 host LOCAL"] => address.strip_prefix("|-- ")?.parse::<Ipv4Addr>().ok(),
        _ => None,
    });
    own.into_iter().find(|address| u32::from(*address) & mask == network)
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::middleware::from_fn;
    use axum::routing::get;
    use tower::ServiceExt;

    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn the_bridges_own_address_is_found_and_no_other() {
        let routes = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
            eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
            docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n\
            eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";
        let trie = "Local:\n     +-- 172.17.0.0/16 2 0 2\n           |-- 127.0.0.1\n              /32 host LOCAL\n\
            \x20          |-- 172.17.0.0\n              /16 link UNICAST\n           |-- 172.17.0.1\n              /32 host LOCAL\n\
            \x20       |-- 172.17.255.255\n           /32 link BROADCAST\n           |-- 192.0.2.2\n              /32 host LOCAL\n";
        assert_eq!(bridge_address(routes, trie), Some(Ipv4Addr::new(172, 17, 0, 1)));
        assert_eq!(bridge_address(&routes.replace("docker0", "br-1"), trie), None);
        assert_eq!(bridge_address(routes, &trie.replace("172.17.0.1\n", "172.18.0.1\n")), None);
        assert_eq!(bridge_address("docker0 zz", "|-- \n/32 host LOCAL"), None);
        for (address, is_a_bridges) in
            [("172.17.0.1", true), ("172.18.0.1", false), ("192.0.2.2", false), ("8.8.8.8", false)]
        {
            assert_eq!(is_routed_to_a_bridge(routes, address.parse().expect("an address")), is_a_bridges, "{address}");
        }
        assert!(is_routed_to_a_bridge(&routes.replace("docker0", "br-1a2b"), Ipv4Addr::new(172, 17, 0, 1)));
    }

    #[test]
    fn urls_of_the_loopback_are_the_machines_in_a_container() {
        for (here, there) in [
            ("http://127.0.0.1:1", "http://host.docker.internal:1"),
            ("http://localhost:1/a", "http://host.docker.internal:1/a"),
            ("http://[::1]:1/a", "http://host.docker.internal:1/a"),
            (r#"{"token_uri":"http://127.0.0.1:1/token"}"#, r#"{"token_uri":"http://host.docker.internal:1/token"}"#),
            ("https://api.example.com:1", "https://api.example.com:1"),
            ("127.0.0.1", "127.0.0.1"),
        ] {
            assert_eq!(from_a_container(here), there);
        }
    }

    #[tokio::test]
    async fn only_a_container_is_answered_with_the_machines_name() {
        let said = r#"{"SecretString":"{\"token_uri\":\"http://127.0.0.1:1/token\"}"}"#;
        let headers = [("content-length", said.len().to_string())];
        let routes = Router::new().route("/", get(move || async move { (headers, said) }));
        let routes = routes.layer(from_fn(answer_containers));
        for (host, expected) in [
            ("127.0.0.1:1", said.to_owned()),
            ("host.docker.internal:1", said.replace("127.0.0.1", "host.docker.internal")),
        ] {
            let request = Request::get("/").header("host", host).body(Body::empty()).expect("a request");
            let answer = routes.clone().oneshot(request).await.expect("an answer");
            let length = answer.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
            assert!(length.is_none_or(|length: usize| length == expected.len()), "{host}: {length:?}");
            assert_eq!(to_bytes(answer.into_body(), 1000).await.expect("a body"), expected, "{host}");
        }
    }

    #[test]
    fn an_address_that_lets_others_in_is_refused() {
        for open in
            ["0.0.0.0", "::", "192.0.2.2", "8.8.8.8", "224.0.0.1", "169.254.1.1", "192.168.255.254", "10.255.255.254"]
        {
            let refused =
                Containers::find(Some(open.parse().expect("an address"))).expect_err("it is open").to_string();
            assert!(refused.contains(open), "{refused}");
        }
        let loopback = Ipv4Addr::LOCALHOST.into();
        let found = Containers::find(Some(loopback)).expect("the loopback");
        assert_eq!(found.address, loopback);
        assert!(found.environment.ends_with("target/environment.json"));
        assert!(workspace(Path::new(env!("CARGO_MANIFEST_DIR"))).join("infra").is_dir(), "from a folder inside");
    }
}
