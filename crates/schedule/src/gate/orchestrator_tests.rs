use super::*;
use crate::gate::TargetOrder;

const A: u32 = 10;
const B: u32 = 20;

fn orders(order: Order) -> Orders {
    let target = TargetOrder { number: 0, order, sides: [vec![A], vec![B]], avoid: false };
    Orders { targets: vec![target], ..Orders::default() }
}

fn at(thread: u32, gate: u32, address: u64) -> Arrival {
    Arrival {
        thread,
        visit: Visit { thread: format!("main.{thread}"), gate, occurrence: 1 },
        address,
        size: 4,
        writes: true,
        atomic: false,
        living: 3,
        unjoined: 2,
    }
}

fn names(events: &[Event]) -> Vec<String> {
    events.iter().map(|event| event.to_string().split(' ').next().unwrap().to_owned()).collect()
}

/// Thread 1 comes to A, thread 2 to B; returns what each was told once they met.
fn meet(orchestrator: &mut Orchestrator) -> (Answer, Answer) {
    assert!(matches!(orchestrator.arrive(at(1, A, 100)), Answer::Hold { .. }));
    let second = orchestrator.arrive(at(2, B, 102));
    assert_eq!(orchestrator.held_partner(2), Some(1));
    let first = orchestrator.wake(1, Wake::Called, 5);
    (first, second)
}

#[test]
fn both_orders_are_enforced_from_the_same_meeting() {
    let mut forward = Orchestrator::new(&orders(Order::Forward));
    assert_eq!(meet(&mut forward), (Answer::Lead, Answer::Follow));
    assert_eq!(forward.performed(1), (Answer::Pass, Some(2)));
    assert_eq!(forward.wake(2, Wake::Called, 5), Answer::Perform);
    assert_eq!(forward.performed(2), (Answer::Pass, None));
    let events = forward.take_events();
    assert_eq!(names(&events), ["reached", "held", "reached", "met", "led", "enforced"]);

    let mut backward = Orchestrator::new(&orders(Order::Backward));
    assert_eq!(meet(&mut backward), (Answer::Follow, Answer::Lead));
    assert_eq!(backward.performed(2), (Answer::Pass, Some(1)));
    assert_eq!(backward.wake(1, Wake::Called, 5), Answer::Perform);
}

#[test]
fn other_memory_is_no_meeting() {
    let mut orchestrator = Orchestrator::new(&orders(Order::Forward));
    assert!(matches!(orchestrator.arrive(at(1, A, 100)), Answer::Hold { .. }));
    assert_eq!(orchestrator.arrive(at(2, B, 104)), Answer::Pass);
    assert!(names(&orchestrator.take_events()).contains(&"different".to_owned()));
}

#[test]
fn two_atomic_accesses_never_meet_but_one_with_a_plain_one_does() {
    let atomic = |arrival: Arrival| Arrival { atomic: true, ..arrival };
    let mut orchestrator = Orchestrator::new(&orders(Order::Forward));
    assert!(matches!(orchestrator.arrive(atomic(at(1, A, 100))), Answer::Hold { .. }));
    assert_eq!(orchestrator.arrive(atomic(at(2, B, 100))), Answer::Pass);
    assert_eq!(orchestrator.arrive(at(3, B, 100)), Answer::Follow);
}

#[test]
fn two_reads_are_no_meeting() {
    let mut orchestrator = Orchestrator::new(&orders(Order::Forward));
    let read = |arrival: Arrival| Arrival { writes: false, ..arrival };
    assert!(matches!(orchestrator.arrive(read(at(1, A, 100))), Answer::Hold { .. }));
    assert_eq!(orchestrator.arrive(read(at(2, B, 100))), Answer::Pass);
    assert!(!names(&orchestrator.take_events()).contains(&"met".to_owned()));
}

