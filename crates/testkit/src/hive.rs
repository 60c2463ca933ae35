//! A real hive as a process of its own, and simulated pods that load it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::Context;
use racewarden_finding::{AccessKind, Race, Site, Verdict};
use racewarden_pod::HiveClient;
use racewarden_proto::{
    AssignmentRequest, BuildUpload, Candidate, GateTarget, NotEnforced, Outcome, PodReport,
    ReportBatch,
};

pub struct HiveProcess {
    pub url: String,
    pub admin: String,
    child: Child,
    log: Arc<Mutex<Vec<String>>>,
}

impl HiveProcess {
    /// Starts `racewarden hive serve` on a free port of the loopback address.
    pub fn start(racewarden: &Path, database: &str) -> anyhow::Result<HiveProcess> {
        HiveProcess::start_with(racewarden, database, &[])
    }

    /// As [`start`](Self::start), with more options.
    pub fn start_with(
        racewarden: &Path,
        database: &str,
        options: &[&str],
    ) -> anyhow::Result<HiveProcess> {
        let token = Command::new(racewarden)
            .args(["hive", "admin-token", "--database", database])
            .stderr(Stdio::inherit())
            .output()?;
        anyhow::ensure!(token.status.success(), "hive admin-token failed");
        let admin = String::from_utf8(token.stdout)?.trim().to_owned();
        let mut child = Command::new(racewarden)
            .args(["hive", "serve", "--listen", "127.0.0.1:0", "--database", database])
            .args(["--rate", "1000000", "--burst", "1000000"])
            .args(options)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let stderr = child.stderr.take().context("no standard error")?;
        let mut lines = BufReader::new(stderr).lines();
        let url = loop {
            let line = lines.next().context("the hive did not start")??;
            if let Some((_, url)) = line.split_once("listening on ") {
                break url.to_owned();
            }
        };
        // Keeps the pipe from filling up.
        let log = Arc::new(Mutex::new(Vec::new()));
        let kept = log.clone();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                if let Ok(mut log) = kept.lock() {
                    log.push(line);
                }
            }
        });
        Ok(HiveProcess { url, admin, child, log })
    }

    /// What the hive has said on standard error since it listens.
    pub fn log(&self) -> Vec<String> {
        self.log.lock().map(|log| log.clone()).unwrap_or_default()
    }

    /// `kill -9`.
    pub fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    pub fn call(
        &self,
        method: &str,
        path: &str,
        token: &str,
        body: &serde_json::Value,
    ) -> anyhow::Result<serde_json::Value> {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}/v1{path}", self.url))
            .header("authorization", format!("Bearer {token}"))
            .header("content-type", "application/json")
            .body(if body.is_null() { String::new() } else { body.to_string() })?;
        let mut response = ureq::Agent::new_with_defaults().run(request)?;
        let text = response.body_mut().read_to_string()?;
        Ok(serde_json::from_str(&text).unwrap_or(serde_json::Value::Null))
    }

    pub fn create_project(&self, name: &str) -> anyhow::Result<()> {
        let body = serde_json::json!({ "name": name });
        self.call("POST", "/projects", &self.admin, &body)?;
        Ok(())
    }

    pub fn token(&self, project: &str, role: &str) -> anyhow::Result<String> {
        let body = serde_json::json!({ "role": role });
        let answer =
            self.call("POST", &format!("/projects/{project}/tokens"), &self.admin, &body)?;
        answer["secret"].as_str().map(str::to_owned).context("no token in the answer")
    }

    /// Publishes a build with made-up candidates and a made-up artefact.
    pub fn publish_dummy(&self, project: &str, build: &str, candidates: u32) -> anyhow::Result<()> {
        let artefact = b"#!/bin/sh\nexit 0\n".to_vec();
        let hash = ring::digest::digest(&ring::digest::SHA256, &artefact);
        let upload = BuildUpload {
            name: build.to_owned(),
            sha256: hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect(),
            size: artefact.len() as u64,
            gates: 2 * candidates,
            candidates: (0..candidates).map(dummy_candidate).collect(),
        };
        let developer = self.token(project, "developer")?;
        HiveClient::with(&self.url, project, &developer, None).publish(&upload, artefact)?;
        Ok(())
    }

    /// How many reports the hive holds for a build.
    pub fn report_count(&self, project: &str, build: &str) -> anyhow::Result<u64> {
        let path = format!("/projects/{project}/builds/{build}/races");
        let report = self.call("GET", &path, &self.admin, &serde_json::Value::Null)?;
        report["stats"]["reports"].as_u64().context("no count in the answer")
    }
}

