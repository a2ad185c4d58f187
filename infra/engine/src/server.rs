//! An HTTP/1.1 server on one port of 127.0.0.1, and of other addresses of this machine, on a thread of its own.
//!
//! Each engine has its own thread because a DynamoDB request blocks it while the database works. That must hold up
//! neither SQS nor the caller: many tests run on a single thread. One thread is enough, because the database holds one
//! lock for everything.

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

/// Attempts to find a port that is free on all addresses.
const ATTEMPTS: usize = 32;

/// Listens on one port of 127.0.0.1 and of the other addresses. Port 0 lets the system choose one that is free on all.
///
/// # Errors
///
/// Fails if the port is taken or an address is not this machine's. An unspecified address (0.0.0.0, ::) is refused,
/// because it would open the data to the network.
pub fn listen(port: u16, also: &[IpAddr]) -> io::Result<Vec<BlockingListener>> {
    if also.iter().any(IpAddr::is_unspecified) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "cannot listen on every address of this machine"));
    }
    let others = also.iter().filter(|address| **address != Ipv4Addr::LOCALHOST);
    let bind = || {
        let loopback = BlockingListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let port = loopback.local_addr()?.port();
        let others = others.clone().map(|address| BlockingListener::bind((*address, port)));
        let listeners = std::iter::once(Ok(loopback)).chain(others).collect::<io::Result<Vec<_>>>()?;
        listeners.iter().try_for_each(|listener| listener.set_nonblocking(true))?;
        Ok::<_, io::Error>(listeners)
    };
    let mut attempts = 1;
    loop {
        match bind() {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && port == 0 && attempts < ATTEMPTS => attempts += 1,
            listeners => return listeners,
        }
    }
}

/// A bound port that is not served yet.
///
/// Bound before the thread starts, so that a taken port is reported at once and an early client waits in the backlog.
pub(crate) struct BoundPort {
    number: u16,
    listeners: Vec<BlockingListener>,
}

impl BoundPort {
    pub(crate) fn listen(port: u16, also: &[IpAddr]) -> Result<BoundPort, EngineError> {
        let bind = || {
            let listeners = listen(port, also)?;
            let loopback = listeners.first().ok_or(io::ErrorKind::AddrNotAvailable)?;
            Ok(BoundPort { number: loopback.local_addr()?.port(), listeners })
        };
        bind().map_err(|source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => EngineError::PortTaken { port, source },
            _ => EngineError::Listen { port, source },
        })
    }

    /// The number of the port, chosen by the system if 0 was requested.
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
        Err(error) => return tracing::error!(%error, port, "cannot serve the port"),
    };
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, port, "accept failed; retrying");
                // Most likely out of file descriptors: retrying at once would only spin.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        // Without this, an answer too large for one packet waits up to 40 ms for the client's delayed acknowledgement.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "cannot set TCP_NODELAY");
        }
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service.clone());
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "connection closed early");
            }
        });
    }
}

/// A running server. Dropping it ends its thread.
#[derive(Debug)]
pub(crate) struct Server {
    url: String,
    /// Nothing is sent on these two channels: dropping one end is the signal.
    alive: oneshot::Sender<Infallible>,
    ended: oneshot::Receiver<Infallible>,
    thread: JoinHandle<()>,
}

impl Server {
    /// Runs `server` on a new thread until this value is dropped or stopped.
    pub(crate) async fn start<F: Future<Output = ()>>(
        name: &'static str,
        port: BoundPort,
        server: impl FnOnce(BoundPort) -> F + Send + 'static,
    ) -> Result<Server, EngineError> {
        let url = format!("http://{}:{}", Ipv4Addr::LOCALHOST, port.number());
        let (alive, owner_gone) = oneshot::channel();
        let (ending, ended) = oneshot::channel();
        let (report, started) = oneshot::channel();
        let body = move || {
            match Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => {
                    // Fails if the caller gave up starting; then `alive` is dropped, too.
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
            Err(_) => return Err(failed(io::Error::other("the thread ended before it served a request"))),
        }
        Ok(Server { url, alive, ended, thread })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Ends the server and waits until its port and its connections are closed.
    pub(crate) async fn stop(self) {
        let Server { url, alive, ended, thread } = self;
        drop(alive);
        // Awaited first so that joining, which blocks, has nothing left to wait for.
        let _ = ended.await;
        if thread.join().is_err() {
            tracing::error!(url, "engine thread panicked");
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
    // An orderly shutdown would wait up to 20 seconds for a long poll.
    runtime.shutdown_background();
}