#[test]
fn a_partner_that_comes_after_the_wait_is_no_meeting() {
    let mut orchestrator = Orchestrator::new(&orders(Order::Forward));
    assert!(matches!(orchestrator.arrive(at(1, A, 100)), Answer::Hold { .. }));
    assert_eq!(orchestrator.wake(1, Wake::OthersBlocked, 5), Answer::Pass);
    // The lock is free now, and the other thread comes to its access: it is held, not met.
    assert!(matches!(orchestrator.arrive(at(2, B, 100)), Answer::Hold { .. }));
    assert_eq!(
        names(&orchestrator.take_events()),
        ["reached", "held", "others-blocked", "reached", "held"]
    );
}

#[test]
fn a_lone_thread_is_never_held() {
    let mut orchestrator = Orchestrator::new(&orders(Order::Forward));
    let alone = Arrival { living: 1, ..at(1, A, 100) };
    assert_eq!(orchestrator.arrive(alone), Answer::Pass);
    assert_eq!(orchestrator.take_events(), [Event::Reached { gate: A, concurrent: false }]);
}

#[test]
fn one_site_can_race_with_itself() {
    let target =
        TargetOrder { number: 7, order: Order::Forward, sides: [vec![A], vec![A]], avoid: false };
    let mut orchestrator =
        Orchestrator::new(&Orders { targets: vec![target], ..Orders::default() });
    assert!(matches!(orchestrator.arrive(at(1, A, 100)), Answer::Hold { .. }));
    assert_eq!(orchestrator.arrive(at(1, A, 100)), Answer::Pass);
    assert_eq!(orchestrator.arrive(at(2, A, 100)), Answer::Follow);
}

#[test]
fn the_order_of_one_site_with_itself_goes_by_creation_not_by_arrival() {
    for (first, second, answer) in [(2, 10, Answer::Follow), (10, 2, Answer::Lead)] {
        let sides = [vec![A], vec![A]];
        let target = TargetOrder { number: 7, order: Order::Forward, sides, avoid: false };
        let mut orchestrator =
            Orchestrator::new(&Orders { targets: vec![target], ..Orders::default() });
        assert!(matches!(orchestrator.arrive(at(first, A, 100)), Answer::Hold { .. }));
        assert_eq!(orchestrator.arrive(at(second, A, 100)), answer);
    }
}

#[test]
fn targets_of_one_run_do_not_disturb_each_other() {
    let mut two = orders(Order::Forward);
    let sides = [vec![30], vec![40]];
    two.targets.push(TargetOrder { number: 1, order: Order::Forward, sides, avoid: false });
    let mut orchestrator = Orchestrator::new(&two);
    assert!(matches!(orchestrator.arrive(at(1, A, 100)), Answer::Hold { .. }));
    assert_eq!(orchestrator.arrive(at(2, 30, 200)), Answer::Pass);
    assert_eq!(orchestrator.arrive(at(3, 40, 200)), Answer::Pass);
    assert_eq!(orchestrator.arrive(at(2, B, 100)), Answer::Follow);
    // While the meeting goes on, everyone else passes.
    assert_eq!(orchestrator.arrive(at(3, 30, 200)), Answer::Pass);
}

#[test]
fn waits_in_vain_are_spread_and_bounded() {
    let mut orchestrator = Orchestrator::new(&orders(Order::Forward));
    let mut held_at = Vec::new();
    for visit in 0..10_000 {
        if matches!(orchestrator.arrive(at(1, A, 100)), Answer::Hold { .. }) {
            held_at.push(visit);
            orchestrator.wake(1, Wake::TimedOut, 10);
        }
    }
    assert_eq!(held_at.len(), WAITS_PER_GATE as usize);
    assert!(orchestrator.is_quiet(A) && !orchestrator.is_quiet(B) && !orchestrator.is_busy());
    let gaps: Vec<i32> = held_at.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|gap| *gap >= 2), "{gaps:?}");
}