impl Drop for HiveProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn dummy_candidate(index: u32) -> Candidate {
    let site = |line, access| Site {
        file: "pool.c".into(),
        line,
        column: 1,
        function: "worker".into(),
        access,
        lvalue: format!("pool->slot[{index}]"),
        atomic: false,
        locks: vec![],
        thread: "worker".into(),
        stack: Default::default(),
    };
    let object = format!("struct pool.slot{index}");
    let first = site(index + 1, AccessKind::Read);
    let race = Race::new(first, site(index + 5000, AccessKind::Write), object, Verdict::Potential);
    Candidate { target: GateTarget { first: vec![2 * index], second: vec![2 * index + 1] }, race }
}

/// One pod's tickets, for [`send_reports`].
pub fn collect_tickets(
    client: &HiveClient,
    build: &str,
    count: usize,
) -> anyhow::Result<Vec<String>> {
    let request = AssignmentRequest { build: build.to_owned(), executed_gates: vec![] };
    (0..count)
        .map(|_| {
            let reply = client.assignment(&request)?;
            Ok(reply.assignment.context("the hive has no work")?.ticket)
        })
        .collect()
}

#[derive(Debug, Clone, Copy, Default)]
pub struct LoadResult {
    /// Reports that the hive acknowledged.
    pub acknowledged: u64,
    /// Requests that got no answer.
    pub failed: u64,
    pub elapsed: Duration,
}

/// Every pod sends its reports one by one, all pods at once: one round trip a report.
pub fn send_reports(pods: &[(HiveClient, Vec<String>)]) -> LoadResult {
    send_reports_counting(pods, &AtomicU64::new(0))
}

/// As [`send_reports`]; `acknowledged` can be watched meanwhile.
pub fn send_reports_counting(
    pods: &[(HiveClient, Vec<String>)],
    acknowledged: &AtomicU64,
) -> LoadResult {
    let start = Instant::now();
    let results: Vec<(u64, u64)> = std::thread::scope(|scope| {
        let threads: Vec<_> = pods
            .iter()
            .map(|(client, tickets)| scope.spawn(|| send_one_by_one(client, tickets, acknowledged)))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_default()).collect()
    });
    LoadResult {
        acknowledged: results.iter().map(|result| result.0).sum(),
        failed: results.iter().map(|result| result.1).sum(),
        elapsed: start.elapsed(),
    }
}

fn send_one_by_one(client: &HiveClient, tickets: &[String], count: &AtomicU64) -> (u64, u64) {
    let (mut acknowledged, mut failed) = (0, 0);
    for (index, ticket) in tickets.iter().enumerate() {
        let report = PodReport {
            id: format!("r{index}"),
            ticket: ticket.clone(),
            // Says nothing about the race, so that no verdict ends the work.
            outcome: Outcome::NotEnforced { reason: NotEnforced::NeverMet },
            executed_gates: vec![],
        };
        match client.report(&ReportBatch { reports: vec![report], dropped: 0 }) {
            Ok(receipt) => {
                acknowledged += u64::from(receipt.accepted);
                count.fetch_add(u64::from(receipt.accepted), Ordering::Relaxed);
            }
            Err(_) => failed += 1,
        }
    }
    (acknowledged, failed)
}
