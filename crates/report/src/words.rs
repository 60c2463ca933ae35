//! What the formats say about a race in words: why nothing orders it, what the forced orders did,
//! and how it might be fixed. Each reads the evidence keys of docs/report-format.md and stays
//! silent about what no engine found out.

use racewarden_finding::{Engine, Evidence, HeldLock, LockMode, Race, Site};
use serde_json::Value;

/// `bank.c:41 write balance`.
pub fn site_title(site: &Site) -> String {
    let atomic = if site.atomic { "atomic " } else { "" };
    format!("{} {atomic}{} {}", site.location(), site.access, site.lvalue)
}

/// One sentence about the pair, for formats that have a single line for it.
pub fn headline(race: &Race) -> String {
    let [a, b] = &race.sites;
    format!("{}  ×  {}", site_title(a), site_title(b))
}

/// What happened when one access was forced to go first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForcedOrder {
    /// Index into the race's sites.
    pub first: usize,
    pub outcome: String,
    pub detail: String,
}

impl ForcedOrder {
    /// `assertion: audit() failed`, or just the outcome.
    pub fn result(&self) -> String {
        if self.detail.is_empty() {
            self.outcome.clone()
        } else {
            format!("{}: {}", self.outcome, self.detail)
        }
    }
}

/// The orders that engines enforced, the first site's first, without repetition.
pub fn forced_orders(race: &Race) -> Vec<ForcedOrder> {
    let mut orders: Vec<ForcedOrder> = Vec::new();
    for evidence in &race.evidence {
        let Some(list) = evidence.detail.get("orders").and_then(Value::as_array) else { continue };
        for entry in list {
            let first = entry.get("first").and_then(Value::as_u64).unwrap_or(0).min(1) as usize;
            let text = |key| entry.get(key).and_then(Value::as_str).unwrap_or("").to_owned();
            let order = ForcedOrder { first, outcome: text("outcome"), detail: text("detail") };
            if !orders.contains(&order) {
                orders.push(order);
            }
        }
    }
    orders.sort_by_key(|order| order.first);
    orders
}

/// The violation that one order led to.
pub fn harm(race: &Race) -> Option<&str> {
    race.evidence.iter().find_map(|evidence| evidence.text("harm"))
}

/// The evidence in one sentence.
pub fn evidence_line(evidence: &Evidence) -> String {
    if let Some(summary) = evidence.text("summary") {
        return summary.to_owned();
    }
    let number = |key| evidence.detail.get(key).and_then(Value::as_u64);
    let flag = |key| match evidence.detail.get(key) {
        Some(Value::Bool(set)) => *set,
        Some(Value::String(text)) => !text.is_empty(),
        _ => false,
    };
    let mut parts = Vec::new();
    match evidence.engine {
        Engine::Capture => parts.push("the capture changed".to_owned()),
        Engine::Check => parts.push("no analysis excludes the pair".to_owned()),
        Engine::Run => parts.push("seen unordered in a run".to_owned()),
        Engine::Predict => parts.push("the solver found a feasible schedule".to_owned()),
        Engine::Confirm => parts.push("orders were enforced".to_owned()),
        Engine::Hive => parts.push("reported from the field".to_owned()),
        Engine::Person => {
            let action = evidence.text("action").unwrap_or("looked at");
            let author = evidence.text("author").unwrap_or("someone");
            parts.push(format!("{action} by {author}"));
            parts.extend(evidence.text("reason").map(str::to_owned));
        }
    }
    if let (Some(seen), Some(runs)) = (number("seen"), number("runs")) {
        parts.push(format!("{seen} of {runs} runs"));
    }
    if flag("simultaneous") {
        parts.push("both threads caught at their accesses at one instant".to_owned());
    }
    if flag("untaken_branch") {
        parts.push("in a branch that the run did not take".to_owned());
    }
    if flag("replayed") {
        parts.push("its schedule was replayed".to_owned());
    }
    parts.extend(evidence.text("harm").map(str::to_owned));
    parts.join("; ")
}

/// Why nothing orders the two accesses: the engines' reasons, or what the locksets say.
pub fn why_unordered(race: &Race) -> Vec<String> {
    if !race.reasons.is_empty() {
        return race.reasons.clone();
    }
    let [a, b] = &race.sites;
    let holds = |site: &Site| {
        let names: Vec<&str> = site.locks.iter().map(|lock| lock.name.as_str()).collect();
        if names.is_empty() { "no lock".to_owned() } else { names.join(", ") }
    };
    if a.locks.is_empty() && b.locks.is_empty() {
        return vec!["neither side holds a lock".to_owned()];
    }
    vec![format!("no lock in common: one side holds {}, the other {}", holds(a), holds(b))]
}

