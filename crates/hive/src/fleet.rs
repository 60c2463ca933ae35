//! What each hive keeps in memory about a build's fleet, so that handing out work asks nothing of
//! the database. It is a cache: reloaded from the store now and then, because other hives on the
//! same database hand out work too.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use racewarden_finding::Verdict;
use racewarden_proto::{AvoidedOrder, Order, Violation, ViolationKind};

use crate::assign::{CandidateState, PodState};
use crate::judge::{Judgement, judge};
use crate::keys::sha256_hex;
use crate::store::{Store, StoreError};

const RELOAD: Duration = Duration::from_secs(30);

pub struct Fleet {
    pub candidates: Vec<CandidateState>,
    pub avoid: Vec<AvoidedOrder>,
    pods: HashMap<String, PodState>,
    /// What pods told before this cache was loaded.
    stored_gates: HashMap<String, Vec<u32>>,
    loaded: Instant,
}

impl Fleet {
    pub async fn load(store: &Store, build: &str) -> Result<Fleet, StoreError> {
        let mut candidates = Vec::new();
        let mut avoid = Vec::new();
        for row in store.candidates(build).await? {
            let settled = is_settled(row.verdict);
            if let Some(order) = harmful_order(&row.judgement) {
                avoid.push(AvoidedOrder { target: row.target.clone(), order });
            }
            candidates.push(CandidateState {
                index: row.index,
                target: row.target,
                attempts: [0, 0],
                settled,
            });
        }
        for (candidate, order, count) in store.attempts(build).await? {
            if let Some(state) = candidates.get_mut(candidate as usize) {
                state.attempts[order as usize] = count;
            }
        }
        let stored_gates =
            store.pods(build).await?.into_iter().map(|row| (row.pod, row.executed_gates)).collect();
        let pods = HashMap::new();
        Ok(Fleet { candidates, avoid, pods, stored_gates, loaded: Instant::now() })
    }

    pub fn is_stale(&self) -> bool {
        self.loaded.elapsed() > RELOAD
    }

    pub fn knows(&self, pod: &str) -> bool {
        self.pods.contains_key(pod)
    }

    pub fn add_pod(&mut self, pod: &str, enforced: Vec<(u32, Order)>) {
        let number = u64::from_str_radix(&sha256_hex(pod.as_bytes())[..16], 16).unwrap_or(0);
        let enforced = enforced.into_iter().collect();
        let executed_gates =
            self.stored_gates.remove(pod).unwrap_or_default().into_iter().collect();
        let state = PodState { executed_gates, enforced, number, turn: 0 };
        self.pods.entry(pod.to_owned()).or_insert(state);
    }

    /// Adds gates that the pod executed; `true` when some are new.
    pub fn executed(&mut self, pod: &str, gates: &[u32]) -> bool {
        let Some(state) = self.pods.get_mut(pod) else { return false };
        let before = state.executed_gates.len();
        state.executed_gates.extend(gates);
        state.executed_gates.len() > before
    }

    pub fn pod(&self, pod: &str) -> Option<&PodState> {
        self.pods.get(pod)
    }

    pub fn executed_gates(&self, pod: &str) -> BTreeSet<u32> {
        self.pods.get(pod).map(|state| state.executed_gates.clone()).unwrap_or_default()
    }

    /// Counts an assignment as an attempt when it goes out, so that the next pod gets another.
    pub fn handed_out(&mut self, pod: &str, candidate: u32, order: Order) {
        if let Some(state) = self.candidates.get_mut(candidate as usize) {
            state.attempts[order as usize] += 1;
        }
        if let Some(state) = self.pods.get_mut(pod) {
            state.turn += 1;
        }
    }

    pub fn enforced(&mut self, pod: &str, candidate: u32, order: Order) {
        if let Some(state) = self.pods.get_mut(pod) {
            state.enforced.insert((candidate, order));
        }
    }
}

/// More attempts cannot improve on these.
fn is_settled(verdict: Verdict) -> bool {
    matches!(
        verdict,
        Verdict::Harmful | Verdict::LikelyFalse | Verdict::Suppressed | Verdict::Fixed
    )
}

