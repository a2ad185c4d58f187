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

/// A connection to each of the two. That it breaks tells that its engine has stopped; that the port is silent would
/// not, because another engine may have been given it.
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
async fn fifty_pairs_live_beside_each_other_and_leave_no_connection_behind() {
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
async fn a_taken_port_is_named() {
    let first = Engine::start(Ports::default()).await.unwrap();
    let taken = ports_of(&first).sqs;
    let refused = Engine::start(Ports { sqs: taken, ..Ports::default() }).await.unwrap_err();
    assert!(matches!(refused, EngineError::PortTaken { port, .. } if port == taken));
    assert!(refused.to_string().contains(&taken.to_string()));
}

#[tokio::test]
async fn a_port_can_be_had_again_once_its_engine_has_stopped() {
    // Again, if somebody else was quicker.
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
async fn an_engine_that_is_dropped_stops() {
    let engine = Engine::start(Ports::default()).await.unwrap();
    let connections = connections(&engine);
    drop(engine);
    assert!(connections.into_iter().all(is_broken));
}
