//! `racewarden hive`: the service that a fleet of pods reports to.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Subcommand;
use racewarden_finding::Race;
use racewarden_hive::{ServeOptions, Tls, create_admin_token, serve};
use racewarden_pod::HiveClient;
use racewarden_proto::{BuildUpload, Candidate, GateTarget};
use sha2::{Digest, Sha256};

use crate::gate::build_gated;
use crate::inputs::InputArgs;

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Serve pods and developers until stopped
    Serve(ServeArgs),
    /// Build a target with gates at its candidate races and give it to the fleet
    Publish(PublishArgs),
    /// Make an administrator's token; run it on the hive's machine
    ///
    /// The token is printed once and kept only as a hash.
    AdminToken {
        #[command(flatten)]
        database: DatabaseArgs,
    },
}

#[derive(clap::Args)]
struct DatabaseArgs {
    /// Where everything is kept: sqlite:FILE, or postgres://… for several hives behind a balancer
    #[arg(long, value_name = "URL", env = "RACEWARDEN_HIVE_DB", default_value = "sqlite:hive.db")]
    database: String,
}

#[derive(clap::Args)]
struct ServeArgs {
    #[command(flatten)]
    database: DatabaseArgs,

    /// Address and port to listen on; port 0 picks one
    #[arg(long, default_value = "127.0.0.1:8420")]
    listen: SocketAddr,

    /// TLS certificate chain (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// TLS private key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// Plain HTTP is fine on this address: a reverse proxy in front does TLS
    #[arg(long)]
    behind_proxy: bool,

    /// Ledger that verdicts flow into (a file or PostgreSQL URL of its own); with it, the pages are
    /// at /dashboard for administrators
    #[arg(long, value_name = "FILE|URL")]
    ledger: Option<String>,

    /// Requests a second that each token may make, over time
    #[arg(long, default_value_t = 50.0)]
    rate: f64,

    /// Requests that a token may make at once
    #[arg(long, default_value_t = 200.0)]
    burst: f64,
}

#[derive(clap::Args)]
struct PublishArgs {
    #[command(flatten)]
    inputs: InputArgs,

    /// The hive's address
    #[arg(long, value_name = "URL", env = "RACEWARDEN_HIVE")]
    hive: String,

    #[arg(long)]
    project: String,

    /// Name of this build: a version or commit
    #[arg(long, value_name = "NAME")]
    build: String,

    /// A developer's token of the project
    #[arg(long, env = "RACEWARDEN_HIVE_TOKEN", hide_env_values = true)]
    token: String,

    /// Candidate races: `--format json` of check, run or predict
    #[arg(long, value_name = "FILE", required = true)]
    report: Vec<PathBuf>,

    /// Certificate authority of the hive, when no public one vouches for it (PEM)
    #[arg(long, value_name = "FILE")]
    authority: Option<PathBuf>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start threads")?;
    match args.action {
        Action::Serve(args) => runtime.block_on(serve_until_stopped(args))?,
        Action::Publish(args) => publish(&args)?,
        Action::AdminToken { database } => {
            println!("{}", runtime.block_on(create_admin_token(&database.database))?);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn publish(args: &PublishArgs) -> anyhow::Result<()> {
    let capture = args.inputs.resolve()?;
    let races: Vec<Race> =
        super::confirm::candidates(&args.report)?.races.into_iter().filter(is_open).collect();
    let gated = build_gated(&capture, &races, &[])?;
    let artefact =
        std::fs::read(&gated.path).with_context(|| format!("{}", gated.path.display()))?;
    let hash = Sha256::digest(&artefact);
    let mut candidates = Vec::new();
    for (index, race) in races.into_iter().enumerate() {
        let [first, second] = gated.sides(index);
        if first.is_empty() || second.is_empty() {
            eprintln!("hive: {} has no gates in this build and is left out", race.id);
            continue;
        }
        candidates.push(Candidate { target: GateTarget { first, second }, race });
    }
    let upload = BuildUpload {
        name: args.build.clone(),
        sha256: hash.iter().map(|byte| format!("{byte:02x}")).collect(),
        size: artefact.len() as u64,
        gates: u32::try_from(gated.map.gates.len()).context("too many gates")?,
        candidates,
    };
    let authority = args
        .authority
        .as_ref()
        .map(|path| std::fs::read_to_string(path).with_context(|| format!("{}", path.display())))
        .transpose()?;
    HiveClient::with(&args.hive, &args.project, &args.token, authority.as_deref())
        .publish(&upload, artefact)?;
    eprintln!("hive: build {} has {} candidates", upload.name, upload.candidates.len());
    Ok(())
}

fn is_open(race: &Race) -> bool {
    race.verdict.is_open()
}

async fn serve_until_stopped(args: ServeArgs) -> anyhow::Result<()> {
    if args.rate.is_nan() || args.rate <= 0.0 || args.burst.is_nan() || args.burst < 1.0 {
        bail!("--rate must be above 0 and --burst at least 1");
    }
    let tls = args.tls_cert.zip(args.tls_key).map(|(certificate, key)| Tls { certificate, key });
    let scheme = if tls.is_some() { "https" } else { "http" };
    let options = ServeOptions {
        database: args.database.database,
        listen: args.listen,
        tls,
        behind_proxy: args.behind_proxy,
        requests_per_second: args.rate,
        burst: args.burst,
        ledger: args.ledger,
    };
    serve(options, move |address| eprintln!("hive: listening on {scheme}://{address}")).await?;
    Ok(())
}
