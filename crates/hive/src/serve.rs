//! Listening: TLS by rustls, or plain HTTP on the loopback address or behind a stated proxy.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum_server::Handle;
use axum_server::tls_rustls::RustlsConfig;

use racewarden_ledger::Ledger;

use crate::api::{State, router};
use crate::dashboard;
use crate::store::{Store, StoreError};

#[derive(Debug, Clone)]
pub struct Tls {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

#[derive(Debug, Clone)]
pub struct ServeOptions {
    pub database: String,
    pub listen: SocketAddr,
    pub tls: Option<Tls>,
    /// A reverse proxy in front does TLS.
    pub behind_proxy: bool,
    pub requests_per_second: f64,
    pub burst: f64,
    /// The ledger that verdicts flow into; with it, `/dashboard` is served.
    pub ledger: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the hive's ledger: {0}")]
    Ledger(#[from] racewarden_ledger::Error),
    #[error("no randomness for the dashboard's forms: {0}")]
    Randomness(std::io::Error),
    #[error(
        "{0} can be reached from other machines: give --tls-cert and --tls-key, or say \
         --behind-proxy when a reverse proxy does TLS"
    )]
    PlainText(SocketAddr),
    #[error("{path}: {source}", path = .path.display())]
    Certificate { path: PathBuf, source: std::io::Error },
    #[error("{address}: {source}")]
    Listen { address: SocketAddr, source: std::io::Error },
}

/// Serves until SIGINT or SIGTERM, then lets requests under way finish. `ready` hears the address
/// once connections are taken (port 0 picks one).
pub async fn serve(
    options: ServeOptions,
    ready: impl FnOnce(SocketAddr) + Send + 'static,
) -> Result<(), ServeError> {
    if options.tls.is_none() && !options.behind_proxy && !options.listen.ip().is_loopback() {
        return Err(ServeError::PlainText(options.listen));
    }
    let store = Store::open(&options.database).await?;
    let state = State::new(store, options.requests_per_second, options.burst).await?;
    let state = Arc::new(state);
    let mut routes = router(state.clone());
    let ledger = match &options.ledger {
        Some(place) => Some(Ledger::open(place).await?),
        None => None,
    };
    if let Some(ledger) = &ledger {
        let pages = dashboard::routes(state.clone(), ledger.clone());
        routes = routes.merge(pages.map_err(ServeError::Randomness)?);
    }
    tokio::spawn(keep_judging(state, ledger));
    let service = routes.into_make_service();

    let handle = Handle::new();
    tokio::spawn({
        let handle = handle.clone();
        async move {
            if let Some(address) = handle.listening().await {
                ready(address);
            }
        }
    });
    tokio::spawn({
        let handle = handle.clone();
        async move {
            stop_signal().await;
            handle.graceful_shutdown(Some(Duration::from_secs(10)));
        }
    });

    let address = options.listen;
    let listen = move |source| ServeError::Listen { address, source };
    match options.tls {
        None => axum_server::bind(address).handle(handle).serve(service).await.map_err(listen),
        Some(Tls { certificate, key }) => {
            // Fails only when a provider is installed already, and then that one serves.
            let _ = rustls::crypto::ring::default_provider().install_default();
            let config = RustlsConfig::from_pem_file(&certificate, &key)
                .await
                .map_err(|source| ServeError::Certificate { path: certificate, source })?;
            axum_server::bind_rustls(address, config)
                .handle(handle)
                .serve(service)
                .await
                .map_err(listen)
        }
    }
}

async fn keep_judging(state: Arc<State>, ledger: Option<Ledger>) {
    let mut tick = tokio::time::interval(Duration::from_secs(1));
    loop {
        tick.tick().await;
        if let Err(error) = state.judge_open().await {
            eprintln!("hive: verdicts could not be brought up to date: {error}");
        }
        let Some(ledger) = &ledger else { continue };
        for build in state.take_moved().await {
            if let Err(error) = dashboard::record(&state, ledger, &build).await {
                eprintln!("hive: the ledger could not be brought up to date: {error}");
            }
        }
    }
}

async fn stop_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let interrupt = tokio::signal::ctrl_c();
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => {
            tokio::select! {
                _ = interrupt => {}
                _ = terminate.recv() => {}
            }
        }
        Err(_) => {
            let _ = interrupt.await;
        }
    }
}
