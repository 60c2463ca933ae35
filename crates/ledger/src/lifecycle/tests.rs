use racewarden_finding::{AccessKind, Engine, Evidence, Race, Site, Verdict};
use serde_json::json;

use super::*;

fn at(status: Status, proof: Verdict) -> State {
    State { status, ..State::new(proof) }
}

fn seen(verdict: Verdict) -> Event {
    Event::Seen { verdict, older_than_fix: false }
}

fn after(state: &State, event: Event) -> State {
    apply(state, &event).unwrap()
}

#[test]
fn proof_only_rises() {
    let state = State::new(Verdict::Potential);
    let state = after(&state, seen(Verdict::Observed));
    assert_eq!(state.verdict(), Verdict::Observed);
    let state = after(&state, seen(Verdict::Potential));
    assert_eq!(state.verdict(), Verdict::Observed, "a weaker sighting takes nothing away");
    assert_eq!(after(&state, seen(Verdict::Harmful)).verdict(), Verdict::Harmful);
}

#[test]
fn likely_false_gives_way_to_proof_and_not_to_suspicion() {
    let doubted = after(&State::new(Verdict::Potential), seen(Verdict::LikelyFalse));
    assert_eq!(doubted.verdict(), Verdict::LikelyFalse);
    assert_eq!(after(&doubted, seen(Verdict::Potential)).verdict(), Verdict::LikelyFalse);
    assert_eq!(after(&doubted, seen(Verdict::Observed)).verdict(), Verdict::Observed);
    let proved = State::new(Verdict::Confirmed);
    assert_eq!(after(&proved, seen(Verdict::LikelyFalse)).verdict(), Verdict::Confirmed);
}

#[test]
fn a_fixed_race_that_returns_is_a_regression() {
    let fixed = after(&State::new(Verdict::Confirmed), Event::Gone { capture: 7 });
    assert_eq!((fixed.verdict(), fixed.fixed_in), (Verdict::Fixed, Some(7)));
    let old = after(&fixed, Event::Seen { verdict: Verdict::Confirmed, older_than_fix: true });
    assert_eq!(old.verdict(), Verdict::Fixed, "an old capture says nothing about the fix");
    let back = after(&fixed, seen(Verdict::Potential));
    assert_eq!((back.status, back.regression), (Status::Open, true));
    assert_eq!(back.verdict(), Verdict::Confirmed);
    let doubted = after(&fixed, seen(Verdict::LikelyFalse));
    assert_eq!(doubted.status, Status::Fixed);
}

#[test]
fn obsolete_comes_back_like_fixed() {
    let gone = after(&State::new(Verdict::Observed), Event::Missed { capture: Some(3) });
    assert_eq!(gone.status, Status::Obsolete);
    assert!(after(&gone, seen(Verdict::Observed)).regression);
    let suppressed = at(Status::Suppressed, Verdict::Observed);
    assert_eq!(after(&suppressed, Event::Missed { capture: None }).status, Status::Suppressed);
}

#[test]
fn suppression_holds_until_harm_is_shown() {
    let aside = after(&State::new(Verdict::Observed), Event::Marked(Mark::Suppressed));
    assert_eq!(after(&aside, seen(Verdict::Confirmed)).verdict(), Verdict::Suppressed);
    assert_eq!(after(&aside, seen(Verdict::Harmful)).verdict(), Verdict::Harmful);
    let known_harm = after(&State::new(Verdict::Harmful), Event::Marked(Mark::Suppressed));
    assert_eq!(after(&known_harm, seen(Verdict::Harmful)).verdict(), Verdict::Suppressed);
}

#[test]
fn a_person_cannot_prove_or_disprove() {
    let state = after(&State::new(Verdict::Potential), Event::Marked(Mark::Harmful));
    assert_eq!((state.verdict(), state.assessment), (Verdict::Potential, Assessment::Harmful));
    let benign = after(&state, Event::Marked(Mark::Benign));
    assert_eq!((benign.verdict(), benign.assessment), (Verdict::Suppressed, Assessment::Benign));
    let proved = State::new(Verdict::Observed);
    let refused = apply(&proved, &Event::Marked(Mark::LikelyFalse));
    assert_eq!(refused, Err(Refusal::Proved(Verdict::Observed)));
}

fn race(verdict: Verdict, evidence: Vec<Evidence>) -> Race {
    let site = Site {
        file: "a.c".into(),
        line: 1,
        column: 1,
        function: "f".into(),
        access: AccessKind::Write,
        lvalue: "x".into(),
        atomic: false,
        locks: vec![],
        thread: String::new(),
        stack: Default::default(),
    };
    let mut race = Race::new(site.clone(), site, "x", verdict);
    race.evidence = evidence;
    race
}

#[test]
fn a_verdict_counts_only_as_far_as_its_evidence() {
    let predict = || Evidence::new(Engine::Predict).with("schedule", "rw1:");
    let run = || Evidence::new(Engine::Run);
    let confirm = || Evidence::new(Engine::Confirm);
    let cases = [
        (Verdict::Confirmed, vec![], Verdict::Potential),
        (Verdict::Observed, vec![Evidence::new(Engine::Check)], Verdict::Potential),
        (Verdict::Observed, vec![run()], Verdict::Observed),
        (Verdict::Confirmed, vec![run()], Verdict::Observed),
        (Verdict::Confirmed, vec![run().with("simultaneous", true)], Verdict::Confirmed),
        (Verdict::Confirmed, vec![predict()], Verdict::Predicted),
        (Verdict::Confirmed, vec![predict().with("replayed", true)], Verdict::Confirmed),
        (Verdict::Confirmed, vec![predict().with("replayed", false)], Verdict::Predicted),
        (Verdict::Harmful, vec![run()], Verdict::Observed),
        (Verdict::Harmful, vec![run().with("harm", "crash")], Verdict::Harmful),
        (Verdict::Harmful, vec![confirm().with("orders", json!([{}]))], Verdict::Harmful),
        (Verdict::Potential, vec![confirm()], Verdict::Potential),
        (Verdict::LikelyFalse, vec![confirm()], Verdict::LikelyFalse),
        (Verdict::Suppressed, vec![run()], Verdict::Observed),
        (Verdict::Fixed, vec![], Verdict::Potential),
    ];
    for (claimed, evidence, expected) in cases {
        let text = format!("{claimed} with {evidence:?}");
        assert_eq!(justified(&race(claimed, evidence)), expected, "{text}");
    }
}

#[test]
fn rare_races_need_more_misses() {
    assert_eq!(misses_needed(1, 1), 5);
    assert_eq!(misses_needed(100, 100), 3);
    assert!(misses_needed(1, 100) > 200);
    assert!(misses_needed(0, 0) > 0);
}
