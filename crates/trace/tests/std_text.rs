//! The STD text format: what is read, what is mended with a message, what is refused.

use racewarden_trace::text::{self, RepairKind};
use racewarden_trace::{Kind, OrderTrace};

fn written(trace: &OrderTrace) -> String {
    let mut out = Vec::new();
    text::write(trace, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn repairs(lines: &str) -> (String, Vec<RepairKind>) {
    let read = text::read(lines.as_bytes()).unwrap();
    (written(&read.trace), read.repairs.iter().map(|repair| repair.kind).collect())
}

fn refusal(lines: &str) -> String {
    text::read(lines.as_bytes()).unwrap_err().to_string()
}

#[test]
fn a_sound_trace_is_written_as_it_was_read() {
    let lines = "T0|begin(T0)|0\nT0|fork(T1)|12\nT1|acq(L3)|main.c:7\nT1|r(V12)|345\nT1|rel(L3)|007\nT1|end(T1)|9\nT0|join(T1)|4294967295\nT0|w(V12)|1\n";
    let (text, repairs) = repairs(lines);
    assert_eq!(text, lines);
    assert!(repairs.is_empty());
}

#[test]
fn line_ends_and_blank_lines_do_not_matter() {
    let (text, repairs) = repairs("T0|w(V1)|1\r\n\r\nT0|r(V1)|2");
    assert_eq!(text, "T0|w(V1)|1\nT0|r(V1)|2\n");
    assert!(repairs.is_empty());
}

#[test]
fn a_thread_without_its_prefix_is_the_one_meant() {
    let (text, kinds) = repairs("T1|fork(124)|1\nT124|w(V1)|2\nT1|join(124)|3\n");
    assert_eq!(text, "T1|fork(T124)|1\nT124|w(V1)|2\nT1|join(T124)|3\n");
    assert_eq!(kinds, [RepairKind::ThreadNamedWithoutPrefix]);
    let (_, kinds) = repairs("T1|fork(T124)|1\n124|w(V1)|2\n");
    assert_eq!(kinds, [RepairKind::ThreadNamedWithoutPrefix]);
    let (_, kinds) = repairs("T1|fork(T9)|1\nT1|w(V1)|2\n");
    assert_eq!(kinds, [RepairKind::UnknownThread]);
}

#[test]
fn forks_that_say_nothing_are_left_out() {
    let (text, kinds) = repairs("A|fork(B)|1\nA|fork(B)|2\nB|w(x)|3\nA|fork(B)|4\n");
    assert_eq!(text, "A|fork(B)|1\nB|w(x)|3\n");
    assert_eq!(kinds, [RepairKind::RepeatedFork, RepairKind::LateFork]);
}

#[test]
fn a_release_without_its_acquire_is_held_as_long_as_may_be_or_refused() {
    let (text, kinds) = repairs("A|w(x)|1\nA|rel(l)|2\nB|acq(l)|3\n");
    assert_eq!(text, "A|acq(l)|2\nA|w(x)|1\nA|rel(l)|2\nB|acq(l)|3\n");
    assert_eq!(kinds, [RepairKind::ReleaseWithoutAcquire]);
    // The lock was another's before: the section starts no earlier than that one ended.
    let (text, kinds) = repairs("A|w(x)|0\nB|acq(l)|1\nB|rel(l)|2\nA|w(x)|3\nA|rel(l)|4\n");
    assert_eq!(text, "A|w(x)|0\nB|acq(l)|1\nB|rel(l)|2\nA|acq(l)|4\nA|w(x)|3\nA|rel(l)|4\n");
    assert_eq!(kinds, [RepairKind::ReleaseWithoutAcquire]);
    let message = refusal("B|acq(l)|1\nA|rel(l)|3\n");
    assert_eq!(message, "line 2: thread `A` releases lock `l`, which it does not hold");
}

#[test]
fn a_join_of_a_thread_that_goes_on_waits_for_what_was_before() {
    let read = text::read(b"A|fork(B)|1\nB|w(x)|2\nA|join(B)|3\nA|w(y)|4\nB|w(x)|5\n").unwrap();
    let kinds: Vec<Kind> = read.trace.events.iter().map(|event| event.kind).collect();
    let expected = [Kind::Fork, Kind::Write, Kind::Notify, Kind::Await, Kind::Write, Kind::Write];
    assert_eq!(kinds, expected);
    assert_eq!(read.repairs[0].kind, RepairKind::EarlyJoin);
    assert_eq!(read.repairs[0].line, 3);
}

#[test]
fn begins_and_ends_that_come_at_the_wrong_time_are_left_out() {
    let (text, kinds) = repairs("B|end(B)|1\nB|w(x)|2\nB|end(B)|3\nB|end(B)|4\n");
    assert_eq!(text, "B|w(x)|2\nB|end(B)|3\n");
    assert_eq!(kinds, [RepairKind::EarlyEnd, RepairKind::EarlyEnd]);
    let (text, kinds) = repairs("B|w(x)|1\nB|begin(B)|2\n");
    assert_eq!(text, "B|w(x)|1\n");
    assert_eq!(kinds, [RepairKind::LateBegin]);
}

#[test]
fn what_orders_nothing_is_left_out_and_odd_names_are_kept() {
    let (text, kinds) = repairs("# a comment\nA|enter(f)|1\nA|w(a|b[3].x(int))|2\nA|branch(0)|3\n");
    assert_eq!(text, "A|w(a|b[3].x(int))|2\n");
    assert_eq!(kinds, [RepairKind::OrdersNothing, RepairKind::OrdersNothing]);
    let (text, _) = repairs(" A | r( x ) | Main.java:12|more\n");
    assert_eq!(text, "A|r( x )|Main.java:12|more\n");
    let (text, kinds) = repairs("A|w(x)\nA|r(x)\n");
    assert_eq!(text, "A|w(x)|1\nA|r(x)|2\n");
    assert_eq!(kinds, [RepairKind::NoLocation, RepairKind::NoLocation]);
}

#[test]
fn re_entrant_sections_are_one() {
    let (text, kinds) = repairs("A|acq(l)|1\nA|acq(l)|2\nA|rel(l)|3\nA|rel(l)|4\n");
    assert_eq!(text, "A|acq(l)|1\nA|rel(l)|4\n");
    assert_eq!(kinds, [RepairKind::NestedAcquire]);
}

#[test]
fn contradictions_are_refused_with_their_line() {
    for (lines, message) in [
        ("A|acq(l)|1\nB|acq(l)|2\n", "line 2: thread `B` takes lock `l`, which thread `A` holds"),
        ("A|fork(A)|1\n", "line 1: thread `A` forks itself"),
        (
            "A|w(x)|1\nA|cas(x)|2\n",
            "line 2: unknown operation `cas` (known: r w acq rel fork join begin end)",
        ),
        (
            "A|w(x)|1\nA|w(x|2\nA|w(x)|3\n",
            "line 2: `A|w(x|2` is not `THREAD|operation(operand)|location`",
        ),
        ("A|w(x)|1\nA|w()|2\n", "line 2: `A|w()|2` is not `THREAD|operation(operand)|location`"),
    ] {
        assert_eq!(refusal(lines), message);
    }
}

#[test]
fn a_thread_used_again_after_its_join_is_a_new_one() {
    let read = text::read(b"A|fork(B)|1\nB|w(x)|2\nA|join(B)|3\nA|fork(B)|4\nB|w(x)|5\n").unwrap();
    assert_eq!(read.repairs[0].kind, RepairKind::ReusedThread);
    let trace = &read.trace;
    assert_eq!(trace.threads.len(), 3);
    assert_ne!(trace.events[1].thread, trace.events[4].thread);
    assert_eq!(trace.events[3].kind, Kind::Fork);
    assert_eq!(trace.events[3].object, trace.events[4].thread.0);
}

#[test]
fn a_trace_that_was_cut_off_keeps_what_is_whole() {
    let (text, kinds) = repairs("A|w(x)|1\nA|r(y)|2\nA|w(");
    assert_eq!(text, "A|w(x)|1\nA|r(y)|2\n");
    assert_eq!(kinds, [RepairKind::TruncatedLastLine]);
}

#[test]
fn foreign_files_are_refused() {
    assert!(refusal("").contains("it is empty"));
    assert!(refusal("\u{7f}ELF\u{1}\u{2}\n\n").contains("not a trace in the STD format"));
    assert!(refusal("int main(void) { return 0; }\n").contains("not a trace in the STD format"));
}

#[test]
fn repairs_of_one_kind_are_told_together() {
    let read = text::read(b"A|fork(B)|1\nA|fork(B)|2\nA|fork(B)|3\nB|w(x)|4\n").unwrap();
    assert_eq!(
        text::repair_messages(&read.repairs),
        ["line 2: thread `B` is forked again before it ran; left out (and 1 more like it)"]
    );
}
