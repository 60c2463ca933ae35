//! What a campaign learned, as evidence in the report's terms (docs/report-format.md).

use std::collections::BTreeMap;

use racewarden_finding::{Engine, Evidence, Frame, Race, Site, Verdict, merge_races};
use racewarden_schedule::gate::{Judgement, Linger, Order, ViolationKind, judge};
use serde_json::{Value, json};

use super::campaign::Campaign;
use super::target::{Harm, Target};
use super::timeline::{Frames, timeline};

impl Campaign<'_> {
    /// Adds the evidence to each race and moves its verdict. A proof moves it up; doubt only
    /// touches candidates that nothing else has proved. What no engine had listed is added when it is
    /// proved.
    pub fn conclude_into(&self, races: &mut Vec<Race>) {
        let listed = races.len();
        races.extend(self.discovery.races.iter().cloned());
        let mut frames = Frames::new(&self.gated.path, self.units);
        for target in &self.targets {
            let race = &mut races[target.index];
            let judged = judge(&target.tally);
            let verdict = match judged.judgement {
                Judgement::Harmful => Some(Verdict::Harmful),
                Judgement::Confirmed => Some(Verdict::Confirmed),
                Judgement::LikelyFalse if !target.is_doubted_too_soon() => {
                    Some(Verdict::LikelyFalse)
                }
                Judgement::LikelyFalse | Judgement::Open => None,
            };
            match verdict {
                Some(Verdict::LikelyFalse) if race.verdict != Verdict::Potential => {}
                Some(verdict) if verdict == Verdict::LikelyFalse || verdict > race.verdict => {
                    race.verdict = verdict;
                }
                _ => {}
            }
            let mut detail = self.detail(target);
            self.show_meeting(target, race, &mut frames, &mut detail);
            race.evidence.push(Evidence { engine: Engine::Confirm, detail });
        }
        let mut discovered = races.split_off(listed);
        discovered.retain(|race| race.verdict >= Verdict::Confirmed);
        merge_races(races, discovered);
    }

    /// Adds where the threads stood and what happened, as frames and as a timeline. The race's
    /// own sites learn stacks and threads that no engine knew before.
    fn show_meeting(
        &self,
        target: &Target,
        race: &mut Race,
        frames: &mut Frames,
        detail: &mut BTreeMap<String, Value>,
    ) {
        let Some((order, meeting)) = target.told_meeting() else { return };
        let leading = order.leading_side();
        let [first, second] = meeting.stacks.each_ref().map(|stack| frames.of(stack));
        let places = [(leading, first), (1 - leading, second)];
        for ((side, stack), step) in places.into_iter().zip(&meeting.schedule.steps) {
            let site = &mut race.sites[side];
            if site.stack.is_empty() {
                site.stack = standing_at(site, stack, &step.function).into();
            }
            if site.thread.is_empty() {
                site.thread = step.thread.clone();
            }
        }
        let harm =
            target.harm.as_ref().map(|harm| (&harm.violation, frames.of(&harm.violation.stack)));
        if let Some((violation, stack)) = &harm {
            let told = json!({
                "kind": violation.kind.as_str(), "detail": violation.detail,
                "thread": violation.thread, "stack": stack,
            });
            detail.insert("violation".to_owned(), told);
        }
        let harm = harm.as_ref().map(|(violation, stack)| (*violation, stack.as_slice()));
        let steps = timeline(race, self.gated, &meeting.schedule, leading, harm);
        detail.insert("timeline".to_owned(), steps);
    }

    fn detail(&self, target: &Target) -> BTreeMap<String, Value> {
        let tally = &target.tally;
        let attempts: u64 = tally.attempts.values().sum();
        let met: u64 = tally.met.values().sum();
        let mut detail = BTreeMap::new();
        let mut put = |key: &str, value: Value| {
            detail.insert(key.to_owned(), value);
        };
        put("orders", orders_tried(target));
        put("runs", attempts.into());
        put("seen", met.into());
        put("wait_budget_ms", (target.longest_wait_us / 1000).into());
        put("simultaneous", tally.is_met().into());
        put("summary", summary(target).into());
        if !tally.is_met() {
            put("not_enforced", judge(tally).reason.map(|reason| reason.as_str()).into());
        }
        let harm = target.harm.as_ref();
        if let Some((_, meeting)) = target.told_meeting() {
            put("schedule", meeting.schedule.to_string().into());
        }
        if let Some(harm) = harm {
            put("harm", harm_in_words(harm).into());
            if let Some(linger) = linger_text(harm.plan.linger) {
                put("linger", linger.into());
            }
        }
        detail
    }
}