#[test]
fn the_run_budget_ends_all_waiting() {
    let mut tight = orders(Order::Forward);
    tight.run_budget_us = 250_000;
    let mut orchestrator = Orchestrator::new(&tight);
    assert_eq!(orchestrator.arrive(at(1, A, 1)), Answer::Hold { wait_us: 200_000 });
    orchestrator.wake(1, Wake::TimedOut, 200_000);
    assert_eq!(orchestrator.arrive(at(2, B, 1)), Answer::Hold { wait_us: 50_000 });
    orchestrator.wake(2, Wake::TimedOut, 50_000);
    for _ in 0..100 {
        assert_eq!(orchestrator.arrive(at(1, A, 1)), Answer::Pass);
    }
}

#[test]
fn lingering_is_told_to_the_right_thread() {
    let mut late = orders(Order::Forward);
    late.linger = Linger::Follower { us: 50 };
    let mut orchestrator = Orchestrator::new(&late);
    meet(&mut orchestrator);
    assert_eq!(orchestrator.performed(1), (Answer::Pass, Some(2)));
    assert_eq!(orchestrator.wake(2, Wake::Called, 1), Answer::Linger { us: 50 });
    assert_eq!(orchestrator.wake(2, Wake::TimedOut, 50), Answer::Perform);

    let mut early = orders(Order::Forward);
    early.linger = Linger::Leader { us: 60 };
    let mut orchestrator = Orchestrator::new(&early);
    meet(&mut orchestrator);
    assert_eq!(orchestrator.performed(1), (Answer::Linger { us: 60 }, Some(2)));
    assert_eq!(orchestrator.wake(2, Wake::Called, 1), Answer::Perform);
    orchestrator.performed(2);
    assert_eq!(orchestrator.wake(1, Wake::TimedOut, 60), Answer::Pass);
}

#[test]
fn a_leader_that_never_returns_does_not_keep_the_follower() {
    let mut orchestrator = Orchestrator::new(&orders(Order::Forward));
    meet(&mut orchestrator);
    assert_eq!(orchestrator.wake(2, Wake::TimedOut, 1_000_000), Answer::Pass);
    assert_eq!(orchestrator.performed(1), (Answer::Pass, None));
}

#[test]
fn an_order_to_avoid_is_turned_round_every_time() {
    let mut avoid = orders(Order::Forward);
    avoid.targets[0].avoid = true;
    let mut orchestrator = Orchestrator::new(&avoid);
    // B may go first at any time; A has to wait for it.
    assert_eq!(orchestrator.arrive(at(2, B, 100)), Answer::Pass);
    for _ in 0..2 {
        assert_eq!(meet(&mut orchestrator), (Answer::Follow, Answer::Lead));
        orchestrator.performed(2);
        assert_eq!(orchestrator.wake(1, Wake::Called, 1), Answer::Perform);
        orchestrator.performed(1);
    }
}

#[test]
fn an_ended_thread_is_forgotten() {
    let mut orchestrator = Orchestrator::new(&orders(Order::Forward));
    assert!(matches!(orchestrator.arrive(at(1, A, 100)), Answer::Hold { .. }));
    assert_eq!(orchestrator.thread_ended(1, "main.1"), None);
    assert!(matches!(orchestrator.arrive(at(2, B, 100)), Answer::Hold { .. }));
    assert!(matches!(orchestrator.arrive(at(3, A, 100)), Answer::Lead));
    assert_eq!(orchestrator.thread_ended(3, "main.3"), Some(2));
}