/// A hint at the fix, from the most specific knowledge to the least.
pub fn fix_hint(race: &Race) -> Option<String> {
    if let Some(hint) = race.evidence.iter().find_map(|evidence| evidence.text("hint")) {
        return Some(hint.to_owned());
    }
    let [a, b] = &race.sites;
    let object = what_races(race);
    if let Some((name, held, of)) = usual_lock(race) {
        let bare: Vec<String> = [a, b]
            .into_iter()
            .filter(|site| !site.locks.iter().any(|lock| lock.name == name))
            .map(Site::location)
            .collect();
        let counted = format!("{held} of {of} accesses to {} hold it", race.object);
        return Some(match bare.as_slice() {
            [] => format!("hold the same `{name}` on both sides ({counted})"),
            _ => format!("hold `{name}` at {} too ({counted})", bare.join(" and ")),
        });
    }
    // What is held for reading keeps no writer out, so it is no advice.
    let exclusive = |site: &Site| -> Vec<HeldLock> {
        site.locks.iter().filter(|lock| lock.mode == LockMode::Write).cloned().collect()
    };
    for (guarded, bare) in [(a, b), (b, a)] {
        if let (Some(lock), true) = (exclusive(guarded).first(), exclusive(bare).is_empty()) {
            // A lock that only has an address is better told by where it was taken.
            let name = match lock.acquired_at.as_str() {
                place if lock.name.contains("0x") && !place.is_empty() => {
                    format!("the lock taken at {place}")
                }
                _ => format!("`{}`", lock.name),
            };
            let (bare, guarded) = (bare.location(), guarded.location());
            return Some(format!("hold {name} at {bare} too, as {guarded} does"));
        }
    }
    match (a.atomic, b.atomic) {
        (true, false) => Some(format!("make the {} at {} atomic too", b.access, b.location())),
        (false, true) => Some(format!("make the {} at {} atomic too", a.access, a.location())),
        _ if !exclusive(a).is_empty() => {
            Some(format!("the sides hold different locks: choose one of them for {object}"))
        }
        _ if a.thread != b.thread && (is_main(a) || is_main(b)) => {
            let main_site = if is_main(a) { a } else { b };
            Some(format!(
                "join the other thread before {}, guard {object} with one lock, or make it atomic",
                main_site.location(),
            ))
        }
        _ => Some(format!("guard {object} with one lock on both sides, or make it atomic")),
    }
}

/// What both sides call it, when they agree; a field of a nameless structure has no better name.
fn what_races(race: &Race) -> &str {
    let [a, b] = &race.sites;
    if a.lvalue == b.lvalue && !a.lvalue.is_empty() { &a.lvalue } else { &race.object }
}

fn is_main(site: &Site) -> bool {
    site.thread == "main" || site.thread.starts_with("main ")
}

fn usual_lock(race: &Race) -> Option<(String, u64, u64)> {
    race.evidence.iter().find_map(|evidence| {
        let usual = evidence.detail.get("usual_lock")?;
        let name = usual.get("name")?.as_str()?.to_owned();
        Some((name, usual.get("held")?.as_u64()?, usual.get("of")?.as_u64()?))
    })
}

/// How to bring the race about again, when an engine left a schedule.
pub fn replay_command(race: &Race) -> Option<String> {
    race.schedule().map(|_| format!("racewarden replay {}", race.id))
}

/// Milliseconds since 1970 as `2026-01-31 12:00 UTC`.
pub fn utc(at: i64) -> String {
    let minutes = at.div_euclid(60_000);
    let (days, minute) = (minutes.div_euclid(1440), minutes.rem_euclid(1440));
    // The civil calendar from a day count: years are counted from March, so that the leap day is
    // the last day of a year, and in eras of 400 years, which all have the same length.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", minute / 60, minute % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn hints_follow_the_most_specific_knowledge() {
        let mut race = sample::report().races[0].clone();
        race.evidence.clear();
        let hint = fix_hint(&race).unwrap();
        assert_eq!(hint, "hold `bank_lock` at src/bank.c:41 too, as src/bank.c:58 does");
        race.sites[1].locks.clear();
        assert!(fix_hint(&race).unwrap().starts_with("join the other thread before src/bank.c:58"));
        race.sites[1].atomic = true;
        assert_eq!(fix_hint(&race).unwrap(), "make the write at src/bank.c:41 atomic too");
        let usual = serde_json::json!({"name": "l", "held": 7, "of": 9});
        race.evidence.push(Evidence::new(Engine::Check).with("usual_lock", usual));
        let hint = fix_hint(&race).unwrap();
        assert!(hint.starts_with("hold `l` at src/bank.c:41 and src/bank.c:58 too (7 of 9"));
        race.evidence.push(Evidence::new(Engine::Run).with("hint", "do that"));
        assert_eq!(fix_hint(&race).unwrap(), "do that");
    }

    #[test]
    fn hints_name_a_field_as_the_program_does() {
        let mut race = sample::report().races[0].clone();
        race.evidence.clear();
        race.object = "struct.ret".to_owned();
        for site in &mut race.sites {
            site.locks.clear();
            site.thread = "worker".to_owned();
            site.lvalue = "g.ret".to_owned();
        }
        assert!(fix_hint(&race).unwrap().starts_with("guard g.ret with one lock"));
        race.sites[0].lvalue = "state->ret".to_owned();
        assert!(fix_hint(&race).unwrap().starts_with("guard struct.ret with one lock"));
    }

    #[test]
    fn times_follow_the_calendar() {
        assert_eq!(utc(0), "1970-01-01 00:00 UTC");
        assert_eq!(utc(951_782_399_999), "2000-02-28 23:59 UTC");
        assert_eq!(utc(951_782_400_000), "2000-02-29 00:00 UTC");
        assert_eq!(utc(1_798_761_599_000), "2026-12-31 23:59 UTC");
        assert_eq!(utc(-60_000), "1969-12-31 23:59 UTC");
    }

    #[test]
    fn malformed_details_are_passed_over() {
        let mut race = sample::report().races[0].clone();
        let orders = serde_json::json!([{"first": 7, "outcome": 3}, "text"]);
        race.evidence = vec![
            Evidence::new(Engine::Confirm).with("orders", orders),
            Evidence::new(Engine::Check).with("usual_lock", 3).with("hint", 4),
        ];
        assert_eq!(forced_orders(&race).len(), 2);
        assert!(fix_hint(&race).is_some());
    }
}
