#![allow(dead_code, reason = "each test binary uses its part of this")]
//! Ledgers to test on: an SQLite file each, and a database each in a throw-away PostgreSQL.
//!
//! The cluster is made once per test binary in a temporary folder, listens on a Unix socket only
//! and is stopped when the last test process goes away: `pg_ctl` is not needed for that, as the
//! server is a child that gets a signal when its parent dies.

use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use racewarden_ledger::{Backend, Ledger};

struct Cluster {
    /// Removed when the process ends; see [`cluster`].
    folder: PathBuf,
}

static DATABASES: AtomicU32 = AtomicU32::new(1);

/// A place for a new, empty ledger, with what keeps it alive.
pub struct Place {
    pub url: String,
    _folder: Option<tempfile::TempDir>,
}

pub fn place(backend: Backend) -> Place {
    match backend {
        Backend::Sqlite => {
            let folder = tempfile::tempdir().unwrap();
            let url = folder.path().join("a b?c%20/ledger.db").to_str().unwrap().to_owned();
            Place { url, _folder: Some(folder) }
        }
        Backend::Postgres => {
            let number = DATABASES.fetch_add(1, Ordering::Relaxed);
            let name = format!("ledger{number}");
            let folder = &cluster().folder;
            let status = as_postgres(&tool("createdb"))
                .args(["-h", folder.to_str().unwrap(), "-U", "racewarden", &name])
                .status()
                .unwrap();
            assert!(status.success(), "createdb");
            let socket = folder.to_str().unwrap().replace('/', "%2F");
            Place { url: format!("postgres://racewarden@{socket}/{name}"), _folder: None }
        }
    }
}

/// Runs one test on both backends.
pub fn on_both<F: Future<Output = ()>>(test: impl Fn(Ledger, String) -> F) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for backend in [Backend::Sqlite, Backend::Postgres] {
        let place = place(backend);
        runtime.block_on(async {
            let ledger = Ledger::open(&place.url).await.unwrap();
            assert_eq!(ledger.backend(), backend);
            test(ledger.clone(), place.url.clone()).await;
            ledger.close().await;
        });
    }
}

/// Runs the statements of a dump in an empty PostgreSQL database.
pub fn load_dump(place: &Place, dump: &str) {
    let mut child = as_postgres(&tool("psql"))
        .args(["-q", "-v", "ON_ERROR_STOP=1", "-o", "/dev/null", &place.url])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), dump.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "psql");
}

fn tool(name: &str) -> PathBuf {
    let mut versions: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .expect("PostgreSQL is installed: scripts/setup")
        .map(|entry| entry.unwrap().path().join("bin").join(name))
        .filter(|path| path.exists())
        .collect();
    versions.sort();
    versions.pop().expect("PostgreSQL is installed: scripts/setup")
}

/// PostgreSQL refuses to run as root, so root becomes the `postgres` user that Debian made.
fn as_postgres(tool: &Path) -> Command {
    let mut command = Command::new(tool);
    if let Some((user, group)) = postgres_user() {
        command.uid(user).gid(group);
    }
    command.env("LC_ALL", "C.UTF-8").current_dir("/").stdin(Stdio::null());
    command
}

fn postgres_user() -> Option<(u32, u32)> {
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").unwrap();
    let line = users.lines().find(|line| line.starts_with("postgres:")).expect("a postgres user");
    let fields: Vec<&str> = line.split(':').collect();
    Some((fields[2].parse().unwrap(), fields[3].parse().unwrap()))
}

fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    static STARTING: Mutex<()> = Mutex::new(());
    let _one_starts = STARTING.lock();
    CLUSTER.get_or_init(start)
}

fn start() -> Cluster {
    let folder = tempfile::Builder::new().prefix("rw-pg-").tempdir().unwrap().keep();
    if let Some((user, group)) = postgres_user() {
        std::os::unix::fs::chown(&folder, Some(user), Some(group)).unwrap();
    }
    let data = folder.join("data");
    let output = as_postgres(&tool("initdb"))
        .args(["--no-sync", "--auth=trust", "--username=racewarden", "--encoding=UTF8", "-D"])
        .arg(&data)
        .output()
        .unwrap();
    assert!(output.status.success(), "initdb: {}", String::from_utf8_lossy(&output.stderr));
    // A small shell stays with the server: it stops the server and removes the folder when the
    // test process, which holds the other end of its input, is gone for whatever reason.
    let script = "\"$1\" -D \"$2/data\" -k \"$2\" -c listen_addresses= -c fsync=off \
         -c max_connections=100 >\"$2/log\" 2>&1 & server=$!; cat >/dev/null; \
         kill -INT $server; wait $server; rm -rf \"$2\"";
    let mut keeper = as_postgres(Path::new("/bin/sh"));
    let child = keeper
        .args(["-c", script, "keeper"])
        .arg(tool("postgres"))
        .arg(&folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    // Never dropped, so that the pipe closes exactly when the process ends.
    std::mem::forget(child);
    let deadline = Instant::now() + Duration::from_secs(60);
    while !ready(&folder) {
        let log = std::fs::read_to_string(folder.join("log")).unwrap_or_default();
        assert!(Instant::now() < deadline, "PostgreSQL does not start: {log}");
        std::thread::sleep(Duration::from_millis(50));
    }
    Cluster { folder }
}

fn ready(folder: &Path) -> bool {
    as_postgres(&tool("pg_isready"))
        .args(["-q", "-h", folder.to_str().unwrap()])
        .status()
        .is_ok_and(|status| status.success())
}
