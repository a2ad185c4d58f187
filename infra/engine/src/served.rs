//! One HTTP/1.1 server on a port of the loopback, and of other addresses of this machine, with a thread of its own.
//!
//! Each engine has its own thread because a request to DynamoDB blocks it while the database works, and must hold up
//! neither SQS nor whoever started the engine: many tests run on a single thread. A database has one
//! lock around everything, so a second thread would only wait, and make each request slower by waking it.

use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, TcpListener as BlockingListener};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use http::{Request, Response};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use crate::EngineError;

/// How often a free port of the loopback is looked for that is free on the other addresses too.
const TRIES: usize = 32;

/// Listens on one port of 127.0.0.1 and of the other addresses; 0 lets the system choose one that is free on all of them.
///
/// # Errors
/// When the port is taken, or an address is not this machine's. An address that stands for all of them is refused: whoever
/// reaches this machine would reach its data.
pub fn listen(asked: u16, also: &[IpAddr]) -> io::Result<Vec<BlockingListener>> {
    if also.iter().any(IpAddr::is_unspecified) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "cannot listen on every address of this machine"));
    }
    let others = also.iter().filter(|address| **address != Ipv4Addr::LOCALHOST);
    let bind = || {
        let loopback = BlockingListener::bind((Ipv4Addr::LOCALHOST, asked))?;
        let port = loopback.local_addr()?.port();
        let others = others.clone().map(|address| BlockingListener::bind((*address, port)));
        let listeners = std::iter::once(Ok(loopback)).chain(others).collect::<io::Result<Vec<_>>>()?;
        listeners.iter().try_for_each(|listener| listener.set_nonblocking(true))?;
        Ok::<_, io::Error>(listeners)
    };
    let mut tries = 1;
    loop {
        match bind() {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && asked == 0 && tries < TRIES => tries += 1,
            listeners => return listeners,
        }
    }
}

/// A port that is listened on and that nobody serves yet.
///
/// Bound without a runtime, so that a taken port is known before a thread is started, and a client that is quick
/// waits in the backlog instead of being refused.
pub(crate) struct Port {
    number: u16,
    listeners: Vec<BlockingListener>,
}

impl Port {
    pub(crate) fn listen(asked: u16, also: &[IpAddr]) -> Result<Port, EngineError> {
        let bind = || {
            let listeners = listen(asked, also)?;
            let loopback = listeners.first().ok_or(io::ErrorKind::AddrNotAvailable)?;
            Ok(Port { number: loopback.local_addr()?.port(), listeners })
        };
        bind().map_err(|source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => EngineError::PortTaken { port: asked, source },
            _ => EngineError::Listen { port: asked, source },
        })
    }

    /// The port's number, which is another than was asked for if that was 0.
    pub(crate) fn number(&self) -> u16 {
        self.number
    }

    /// Serves every connection, forever.
    pub(crate) async fn serve<S, B>(self, service: S)
    where
        S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Clone + Send + 'static,
        S::Future: Send,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let number = self.number;
        let each = self.listeners.into_iter().map(|listener| accept(listener, number, service.clone()));
        join_all(each).await;
    }
}

/// Serves every connection of one listener, forever.
async fn accept<S, B>(listener: BlockingListener, port: u16, service: S)
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let listener = match TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return tracing::error!(%error, port, "the port cannot be served"),
    };
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, port, "a connection was not accepted");
                // Out of file descriptors, most likely: asking again at once would only spin.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        // hyper writes head and body of an answer in one go; without this, an answer too large for one packet
        // would still wait up to 40 ms for the client's delayed acknowledgement.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection keeps Nagle's algorithm");
        }
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service.clone());
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended early");
            }
        });
    }
}

/// A server at work. Dropping it tells its thread to end.
#[derive(Debug)]
pub(crate) struct Served {
    url: String,
    /// Nothing is ever sent on these two: it is their end that tells.
    alive: oneshot::Sender<Infallible>,
    ended: oneshot::Receiver<Infallible>,
    thread: JoinHandle<()>,
}

impl Served {
    /// Runs `server` on a new thread until this value is dropped or stopped.
    pub(crate) async fn start<F: Future<Output = ()>>(
        name: &'static str,
        port: Port,
        server: impl FnOnce(Port) -> F + Send + 'static,
    ) -> Result<Served, EngineError> {
        let url = format!("http://{}:{}", Ipv4Addr::LOCALHOST, port.number());
        let (alive, owner_gone) = oneshot::channel();
        let (ending, ended) = oneshot::channel();
        let (report, started) = oneshot::channel();
        let body = move || {
            match Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => {
                    // Nobody listens any more if the caller gave up starting; then `alive` is gone, too.
                    let _ = report.send(Ok(()));
                    run_until(runtime, owner_gone, server(port));
                }
                Err(source) => {
                    let _ = report.send(Err(source));
                }
            }
            drop(ending);
        };
        let failed = |source| EngineError::Thread { name, source };
        let thread = thread::Builder::new().name(format!("engine-{name}")).spawn(body).map_err(failed)?;
        match started.await {
            Ok(outcome) => outcome.map_err(failed)?,
            Err(_) => return Err(failed(io::Error::other("the thread ended before it served"))),
        }
        Ok(Served { url, alive, ended, thread })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Ends the server and waits until its port and its connections are closed.
    pub(crate) async fn stop(self) {
        let Served { url, alive, ended, thread } = self;
        drop(alive);
        // Awaited first so that joining, which blocks, has nothing left to wait for.
        let _ = ended.await;
        if thread.join().is_err() {
            tracing::error!(url, "the engine's thread panicked");
        }
    }
}

fn run_until(runtime: Runtime, owner_gone: oneshot::Receiver<Infallible>, server: impl Future<Output = ()>) {
    runtime.block_on(async {
        tokio::select! {
            _ = owner_gone => {}
            () = server => {}
        }
    });
    // A request that waits (a long poll) would hold up an orderly end for 20 seconds, and a client cannot tell
    // the difference to a service that went away.
    runtime.shutdown_background();
}
