//! A throw-away PostgreSQL for one test binary: its own cluster in a temporary folder, reached by
//! a Unix socket only, gone when dropped.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

pub struct Postgres {
    folder: tempfile::TempDir,
    programs: PathBuf,
}

impl Postgres {
    /// Makes a cluster and starts it. As root, the server runs as the `postgres` user, since
    /// PostgreSQL refuses to run as root.
    pub fn start() -> anyhow::Result<Postgres> {
        let folder = tempfile::Builder::new().prefix("rw-postgres-").tempdir()?;
        if is_root() {
            let status = Command::new("chown").arg("postgres").arg(folder.path()).status()?;
            anyhow::ensure!(status.success(), "chown postgres failed");
        }
        let server = Postgres { folder, programs: find_programs()? };
        server.run(
            "initdb",
            &["--auth=trust", "--username=racewarden", "--encoding=UTF8", "--no-sync"],
        )?;
        server.resume()?;
        Ok(server)
    }

    /// Where clients connect.
    pub fn url(&self) -> String {
        let socket = self.folder.path().display().to_string().replace('/', "%2F");
        format!("postgres://racewarden@localhost/postgres?host={socket}")
    }

    /// A new empty database in the cluster.
    pub fn create_database(&self, name: &str) -> anyhow::Result<String> {
        let output = Command::new(self.programs.join("psql"))
            .args(["--username=racewarden", "--dbname=postgres", "--quiet", "--host"])
            .arg(self.folder.path())
            .args(["--command", &format!("CREATE DATABASE \"{name}\"")])
            .output()?;
        if !output.status.success() {
            bail!("psql: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(self.url().replace("/postgres?", &format!("/{name}?")))
    }

    /// Stops the server at once, as a crash would.
    pub fn crash(&self) -> anyhow::Result<()> {
        self.run("pg_ctl", &["stop", "--mode=immediate", "--wait"])
    }

    /// Starts it again on what it had.
    pub fn resume(&self) -> anyhow::Result<()> {
        let options = format!(
            "-c listen_addresses='' -c unix_socket_directories='{}'",
            self.folder.path().display()
        );
        let log = self.folder.path().join("log");
        let log = log.to_str().context("temporary folder is not UTF-8")?;
        self.run("pg_ctl", &["start", "--wait", "--log", log, "--options", &options])
    }

    fn run(&self, program: &str, arguments: &[&str]) -> anyhow::Result<()> {
        let path = self.programs.join(program);
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(path);
            command
        } else {
            Command::new(path)
        };
        command.args(arguments).arg("--pgdata").arg(self.folder.path().join("data"));
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        // A started server inherits pipes and would keep them open, so output goes to a file.
        let log = self.folder.path().join(format!("{program}.out"));
        let file = std::fs::File::create(&log)?;
        let status = command
            .stdout(file.try_clone()?)
            .stderr(file)
            .status()
            .with_context(|| format!("{program} does not start"))?;
        if !status.success() {
            bail!("{program}: {}", std::fs::read_to_string(&log).unwrap_or_default());
        }
        Ok(())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // The folder goes away next; a server that is down already is fine.
        let _ = self.run("pg_ctl", &["stop", "--mode=immediate", "--wait"]);
    }
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|data| {
        use std::os::unix::fs::MetadataExt;
        data.uid() == 0
    })
}

/// Debian keeps each version's programs in a folder of its own.
fn find_programs() -> anyhow::Result<PathBuf> {
    let mut versions: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .context("PostgreSQL is not installed: run ./scripts/setup")?
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .filter(|path| Path::exists(&path.join("pg_ctl")))
        .collect();
    versions.sort();
    versions.pop().context("PostgreSQL is not installed: run ./scripts/setup")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_makes_databases_and_survives_a_crash() {
        let server = Postgres::start().unwrap();
        let url = server.create_database("first").unwrap();
        assert!(url.contains("/first?"), "{url}");
        server.crash().unwrap();
        server.resume().unwrap();
        server.create_database("second").unwrap();
    }
}
