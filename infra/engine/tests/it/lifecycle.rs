//! Starting and stopping.

use std::collections::HashSet;
use std::io::Read;
use std::net::TcpStream;
use std::time::Duration;

use engine::{Engine, EngineError, Ports};

use crate::clients::until;

fn ports_of(engine: &Engine) -> Ports {
    let port = |url: &str| url.strip_prefix("http://127.0.0.1:").expect("on loopback").parse().expect("a port");
    Ports { dynamodb: port(engine.dynamodb_url()), sqs: port(engine.sqs_url()) }
}

/// A connection to each service. A broken connection shows that the engine stopped; a refused one would not, because
/// another engine may have been given the port.
fn connections(engine: &Engine) -> [TcpStream; 2] {
    let ports = ports_of(engine);
    [ports.dynamodb, ports.sqs].map(|port| TcpStream::connect(("127.0.0.1", port)).expect("somebody listens"))
}

fn is_broken(mut connection: TcpStream) -> bool {
    // Only ends a test that would hang.
    connection.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
    match connection.read(&mut [0]) {
        Ok(read) => read == 0,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

#[tokio::test]
async fn fifty_pairs_run_side_by_side_and_close_their_connections() {
    let mut engines = Vec::new();
    for _ in 0..50 {
        engines.push(Engine::start(Ports::default()).await.unwrap());
    }
    let ports: HashSet<u16> = engines.iter().map(ports_of).flat_map(|ports| [ports.dynamodb, ports.sqs]).collect();
    assert_eq!(ports.len(), 100);

    let connections: Vec<TcpStream> = engines.iter().flat_map(connections).collect();
    for engine in engines {
        engine.stop().await;
    }
    assert!(connections.into_iter().all(is_broken));
}

#[tokio::test]
async fn taken_port_is_named() {
    let first = Engine::start(Ports::default()).await.unwrap();
    let taken = ports_of(&first).sqs;
    let refused = Engine::start(Ports { sqs: taken, ..Ports::default() }).await.unwrap_err();
    assert!(matches!(refused, EngineError::PortTaken { port, .. } if port == taken));
    assert!(refused.to_string().contains(&taken.to_string()));
}

#[tokio::test]
async fn port_is_free_after_its_engine_stopped() {
    // Retried if another process took the port.
    until("the same ports", async || {
        let first = Engine::start(Ports::default()).await.unwrap();
        let ports = ports_of(&first);
        first.stop().await;
        let second = Engine::start(ports).await.ok()?;
        assert_eq!(ports_of(&second), ports);
        Some(())
    })
    .await;
}

#[tokio::test]
async fn dropped_engine_stops() {
    let engine = Engine::start(Ports::default()).await.unwrap();
    let connections = connections(&engine);
    drop(engine);
    assert!(connections.into_iter().all(is_broken));
}

/// Every address of 127.0.0.0/8 is the machine's own on Linux: 127.0.0.2 stands for a container network's.
#[cfg(target_os = "linux")]
mod on_another_address {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

    #[tokio::test]
    async fn engine_listens_on_the_given_address_and_no_other() {
        let engine = Engine::start_at(Ports::default(), &[OTHER]).await.unwrap();
        let ports = ports_of(&engine);
        let connections =
            [ports.dynamodb, ports.sqs].map(|port| TcpStream::connect((OTHER, port)).expect("it listens"));
        for port in [ports.dynamodb, ports.sqs] {
            let refused = TcpStream::connect(("127.0.0.3", port)).expect_err("nobody listens");
            assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
        }
        engine.stop().await;
        assert!(connections.into_iter().all(is_broken));
    }

    #[tokio::test]
    async fn port_taken_on_another_address_is_named() {
        let taken = std::net::TcpListener::bind((OTHER, 0)).unwrap();
        let sqs = taken.local_addr().unwrap().port();
        let refused = Engine::start_at(Ports { sqs, ..Ports::default() }, &[OTHER]).await.unwrap_err();
        assert!(matches!(refused, EngineError::PortTaken { port, .. } if port == sqs));
    }
}

#[tokio::test]
async fn unspecified_address_is_refused() {
    let everywhere = ["0.0.0.0", "::"].map(|address| address.parse().expect("an address"));
    for address in everywhere {
        let refused = Engine::start_at(Ports::default(), &[address]).await.unwrap_err();
        assert!(refused.to_string().contains("cannot listen on every address"), "{refused}");
    }
}