/// A stack with the site as its innermost frame. The thread stood right before the access, but
/// optimised code may give the place another line, or none.
fn standing_at(site: &Site, mut stack: Vec<Frame>, symbol: &str) -> Vec<Frame> {
    match stack.first_mut() {
        Some(innermost) => {
            innermost.file = site.file.clone();
            innermost.line = site.line;
        }
        None => {
            let function = if site.function.is_empty() { symbol } else { &site.function };
            let (function, file) = (function.to_owned(), site.file.clone());
            stack.push(Frame { function, file, line: site.line });
        }
    }
    stack
}

fn orders_tried(target: &Target) -> Value {
    let tally = &target.tally;
    let one = |order: &Order| {
        let harm = target.harm.as_ref().filter(|harm| harm.plan.order == *order);
        let (outcome, words) = if let Some(harm) = harm {
            (outcome_of(harm.violation.kind), harm.violation.detail.clone())
        } else if tally.enforced.get(order).is_some_and(|count| *count > 0) {
            ("completed", "both threads stood at their accesses".to_owned())
        } else if tally.is_met_in(*order) {
            ("completed", "both threads met; the run ended before the second access".to_owned())
        } else {
            let why = judge(tally).reason.map_or("not tried", |reason| reason.as_str());
            ("not-reached", why.to_owned())
        };
        let attempts = tally.attempts.get(order).copied().unwrap_or(0);
        json!({
            "first": order.leading_side(),
            "outcome": outcome,
            "detail": words,
            "attempts": attempts,
        })
    };
    Value::Array(Order::BOTH.iter().map(one).collect())
}

fn outcome_of(kind: ViolationKind) -> &'static str {
    match kind {
        ViolationKind::Crash | ViolationKind::Reported => "crash",
        ViolationKind::Assertion => "assertion",
        ViolationKind::Hang => "hang",
    }
}

fn harm_in_words(harm: &Harm) -> String {
    let detail = &harm.violation.detail;
    match harm.violation.kind {
        ViolationKind::Crash => format!("crash: {detail}"),
        ViolationKind::Assertion => format!("assertion failed: {detail}"),
        ViolationKind::Hang => format!("hang: {detail}"),
        ViolationKind::Reported => "the user reported a failure".to_owned(),
    }
}

/// `follower 100000`, as `replay --linger` takes it.
pub fn linger_text(linger: Linger) -> Option<String> {
    match linger {
        Linger::Nobody => None,
        Linger::Leader { us } => Some(format!("leader {us}")),
        Linger::Follower { us } => Some(format!("follower {us}")),
    }
}

/// Reads [`linger_text`] back.
pub fn parse_linger(text: &str) -> Option<Linger> {
    let (who, us) = text.split_once([' ', ':'])?;
    let us = us.trim().parse().ok()?;
    match who {
        "leader" => Some(Linger::Leader { us }),
        "follower" => Some(Linger::Follower { us }),
        _ => None,
    }
}

fn summary(target: &Target) -> String {
    let tally = &target.tally;
    let attempts: u64 = tally.attempts.values().sum();
    if !target.is_gated() {
        return "the accesses were not found in the captured code, so nothing was tried".to_owned();
    }
    if !tally.is_met() {
        let why = judge(tally).reason.map_or("not tried", |reason| reason.as_str());
        let wait = target.longest_wait_us / 1000;
        return format!("not enforced in {attempts} runs with waits up to {wait} ms: {why}");
    }
    let enforced = Order::BOTH.iter().filter(|order| tally.is_met_in(**order)).count();
    let orders = if enforced == 2 { "both orders" } else { "one order" };
    let caught = format!(
        "both threads caught at their accesses at the same instant; {orders} enforced in {attempts} runs"
    );
    match &target.harm {
        Some(harm) => format!("{caught}; {}", harm_in_words(harm)),
        None => caught,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linger_prints_and_reads_back() {
        for linger in [Linger::Leader { us: 5 }, Linger::Follower { us: 100 }] {
            assert_eq!(linger_text(linger).as_deref().and_then(parse_linger), Some(linger));
        }
        assert_eq!(linger_text(Linger::Nobody), None);
        assert_eq!(parse_linger("nobody"), None);
    }
}
