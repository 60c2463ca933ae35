//! Who tries what next: a pure function of the fleet's state (CoRD sections 3.1 and 6).
//!
//! Even spread first: the candidate and order with the fewest attempts goes out next. Once pods
//! have told which gates their programs really pass, a pod gets only candidates it can meet, while
//! any are left. Of two equal choices, the one that this pod has enforced in the other order wins,
//! because a proof needs both orders in one context. Waiting long is spread thin: most pods wait
//! the base time, one in sixteen five times as long, one in sixty-four twenty-five times.

use std::collections::BTreeSet;

use racewarden_proto::{GateTarget, Order};

/// What the function knows of one candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateState {
    pub index: u32,
    pub target: GateTarget,
    /// Attempts reported or under way, per order.
    pub attempts: [u32; 2],
    /// A verdict that more attempts cannot improve.
    pub settled: bool,
}

/// What it knows of the pod that asks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PodState {
    pub executed_gates: BTreeSet<u32>,
    /// Candidates this pod has enforced already, with the order.
    pub enforced: BTreeSet<(u32, Order)>,
    /// A stable number of the pod, for spreading the waits.
    pub number: u64,
    /// How many assignments it has had; moves its wait through the spread.
    pub turn: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    pub candidate: u32,
    pub order: Order,
    pub wait_ms: u32,
}

pub fn assign(candidates: &[CandidateState], pod: &PodState, base_wait_ms: u32) -> Option<Choice> {
    let open = || candidates.iter().filter(|candidate| !candidate.settled);
    let meets = |candidate: &CandidateState| candidate.target.is_met_by(&pod.executed_gates);
    // Before a pod has told anything, and when nothing it can meet is left, it explores.
    let any_met = open().any(meets);
    let (candidate, order) = open()
        .filter(|candidate| !any_met || meets(candidate))
        .flat_map(|candidate| Order::BOTH.map(|order| (candidate, order)))
        .filter(|(candidate, order)| !pod.enforced.contains(&(candidate.index, *order)))
        .min_by_key(|(candidate, order)| {
            let completes = pod.enforced.contains(&(candidate.index, order.other()));
            (candidate.attempts[*order as usize], !completes, candidate.index, *order)
        })?;
    Some(Choice { candidate: candidate.index, order, wait_ms: wait_ms(pod, base_wait_ms) })
}

fn wait_ms(pod: &PodState, base: u32) -> u32 {
    match pod.number.wrapping_add(pod.turn) % 64 {
        0 => base.saturating_mul(25),
        16 | 32 | 48 => base.saturating_mul(5),
        _ => base,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(index: u32, attempts: [u32; 2]) -> CandidateState {
        let target = GateTarget { first: vec![2 * index], second: vec![2 * index + 1] };
        CandidateState { index, target, attempts, settled: false }
    }

    #[test]
    fn spreads_evenly_over_candidates_and_orders() {
        let mut candidates: Vec<_> = (0..5).map(|index| candidate(index, [0, 0])).collect();
        for number in 0..40 {
            let pod = PodState { number, ..PodState::default() };
            let choice = assign(&candidates, &pod, 200).unwrap();
            candidates[choice.candidate as usize].attempts[choice.order as usize] += 1;
        }
        assert!(candidates.iter().all(|candidate| candidate.attempts == [4, 4]));
    }

    #[test]
    fn a_pod_gets_what_it_executes() {
        let candidates: Vec<_> = (0..5).map(|index| candidate(index, [index, index])).collect();
        let executed_gates = BTreeSet::from([8, 9]);
        let pod = PodState { executed_gates, number: 1, ..PodState::default() };
        assert_eq!(assign(&candidates, &pod, 200).unwrap().candidate, 4);
    }

    #[test]
    fn a_pod_that_meets_nothing_open_explores() {
        let candidates = vec![candidate(0, [7, 7])];
        let pod = PodState { executed_gates: BTreeSet::from([100]), ..PodState::default() };
        assert_eq!(assign(&candidates, &pod, 200).unwrap().candidate, 0);
    }

    #[test]
    fn completes_the_pair_in_one_context() {
        let candidates = vec![candidate(0, [3, 3]), candidate(1, [3, 3])];
        let enforced = BTreeSet::from([(1, Order::Primary)]);
        let pod = PodState { enforced, number: 1, ..PodState::default() };
        let choice = assign(&candidates, &pod, 200).unwrap();
        assert_eq!((choice.candidate, choice.order), (1, Order::Alternate));
    }

    #[test]
    fn settled_candidates_and_orders_done_here_are_not_asked_again() {
        let mut settled = candidate(0, [0, 0]);
        settled.settled = true;
        assert_eq!(assign(&[settled], &PodState::default(), 200), None);
        let enforced = BTreeSet::from([(0, Order::Primary), (0, Order::Alternate)]);
        let pod = PodState { enforced, ..PodState::default() };
        assert_eq!(assign(&[candidate(0, [9, 9])], &pod, 200), None);
    }

    #[test]
    fn long_waits_are_rare() {
        let candidates = vec![candidate(0, [0, 0])];
        let waits: Vec<u32> = (0..64)
            .map(|number| {
                let pod = PodState { number, ..PodState::default() };
                assign(&candidates, &pod, 200).unwrap().wait_ms
            })
            .collect();
        assert_eq!(waits.iter().filter(|wait| **wait == 200).count(), 60);
        assert_eq!(waits.iter().filter(|wait| **wait == 1000).count(), 3);
        assert_eq!(waits.iter().filter(|wait| **wait == 5000).count(), 1);
    }
}
