//! From reports to a verdict: a pure function (CoRD sections 3.3.1 to 3.3.3).
//!
//! A race is confirmed when both orders were enforced in the same context. One pod may lie or be
//! broken, so a side of the proof counts only when `corroboration` different pods gave it: with
//! two, a single liar can neither confirm nor condemn anything by itself.
//!
//! A likely false positive is never certain. Its confidence grows with the number of reports that
//! saw one order only, or different addresses, and each pod counts at most three times, so that
//! it is the width of the fleet and not one busy machine that convinces.

use std::collections::{BTreeMap, BTreeSet};

use racewarden_finding::Verdict;
use racewarden_proto::{NotEnforced, Order, ViolationKind};

/// Equal reports of one pod, as the judge sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Testimony {
    pub pod: String,
    pub order: Order,
    pub finding: Finding,
    pub count: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    Enforced { context: String, same_instant: bool },
    NotEnforced(NotEnforced),
    Violation { context: String, kind: ViolationKind },
}

/// The verdict with what it rests on. "Not enforced" alone never reads as safe.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    pub verdict: Verdict,
    /// For `likely-false`: how sure, 0 to 1.
    pub confidence: f64,
    /// The order whose enforcement broke the program, when one did.
    pub harmful_order: Option<Order>,
    pub pods: usize,
    pub attempts: usize,
    pub enforced: [usize; 2],
    pub violations: usize,
}

/// Doubt needed before a race is called likely false.
const LIKELY_FALSE: f64 = 0.95;
/// Each counted report against the race halves the remaining belief by this much.
const DOUBT_PER_REPORT: f64 = 0.30;
const REPORTS_PER_POD: usize = 3;

pub fn judge(testimonies: &[Testimony], corroboration: usize) -> Judgement {
    let needed = corroboration.max(1);
    let mut enforced: BTreeMap<(&str, Order), BTreeSet<&str>> = BTreeMap::new();
    let mut same_instant: BTreeSet<&str> = BTreeSet::new();
    let mut violations: BTreeMap<(Order, ViolationKind), BTreeSet<&str>> = BTreeMap::new();
    let mut against: BTreeMap<&str, usize> = BTreeMap::new();
    let mut enforced_count = [0, 0];
    let mut violation_count = 0;

    for testimony in testimonies {
        let pod = testimony.pod.as_str();
        match &testimony.finding {
            Finding::Enforced { context, same_instant: caught } => {
                enforced.entry((context, testimony.order)).or_default().insert(pod);
                enforced_count[testimony.order as usize] += testimony.count;
                if *caught {
                    same_instant.insert(pod);
                }
            }
            Finding::Violation { context, kind } => {
                // The order did happen: the program broke under it.
                enforced.entry((context, testimony.order)).or_default().insert(pod);
                enforced_count[testimony.order as usize] += testimony.count;
                violations.entry((testimony.order, *kind)).or_default().insert(pod);
                violation_count += testimony.count;
            }
            Finding::NotEnforced(reason) => {
                if counts_against(*reason) {
                    *against.entry(pod).or_default() += testimony.count;
                }
            }
        }
    }

    let both_orders = enforced.iter().any(|((context, order), pods)| {
        *order == Order::Primary
            && pods.len() >= needed
            && enforced
                .get(&(*context, Order::Alternate))
                .is_some_and(|other| other.len() >= needed)
    });
    let confirmed = both_orders || same_instant.len() >= needed;
    let harmful_order =
        violations.iter().find(|(_, pods)| pods.len() >= needed).map(|((order, _), _)| *order);
    let confidence = doubt(&against);
    let one_sided = enforced_count.contains(&0);

    let verdict = match (confirmed, harmful_order) {
        (true, Some(_)) => Verdict::Harmful,
        (true, None) => Verdict::Confirmed,
        (false, _)
            if violation_count == 0
                && one_sided
                && against.len() >= needed
                && confidence >= LIKELY_FALSE =>
        {
            Verdict::LikelyFalse
        }
        (false, _) => Verdict::Potential,
    };
    let pods: BTreeSet<&str> = testimonies.iter().map(|t| t.pod.as_str()).collect();
    Judgement {
        verdict,
        confidence,
        harmful_order: harmful_order.filter(|_| confirmed),
        pods: pods.len(),
        attempts: testimonies.iter().map(|testimony| testimony.count).sum(),
        enforced: enforced_count,
        violations: violation_count,
    }
}

