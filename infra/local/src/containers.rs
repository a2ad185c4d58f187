//! Lets containers on this machine reach the host, the engines and the local providers, and writes their functions'
//! environments.
//!
//! On Linux, a container reaches its machine at the address of the Docker bridge, which no other network can reach.
//! Docker Desktop forwards `host.docker.internal` to the loopback address.

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

/// The bridge that Docker creates when it starts.
const BRIDGE: &str = "docker0";
/// Relative to the workspace.
const ENVIRONMENT: &str = "target/environment.json";

/// Docker's name for the machine of a container.
const MACHINE: &str = "host.docker.internal";
const LARGEST_ANSWER: usize = 16 * 1024 * 1024;

/// How containers reach the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Containers {
    /// The address of this machine for containers.
    pub address: IpAddr,
    /// The file for `sam local invoke --env-vars`.
    pub environment: PathBuf,
}

/// Why containers cannot reach the host.
#[derive(Debug, thiserror::Error)]
pub enum ContainersError {
    /// Docker is not running.
    #[error(
        "this machine has no Docker bridge {BRIDGE}: start Docker, or set --containers-address to the address at which \
         containers reach this machine"
    )]
    NoBridge,
    /// Other machines could reach the address.
    #[error(
        "--containers-address must be in the network of a Docker bridge of this machine, because other machines could reach \
         the local stack at {0}"
    )]
    NotPrivate(IpAddr),
    /// The current folder cannot be read.
    #[error("cannot read the current folder: {0}")]
    NoFolder(#[from] io::Error),
}

impl Containers {
    /// Finds the address of the Docker bridge unless one is given.
    pub fn find(named: Option<IpAddr>) -> Result<Self, ContainersError> {
        let address = match named {
            Some(address) if address.is_loopback() || is_of_a_bridge(address) => address,
            Some(address) => return Err(ContainersError::NotPrivate(address)),
            None => reachable().ok_or(ContainersError::NoBridge)?,
        };
        Ok(Self { address, environment: workspace(&std::env::current_dir()?).join(ENVIRONMENT) })
    }

    /// Writes the functions' environments. They may hold secrets, so only the owner can read the file.
    pub(crate) fn write(&self, environments: &impl Serialize) -> io::Result<()> {
        if let Some(folder) = self.environment.parent() {
            fs::create_dir_all(folder)?;
        }
        // A new file replaces an old one that others might be able to read.
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

/// Replaces loopback URLs with URLs that work in a container.
pub(crate) fn from_a_container(text: &str) -> String {
    let loopback = ["://127.0.0.1:", "://localhost:", "://[::1]:"];
    loopback.into_iter().fold(text.to_owned(), |text, loopback| text.replace(loopback, &format!("://{MACHINE}:")))
}

/// Replaces loopback URLs in the local providers' responses to containers.
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

/// The nearest parent folder with a Cargo.lock, or this one.
fn workspace(folder: &Path) -> &Path {
    folder.ancestors().find(|folder| folder.join("Cargo.lock").is_file()).unwrap_or(folder)
}

#[cfg(target_os = "linux")]
fn reachable() -> Option<IpAddr> {
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    let bridge = bridge_address(&read("/proc/net/route"), &read("/proc/net/fib_trie"));
    bridge.map(IpAddr::V4).or_else(|| is_docker_desktop().then_some(Ipv4Addr::LOCALHOST.into()))
}

/// Docker runs in a virtual machine on other systems.
#[cfg(not(target_os = "linux"))]
fn reachable() -> Option<IpAddr> {
    Some(Ipv4Addr::LOCALHOST.into())
}

/// Docker Desktop has no bridge on this machine.
#[cfg(target_os = "linux")]
fn is_docker_desktop() -> bool {
    let asked = std::process::Command::new("docker").args(["info", "--format", "{{.OperatingSystem}}"]).output();
    asked.is_ok_and(|answer| String::from_utf8_lossy(&answer.stdout).contains("Docker Desktop"))
}

/// Whether an address belongs to the network of a Docker bridge.
#[cfg(target_os = "linux")]
fn is_of_a_bridge(address: IpAddr) -> bool {
    let routes = fs::read_to_string("/proc/net/route").unwrap_or_default();
    matches!(address, IpAddr::V4(address) if is_routed_to_a_bridge(&routes, address))
}

#[cfg(not(target_os = "linux"))]
fn is_of_a_bridge(_address: IpAddr) -> bool {
    false
}

#[cfg(target_os = "linux")]
fn is_routed_to_a_bridge(routes: &str, address: Ipv4Addr) -> bool {
    routes.lines().filter_map(route).any(|(interface, network, mask)| {
        // The bridge of a user-defined network is named after its id.
        (interface == BRIDGE || interface.starts_with("br-")) && mask != 0 && u32::from(address) & mask == network
    })
}

/// Interface, network and mask of a line of `/proc/net/route`.
#[cfg(target_os = "linux")]
fn route(line: &str) -> Option<(&str, u32, u32)> {
    let number = |hexadecimal: &str| u32::from_str_radix(hexadecimal, 16).ok().map(u32::swap_bytes);
    let columns: Vec<&str> = line.split_whitespace().collect();
    let [interface, network, _, _, _, _, _, mask, ..] = columns[..] else { return None };
    Some((interface, number(network)?, number(mask)?))
}

/// The address of the bridge: an address of this machine (`/proc/net/fib_trie`) in the network that is routed to the
/// bridge (`/proc/net/route`).
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
