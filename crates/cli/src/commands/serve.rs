//! `racewarden serve`: the dashboard over a ledger.

use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;

use anyhow::Context;
use racewarden_dashboard::{Options, router};
use racewarden_ledger::Ledger;

use crate::commands::mark::who;
use crate::ledger_sink::LedgerArgs;
use crate::output::source_roots;

#[derive(clap::Args)]
pub struct Args {
    /// Where to listen; port 0 takes a free one. There is no log-in, so that an address which
    /// others can reach lets them read and mark
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7227")]
    listen: SocketAddr,

    /// A name that the server answers to besides its address; repeatable
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,

    /// Who marks races [default: git's user name, else the login name]
    #[arg(long, value_name = "NAME", env = "RACEWARDEN_AUTHOR")]
    author: Option<String>,

    #[command(flatten)]
    ledger: LedgerArgs,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let place = args.ledger.place()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let ledger = Ledger::open(&place).await?;
        let listener = tokio::net::TcpListener::bind(args.listen)
            .await
            .with_context(|| format!("{}", args.listen))?;
        let address = listener.local_addr()?;
        let options = Options {
            source_roots: source_roots(),
            author: args.author.clone().unwrap_or_else(who),
            hosts: hosts(address.ip(), &args.host),
            ..Options::new(ledger.clone())
        };
        let pages = router(options)?;
        let shown = racewarden_ledger::shown(&place);
        eprintln!("racewarden: http://{address}/ shows {shown}; Ctrl-C ends it");
        let stop = async {
            let _ = tokio::signal::ctrl_c().await;
        };
        axum::serve(listener, pages).with_graceful_shutdown(stop).await?;
        ledger.close().await;
        Ok(ExitCode::SUCCESS)
    })
}

/// The names the server goes by. Whoever listens on all addresses is asked under any of them.
fn hosts(address: IpAddr, named: &[String]) -> Vec<String> {
    if address.is_unspecified() && named.is_empty() {
        return Vec::new();
    }
    let mut hosts = named.to_vec();
    hosts.push(match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    });
    if address.is_loopback() {
        hosts.push("localhost".to_owned());
    }
    hosts
}