/// The paper's two heuristics. A pod that never met the accesses says nothing about the race.
fn counts_against(reason: NotEnforced) -> bool {
    match reason {
        NotEnforced::DifferentAddresses | NotEnforced::Ordered | NotEnforced::TimedOut => true,
        NotEnforced::NeverMet | NotEnforced::OneSideOnly => false,
    }
}

fn doubt(against: &BTreeMap<&str, usize>) -> f64 {
    let counted: usize = against.values().map(|count| (*count).min(REPORTS_PER_POD)).sum();
    1.0 - (1.0 - DOUBT_PER_REPORT).powi(i32::try_from(counted).unwrap_or(i32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enforced(pod: &str, order: Order, context: &str) -> Testimony {
        let finding = Finding::Enforced { context: context.into(), same_instant: false };
        Testimony { pod: pod.into(), order, finding, count: 1 }
    }

    fn against(pod: &str, reason: NotEnforced) -> Testimony {
        let finding = Finding::NotEnforced(reason);
        Testimony { pod: pod.into(), order: Order::Alternate, finding, count: 1 }
    }

    #[test]
    fn both_orders_in_one_context_confirm() {
        let mut reports = vec![];
        for pod in ["a", "b"] {
            reports.push(enforced(pod, Order::Primary, "c1"));
            reports.push(enforced(pod, Order::Alternate, "c1"));
        }
        assert_eq!(judge(&reports, 2).verdict, Verdict::Confirmed);
    }

    #[test]
    fn orders_of_different_contexts_do_not_add_up() {
        let mut reports = vec![];
        for pod in ["a", "b", "c"] {
            reports.push(enforced(pod, Order::Primary, "c1"));
            reports.push(enforced(pod, Order::Alternate, "c2"));
        }
        assert_eq!(judge(&reports, 2).verdict, Verdict::Potential);
    }

    #[test]
    fn one_liar_decides_nothing() {
        let mut reports = vec![];
        for honest in ["a", "b", "c"] {
            reports.push(enforced(honest, Order::Primary, "c1"));
        }
        for _ in 0..100 {
            reports.push(enforced("liar", Order::Alternate, "c1"));
            reports.push(enforced("liar", Order::Primary, "c1"));
            reports.push(Testimony {
                pod: "liar".into(),
                order: Order::Alternate,
                finding: Finding::Violation { context: "c1".into(), kind: ViolationKind::Crash },
                count: 1,
            });
            reports.push(Testimony {
                pod: "liar".into(),
                order: Order::Alternate,
                finding: Finding::Enforced { context: "c1".into(), same_instant: true },
                count: 1,
            });
        }
        assert_eq!(judge(&reports, 2).verdict, Verdict::Potential);
        let doubts: Vec<_> =
            (0..100).map(|_| against("liar", NotEnforced::DifferentAddresses)).collect();
        assert_eq!(judge(&doubts, 2).verdict, Verdict::Potential);
    }

    #[test]
    fn a_confirmed_race_with_corroborated_violations_is_harmful() {
        let mut reports = vec![];
        for pod in ["a", "b"] {
            reports.push(enforced(pod, Order::Primary, "c1"));
            reports.push(Testimony {
                pod: pod.into(),
                order: Order::Alternate,
                finding: Finding::Violation { context: "c1".into(), kind: ViolationKind::Hang },
                count: 1,
            });
        }
        let judgement = judge(&reports, 2);
        assert_eq!(judgement.verdict, Verdict::Harmful);
        assert_eq!(judgement.harmful_order, Some(Order::Alternate));
    }

    #[test]
    fn doubt_grows_with_the_fleet_and_never_met_says_nothing() {
        let few: Vec<_> =
            (0..4).map(|i| against(&format!("p{i}"), NotEnforced::TimedOut)).collect();
        let many: Vec<_> =
            (0..12).map(|i| against(&format!("p{i}"), NotEnforced::TimedOut)).collect();
        assert_eq!(judge(&few, 2).verdict, Verdict::Potential);
        assert_eq!(judge(&many, 2).verdict, Verdict::LikelyFalse);
        assert!(judge(&few, 2).confidence < judge(&many, 2).confidence);
        let silent: Vec<_> =
            (0..500).map(|i| against(&format!("p{i}"), NotEnforced::NeverMet)).collect();
        assert_eq!(judge(&silent, 2).verdict, Verdict::Potential);
        assert_eq!(judge(&silent, 2).confidence, 0.0);
    }

    #[test]
    fn no_reports_leave_the_race_potential() {
        assert_eq!(judge(&[], 2).verdict, Verdict::Potential);
    }
}
