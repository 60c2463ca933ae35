//! One task writes all reports: those that arrive while a transaction is under way go into the
//! next one together. That is what makes thousands of durable reports a second possible on a
//! store that can commit only a few hundred times.

use tokio::sync::{mpsc, oneshot};

use crate::store::{ReportRow, Store, StoreError};

/// Reports in one transaction at most; bounds the time a caller waits for strangers.
const MAX_GROUP: usize = 4_000;
/// Batches waiting; past it, callers wait before they are even queued.
const QUEUE: usize = 1_024;

#[derive(Clone)]
pub struct Writer {
    queue: mpsc::Sender<Job>,
}

struct Job {
    rows: Vec<ReportRow>,
    done: oneshot::Sender<Result<Vec<String>, String>>,
}

impl Writer {
    /// Starts the task; it ends when the last handle is gone.
    pub fn start(store: Store) -> Writer {
        let (queue, jobs) = mpsc::channel(QUEUE);
        tokio::spawn(run(store, jobs));
        Writer { queue }
    }

    /// Returns the nonces that were new, once everything is on disk.
    pub async fn write(&self, rows: Vec<ReportRow>) -> Result<Vec<String>, String> {
        let (done, result) = oneshot::channel();
        let stopped = || "the hive is shutting down".to_owned();
        self.queue.send(Job { rows, done }).await.map_err(|_| stopped())?;
        result.await.map_err(|_| stopped())?
    }
}

async fn run(store: Store, mut jobs: mpsc::Receiver<Job>) {
    while let Some(first) = jobs.recv().await {
        let mut group = vec![first];
        let mut size = group[0].rows.len();
        while size < MAX_GROUP {
            let Ok(job) = jobs.try_recv() else { break };
            size += job.rows.len();
            group.push(job);
        }
        commit(&store, group).await;
    }
}

async fn commit(store: &Store, group: Vec<Job>) {
    let rows: Vec<ReportRow> = group.iter().flat_map(|job| job.rows.iter().cloned()).collect();
    match store.insert_reports(&rows).await {
        Ok(fresh) => {
            let mut fresh: std::collections::HashSet<String> = fresh.into_iter().collect();
            for job in group {
                // `remove`, so that of one nonce sent twice in a group only one is new.
                let new: Vec<String> = job
                    .rows
                    .iter()
                    .filter(|row| fresh.remove(&row.nonce))
                    .map(|row| row.nonce.clone())
                    .collect();
                // A caller that went away gets no answer and will send again; that is harmless.
                let _ = job.done.send(Ok(new));
            }
        }
        Err(error) => {
            let text = describe(&error);
            for job in group {
                let _ = job.done.send(Err(text.clone()));
            }
        }
    }
}

fn describe(error: &StoreError) -> String {
    eprintln!("hive: reports could not be stored: {error}");
    "the hive's database is not available; send the reports again later".to_owned()
}