/// Judges one candidate again and stores the verdict.
async fn rejudge(
    store: &Store,
    build: &str,
    candidate: u32,
    corroboration: u32,
) -> Result<Judgement, StoreError> {
    let testimonies = store.testimonies(build, candidate).await?;
    let judgement = judge(&testimonies, corroboration as usize);
    let violation = match judgement.harmful_order {
        Some(order) => store.violation(build, candidate, order).await?,
        None => None,
    };
    let violation = violation.and_then(|text| serde_json::from_str(&text).ok());
    let wait_ms = store.longest_wait(build, candidate).await?;
    let text = to_text(&judgement, violation.as_ref(), wait_ms);
    store.set_judgement(build, candidate, judgement.verdict, &text).await?;
    Ok(judgement)
}

/// Candidates with reports that no verdict has taken in yet.
///
/// Judging reads all that was reported of a candidate, so it is done once for many reports, by
/// [`Docket::clear`]: now and then, and always before verdicts are shown.
#[derive(Default)]
pub struct Docket {
    open: Mutex<BTreeSet<(String, u32)>>,
}

impl Docket {
    pub fn add(&self, build: &str, candidate: u32) {
        self.lock().insert((build.to_owned(), candidate));
    }

    /// Judges everything open; returns the builds with a verdict other than `potential`.
    pub async fn clear(&self, store: &Store) -> Result<BTreeSet<String>, StoreError> {
        let open = std::mem::take(&mut *self.lock());
        let mut moved = BTreeSet::new();
        let mut rest = open.iter();
        while let Some((build, candidate)) = rest.next() {
            let judged = match store.corroboration(build).await {
                Ok(needed) => rejudge(store, build, *candidate, needed).await,
                Err(error) => Err(error),
            };
            match judged {
                Ok(judgement) if judgement.verdict != Verdict::Potential => {
                    moved.insert(build.clone());
                }
                Ok(_) => {}
                Err(error) => {
                    let unjudged = std::iter::once((build.clone(), *candidate));
                    self.lock().extend(unjudged.chain(rest.cloned()));
                    return Err(error);
                }
            }
        }
        Ok(moved)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<(String, u32)>> {
        self.open.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// The judgement as it is stored and shown: a JSON object, so that it can become evidence, with the
/// keys of docs/report-format.md where they fit.
fn to_text(judgement: &Judgement, violation: Option<&Violation>, wait_ms: u32) -> String {
    let order = |order: Order| {
        let enforced = judgement.enforced[order as usize];
        let (outcome, words) = match violation {
            Some(violation) if judgement.harmful_order == Some(order) => {
                (outcome_of(violation.kind), violation.what.clone())
            }
            _ if enforced > 0 => ("completed", format!("enforced {enforced} times")),
            _ => ("not-reached", String::new()),
        };
        serde_json::json!({ "first": order as usize, "outcome": outcome, "detail": words })
    };
    let mut value = serde_json::json!({
        "pods": judgement.pods,
        "attempts": judgement.attempts,
        "enforced_primary": judgement.enforced[Order::Primary as usize],
        "enforced_alternate": judgement.enforced[Order::Alternate as usize],
        "violations": judgement.violations,
        "doubt": judgement.confidence,
        "harmful_order": judgement.harmful_order.map(Order::as_str),
        "orders": Order::BOTH.map(order),
        "wait_budget_ms": wait_ms,
    });
    if let Some(violation) = violation {
        let kind = outcome_of(violation.kind);
        value["harm"] = format!("{kind}: {}", violation.what).into();
        value["violation"] = serde_json::json!({
            "kind": kind, "detail": violation.what, "thread": "", "stack": violation.stack,
        });
    }
    value.to_string()
}

fn outcome_of(kind: ViolationKind) -> &'static str {
    match kind {
        ViolationKind::Crash | ViolationKind::User => "crash",
        ViolationKind::Hang => "hang",
        ViolationKind::Assertion => "assertion",
    }
}

fn harmful_order(judgement: &str) -> Option<Order> {
    let value: serde_json::Value = serde_json::from_str(judgement).ok()?;
    Order::parse(value.get("harmful_order")?.as_str()?)
}
