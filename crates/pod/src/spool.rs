//! Reports that wait to be sent: one small file each, so that a crash loses at most the one being
//! written. Bounded in number and age; what had to go is counted and the count is sent.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use racewarden_proto::{MAX_BATCH, PodReport, ReportBatch};

use crate::{ClientError, HiveClient};

#[derive(Debug, Clone, Copy)]
pub struct SpoolLimits {
    pub reports: usize,
    pub age: Duration,
}

impl Default for SpoolLimits {
    fn default() -> Self {
        SpoolLimits { reports: 20_000, age: Duration::from_secs(21 * 24 * 3600) }
    }
}

pub struct Spool {
    folder: PathBuf,
    limits: SpoolLimits,
}

impl Spool {
    pub fn open(folder: PathBuf, limits: SpoolLimits) -> std::io::Result<Spool> {
        fs::create_dir_all(&folder)?;
        Ok(Spool { folder, limits })
    }

    /// Keeps a report until it has been sent.
    pub fn add(&self, report: &PodReport) -> std::io::Result<()> {
        let partial = self.folder.join(format!("{}.partial", report.id));
        fs::write(&partial, serde_json::to_vec(report)?)?;
        fs::rename(&partial, self.folder.join(format!("{}.json", report.id)))?;
        self.trim()
    }

    /// What waits, oldest first.
    pub fn waiting(&self) -> std::io::Result<Vec<PodReport>> {
        let reports = self.files()?.into_iter();
        Ok(reports.filter_map(|(_, path)| read(&path)).collect())
    }

    pub fn len(&self) -> std::io::Result<usize> {
        Ok(self.files()?.len())
    }

    pub fn is_empty(&self) -> std::io::Result<bool> {
        Ok(self.len()? == 0)
    }

    pub fn dropped(&self) -> u64 {
        let text = fs::read_to_string(self.dropped_path()).unwrap_or_default();
        text.trim().parse().unwrap_or(0)
    }

    /// Sends everything, batch by batch. A report leaves the spool only when the hive has
    /// acknowledged or finally refused it. Returns how many left.
    pub fn drain(&self, client: &HiveClient) -> Result<usize, ClientError> {
        let io = |error: std::io::Error| ClientError::Answer(format!("spool: {error}"));
        let files = self.files().map_err(io)?;
        let mut sent = 0;
        for group in files.chunks(MAX_BATCH) {
            let dropped = self.dropped();
            let reports = group.iter().filter_map(|(_, path)| read(path)).collect();
            client.report(&ReportBatch { reports, dropped })?;
            for (_, path) in group {
                fs::remove_file(path).map_err(io)?;
            }
            sent += group.len();
            if dropped > 0 {
                let _ = fs::remove_file(self.dropped_path());
            }
        }
        Ok(sent)
    }

    fn trim(&self) -> std::io::Result<()> {
        let files = self.files()?;
        let surplus = files.len().saturating_sub(self.limits.reports);
        let now = SystemTime::now();
        let is_old =
            |at: &SystemTime| now.duration_since(*at).is_ok_and(|age| age > self.limits.age);
        let mut gone = 0;
        for (index, (at, path)) in files.iter().enumerate() {
            if index < surplus || is_old(at) {
                fs::remove_file(path)?;
                gone += 1;
            }
        }
        if gone > 0 {
            fs::write(self.dropped_path(), (self.dropped() + gone).to_string())?;
        }
        Ok(())
    }

    fn files(&self) -> std::io::Result<Vec<(SystemTime, PathBuf)>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let path = entry.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                files.push((entry.metadata()?.modified()?, path));
            }
        }
        files.sort();
        Ok(files)
    }

    fn dropped_path(&self) -> PathBuf {
        self.folder.join("dropped")
    }
}

/// A file that cannot be read back (a full disk cut it short) is skipped, and leaves with its
/// batch.
fn read(path: &Path) -> Option<PodReport> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use racewarden_proto::{NotEnforced, Outcome};

    fn report(id: &str) -> PodReport {
        let outcome = Outcome::NotEnforced { reason: NotEnforced::NeverMet };
        PodReport { id: id.into(), ticket: "t".into(), outcome, executed_gates: vec![] }
    }

    #[test]
    fn keeps_the_newest_and_counts_what_it_drops() {
        let folder = tempfile::tempdir().unwrap();
        let limits = SpoolLimits { reports: 3, ..SpoolLimits::default() };
        let spool = Spool::open(folder.path().to_owned(), limits).unwrap();
        for id in ["a", "b", "c", "d", "e"] {
            spool.add(&report(id)).unwrap();
        }
        assert_eq!(spool.len().unwrap(), 3);
        assert_eq!(spool.dropped(), 2);
        assert!(spool.waiting().unwrap().iter().any(|report| report.id == "e"));
    }

    #[test]
    fn old_reports_go_and_half_written_ones_do_no_harm() {
        let folder = tempfile::tempdir().unwrap();
        let limits = SpoolLimits { age: Duration::ZERO, ..SpoolLimits::default() };
        let spool = Spool::open(folder.path().to_owned(), limits).unwrap();
        std::fs::write(folder.path().join("x.json"), b"{\"id\":").unwrap();
        spool.add(&report("a")).unwrap();
        assert!(spool.waiting().unwrap().len() <= 1);
        assert!(spool.dropped() >= 1);
    }
}
