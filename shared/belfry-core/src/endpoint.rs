//! Endpoints: which URLs name this machine or a private network.

use std::net::IpAddr;

/// The name that Docker gives the machine that a container runs on.
const DOCKER_HOST: &str = "host.docker.internal";

/// The scheme and host of a URL.
///
/// Accepts only what every URL parser reads in the same way: between the scheme and the path a host and at most a port, no
/// user, no escapes and no backslashes.
pub fn scheme_and_host(url: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let is_port = port.is_none_or(|port| port.parse::<u16>().is_ok() && port.bytes().all(|b| b.is_ascii_digit()));
    let is_host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).map_or_else(
        || !host.is_empty() && host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-')),
        |address| address.parse::<std::net::Ipv6Addr>().is_ok(),
    );
    (is_port && is_host).then_some((scheme, host))
}

/// Whether a host is this machine.
pub fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// Whether a host is this machine, the machine of this container, or an address of a private network.
pub fn is_local_host(host: &str) -> bool {
    let is_private = match host.trim_start_matches('[').trim_end_matches(']').parse() {
        Ok(IpAddr::V4(address)) => address.is_private(),
        Ok(IpAddr::V6(address)) => address.is_unique_local(),
        Err(_) => false,
    };
    is_private || is_loopback(host) || host.eq_ignore_ascii_case(DOCKER_HOST)
}

/// Whether a URL names this machine or a private network.
pub fn is_local(url: &str) -> bool {
    scheme_and_host(url).is_some_and(|(_, host)| is_local_host(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_and_private_networks_are_local() {
        for local in [
            "http://127.0.0.1:8000",
            "http://localhost:8000",
            "http://[::1]:8000/",
            "http://host.docker.internal:8000/slack",
            "http://172.17.0.1:8000",
            "https://10.1.2.3",
            "http://192.168.0.2",
            "http://[fd00::1]:8000",
        ] {
            assert!(is_local(local), "{local}");
        }
        for elsewhere in [
            "https://dynamodb.us-east-1.amazonaws.com",
            "https://api.stripe.com",
            "http://127.0.0.1.example.com",
            "http://127.0.0.1@example.com",
            "http://example.com#@127.0.0.1",
            "http://host.docker.internal.example.com",
            "http://172.32.0.1",
            "http://0.0.0.0:8000",
            "http://169.254.169.254/latest/meta-data",
            "http://[::ffff:8.8.8.8]",
            "127.0.0.1:8000",
            "",
        ] {
            assert!(!is_local(elsewhere), "{elsewhere}");
        }
    }
}