#[test]
fn two_targets_in_a_row_are_both_steered() {
    let mut two = orders(Order::Backward);
    let sides = [vec![30], vec![30]];
    two.targets.push(TargetOrder { number: 1, order: Order::Forward, sides, avoid: false });
    let mut orchestrator = Orchestrator::new(&two);
    assert_eq!(meet(&mut orchestrator), (Answer::Follow, Answer::Lead));
    assert_eq!(orchestrator.performed(2), (Answer::Pass, Some(1)));
    // The leader hurries on to the next target before the follower has been woken.
    assert!(matches!(orchestrator.arrive(at(2, 30, 200)), Answer::Hold { .. }));
    assert!(matches!(orchestrator.wake(2, Wake::Called, 1), Answer::Hold { .. }));
    assert_eq!(orchestrator.wake(1, Wake::Called, 5), Answer::Perform);
    orchestrator.performed(1);
    assert_eq!(orchestrator.arrive(at(1, 30, 200)), Answer::Lead);
    assert_eq!(orchestrator.wake(2, Wake::Called, 5), Answer::Follow);
}

fn with_many_holds(seed: u64) -> Orchestrator {
    let sides = [vec![A], vec![B]];
    let target = TargetOrder { number: 0, order: Order::Forward, sides, avoid: false };
    Orchestrator::new(&Orders { targets: vec![target], holds: 8, seed, ..Orders::default() })
}

#[test]
fn of_many_held_threads_the_one_at_the_same_memory_meets_and_the_others_go_on() {
    let mut orchestrator = with_many_holds(0);
    for thread in 1..=3 {
        let address = u64::from(thread) * 100;
        assert!(matches!(orchestrator.arrive(at(thread, A, address)), Answer::Hold { .. }));
    }
    assert_eq!(orchestrator.arrive(at(9, B, 200)), Answer::Follow);
    assert_eq!(orchestrator.held_partner(9), Some(2));
    assert_eq!(orchestrator.take_released(), [1, 3]);
    assert_eq!(orchestrator.wake(2, Wake::Called, 1), Answer::Lead);
    assert_eq!(orchestrator.wake(1, Wake::Called, 1), Answer::Pass);
}

#[test]
fn when_all_are_held_or_blocked_one_goes_on_and_that_is_no_sign_of_an_order() {
    for (seed, goes) in [(0, 1), (1, 2)] {
        let mut orchestrator = with_many_holds(seed);
        orchestrator.gates.values_mut().for_each(|gate| gate.skip = 0);
        for thread in [1, 2] {
            let arrival = at(thread, A, u64::from(thread) * 100);
            assert!(matches!(orchestrator.arrive(arrival), Answer::Hold { .. }));
        }
        let stays = 3 - goes;
        let answer = orchestrator.wake(stays, Wake::OthersBlocked, 15_000);
        assert!(matches!(answer, Answer::Hold { wait_us: 185_000 }));
        assert_eq!(orchestrator.wake(goes, Wake::OthersBlocked, 15_000), Answer::Pass);
        assert!(!names(&orchestrator.take_events()).contains(&"others-blocked".to_owned()));
        // It comes to the memory where the other one waits.
        let address = u64::from(stays) * 100;
        assert_eq!(orchestrator.arrive(at(goes, B, address)), Answer::Follow);
    }
}

#[test]
fn chosen_visits_alone_are_held_and_held_again() {
    let hold_at = vec![HoldAt { gate: A, thread: "main.1".into(), occurrence: 2 }];
    let mut orchestrator = Orchestrator::new(&Orders { hold_at, ..orders(Order::Forward) });
    assert_eq!(orchestrator.arrive(at(2, B, 100)), Answer::Pass);
    assert_eq!(orchestrator.arrive(at(1, A, 100)), Answer::Pass);
    assert!(orchestrator.is_quiet(B) && !orchestrator.is_quiet(A));
    let again = |occurrence| {
        let visit = Visit { occurrence, ..at(1, A, 100).visit };
        Arrival { visit, ..at(1, A, 100) }
    };
    for occurrence in 2..5 {
        assert!(matches!(orchestrator.arrive(again(occurrence)), Answer::Hold { .. }));
        assert_eq!(orchestrator.wake(1, Wake::OthersIdle, 5), Answer::Pass);
    }
    assert!(matches!(orchestrator.arrive(again(5)), Answer::Hold { .. }));
    assert_eq!(orchestrator.arrive(at(2, B, 100)), Answer::Follow);
    let told = names(&orchestrator.take_events());
    assert_eq!(told, ["reached", "reached", "held", "held", "held", "held", "met"]);
}

