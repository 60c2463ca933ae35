//! The ledger for callers without an async runtime, as the command line is one.

use std::collections::BTreeMap;
use std::future::Future;

use racewarden_finding::{Evidence, Report};

use crate::{
    CaptureDiff, CaptureItem, Entry, EvidenceItem, Filter, HistoryItem, Ledger, Mark, Page,
    Program, Recorded, Result, RunInfo, ScheduleItem, State,
};

/// A [`Ledger`] with its own runtime; every call waits for its result.
pub struct BlockingLedger {
    runtime: tokio::runtime::Runtime,
    ledger: Ledger,
}

impl BlockingLedger {
    pub fn open(place: &str) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let ledger = runtime.block_on(Ledger::open(place))?;
        Ok(BlockingLedger { runtime, ledger })
    }

    fn wait<T>(&self, future: impl Future<Output = Result<T>>) -> Result<T> {
        self.runtime.block_on(future)
    }

    pub fn record_report(&self, report: &Report, run: &RunInfo) -> Result<Recorded> {
        self.wait(self.ledger.record_report(report, run))
    }

    pub fn races(&self, filter: &Filter) -> Result<Page> {
        self.wait(self.ledger.races(filter))
    }

    pub fn race(&self, id: &str) -> Result<Entry> {
        self.wait(self.ledger.race(id))
    }

    pub fn report(&self, filter: &Filter) -> Result<Report> {
        self.wait(self.ledger.report(filter))
    }

    pub fn history(&self, id: &str) -> Result<Vec<HistoryItem>> {
        self.wait(self.ledger.history(id))
    }

    pub fn evidence(&self, id: &str) -> Result<Vec<EvidenceItem>> {
        self.wait(self.ledger.evidence(id))
    }

    pub fn said_by_people(&self, ids: &[&str]) -> Result<BTreeMap<String, Evidence>> {
        self.wait(self.ledger.said_by_people(ids))
    }

    pub fn schedules(&self, id: &str) -> Result<Vec<ScheduleItem>> {
        self.wait(self.ledger.schedules(id))
    }

    pub fn program(&self, id: &str) -> Result<Option<Program>> {
        self.wait(self.ledger.program(id))
    }

    pub fn captures(&self) -> Result<Vec<CaptureItem>> {
        self.wait(self.ledger.captures())
    }

    pub fn capture_diff(&self, old: i64, new: i64) -> Result<CaptureDiff> {
        self.wait(self.ledger.capture_diff(old, new))
    }

    pub fn mark(&self, id: &str, mark: Mark, reason: &str, author: &str) -> Result<State> {
        self.wait(self.ledger.mark(id, mark, reason, author))
    }

    pub fn assign(&self, id: &str, assignee: &str, author: &str) -> Result<State> {
        self.wait(self.ledger.assign(id, assignee, author))
    }

    pub fn undo(&self, id: &str, author: &str) -> Result<State> {
        self.wait(self.ledger.undo(id, author))
    }
}

impl Drop for BlockingLedger {
    fn drop(&mut self) {
        let ledger = self.ledger.clone();
        self.runtime.block_on(ledger.close());
    }
}