#[test]
fn visits_to_let_pass_can_be_counted_elsewhere() {
    let mut orchestrator = Orchestrator::new(&orders(Order::Forward));
    assert_eq!(orchestrator.take_skip(A), 0);
    assert!(matches!(orchestrator.arrive(at(1, A, 100)), Answer::Hold { .. }));
    assert_eq!(orchestrator.wake(1, Wake::TimedOut, 200_000), Answer::Pass);
    assert!(orchestrator.take_skip(A) > 0);
    assert_eq!(orchestrator.take_skip(A), 0);
    assert!(matches!(orchestrator.arrive(at(1, A, 100)), Answer::Hold { .. }));
}

#[test]
fn a_survey_holds_nobody_and_tells_common_memory() {
    let mut orchestrator = Orchestrator::new(&Orders { survey: true, ..orders(Order::Forward) });
    assert_eq!(orchestrator.arrive(at(1, A, 100)), Answer::Pass);
    assert_eq!(orchestrator.arrive(at(2, B, 200)), Answer::Pass);
    assert_eq!(orchestrator.arrive(at(2, B, 100)), Answer::Pass);
    assert_eq!(names(&orchestrator.take_events()), ["reached", "reached", "near"]);
    assert!(!orchestrator.is_quiet(A));
}

#[test]
fn a_gate_is_finished_when_neither_it_nor_a_partner_holds_any_more() {
    let mut orchestrator =
        Orchestrator::new(&Orders { run_budget_us: 10_000_000, ..orders(Order::Forward) });
    let vain = |orchestrator: &mut Orchestrator, thread: u32, gate: u32| {
        while let Answer::Pass = orchestrator.arrive(at(thread, gate, 8)) {}
        orchestrator.wake(thread, Wake::OthersBlocked, 1);
    };
    (0..WAITS_PER_GATE).for_each(|_| vain(&mut orchestrator, 1, A));
    assert!(orchestrator.take_less_to_do() && orchestrator.is_quiet(A));
    // A thread that comes to the other side is still held, and may meet one that comes here.
    assert!(!orchestrator.is_finished(A));
    (0..WAITS_PER_GATE).for_each(|_| vain(&mut orchestrator, 2, B));
    assert!(orchestrator.take_less_to_do());
    assert!(orchestrator.is_finished(A) && orchestrator.is_finished(B));
}

#[test]
fn the_spent_budget_finishes_what_has_been_reached() {
    let orders = orders(Order::Forward);
    let mut orchestrator = Orchestrator::new(&Orders { run_budget_us: orders.wait_us, ..orders });
    orchestrator.arrive(at(1, A, 8));
    orchestrator.wake(1, Wake::TimedOut, u64::MAX);
    assert!(orchestrator.take_less_to_do());
    assert!(orchestrator.is_finished(A) && !orchestrator.is_finished(B));
    orchestrator.arrive(at(2, B, 8));
    assert!(orchestrator.is_finished(B));
}

#[test]
fn the_same_side_and_two_reads_are_kept_apart_whatever_their_memory() {
    let mut orchestrator = Orchestrator::new(&orders(Order::Forward));
    let read = |thread, gate| Arrival { writes: false, ..at(thread, gate, 8) };
    assert!(matches!(orchestrator.arrive(read(1, A)), Answer::Hold { .. }));
    assert_eq!(orchestrator.arrive(read(2, A)), Answer::Pass);
    assert!(orchestrator.cannot_meet(A, true, false));
    assert_eq!(orchestrator.arrive(read(2, B)), Answer::Pass);
    assert!(orchestrator.cannot_meet(B, false, false));
    assert!(!orchestrator.cannot_meet(B, true, false));
}
