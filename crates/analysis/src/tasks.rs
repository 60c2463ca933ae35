//! OpenMP tasks and the team that makes them.
//!
//! A task runs at some time between where it is made and the next barrier of its team: all tasks have
//! ended when anyone leaves a barrier (OpenMP 5.2, 15.3). So it stands on its team's timeline where the
//! member stood that made it, or that made the task which made it. And where one member alone makes
//! tasks (in a `single`, `master` or `section`), what it does itself and the tasks that it makes are
//! ordered by its own waiting for them ([`crate::flow`]): the other members do not count.
//!
//! Holds within one team only, as in [`crate::team`]. May leave as candidates what dependences order,
//! and tasks made by tasks that wait for them.

use crate::contexts::GuardedAccess;
use crate::digests::{Digest, Whole};
use crate::order::team_waits_between;
use crate::pointsto::CallSite;
use crate::team::same_member;
use crate::threads::RootId;

pub struct TeamTasks;

impl Digest for TeamTasks {
    fn name(&self) -> &'static str {
        "team"
    }

    fn excludes(&self, a: &GuardedAccess, b: &GuardedAccess, whole: &Whole<'_>) -> Option<String> {
        if a.root == b.root && whole.root(a.root).team {
            return None;
        }
        let ends_there = tasks_made_at(a, whole).zip(tasks_made_at(b, whole)).is_some_and(
            |((team, first), (other, second))| {
                team == other
                    && whole.is_flat_team(team)
                    && all(&first, &second, |x, y| {
                        team_waits_between(&at(a, team, x), &at(b, team, y), whole)
                    })
            },
        );
        if ends_there {
            return Some("the task ends at a barrier between the two accesses".to_owned());
        }
        if a.root == b.root && is_one_task(a.root, whole) {
            return Some("one task makes both accesses".to_owned());
        }
        let (team, first) = made_by_member(a, whole)?;
        let (other, second) = made_by_member(b, whole)?;
        let threads = &whole.instantiation.threads;
        let waited = team == other
            && whole.is_flat_team(team)
            && threads.apart_in_family(team, (a.root, &a.state), (b.root, &b.state))
            && same_member((team, first), (team, second), whole);
        waited.then(|| "the member that makes the tasks has waited for them".to_owned())
    }
}

/// Whether there is never more than one such task: one member alone makes it, or one task.
fn is_one_task(root: RootId, whole: &Whole<'_>) -> bool {
    let roots = whole.instantiation.threads.roots.len();
    let mut task = root;
    // A task that makes its own kind would go round for ever.
    for _ in 0..roots {
        let data = whole.root(task);
        let (Some(create), Some(((parent, _), others))) = (&data.create, data.births.split_first())
        else {
            return false;
        };
        if !data.task || data.many_of_one || others.iter().any(|(other, _)| other != parent) {
            return false;
        }
        if whole.root(*parent).team {
            return whole.is_flat_team(*parent)
                && same_member((*parent, create.site), (*parent, create.site), whole);
        }
        task = *parent;
    }
    false
}

fn all(
    first: &[CallSite],
    second: &[CallSite],
    holds: impl Fn(CallSite, CallSite) -> bool,
) -> bool {
    first.iter().all(|x| second.iter().all(|y| holds(*x, *y)))
}

/// The team whose member makes the access, or has started who does, and where.
fn made_by_member(access: &GuardedAccess, whole: &Whole<'_>) -> Option<(RootId, CallSite)> {
    let data = whole.root(access.root);
    if data.team {
        return Some((access.root, (access.function, access.inst)));
    }
    let ((team, _), others) = data.births.split_first()?;
    let alone = whole.root(*team).team && others.iter().all(|(parent, _)| parent == team);
    alone.then_some((*team, data.create.as_ref()?.site))
}

/// The team, and where its members make the access, or the tasks that lead to it.
fn tasks_made_at(access: &GuardedAccess, whole: &Whole<'_>) -> Option<(RootId, Vec<CallSite>)> {
    if !whole.root(access.root).task {
        let team = whole.root(access.root).team;
        return team.then(|| (access.root, vec![(access.function, access.inst)]));
    }
    let mut team = None;
    let mut sites = Vec::new();
    let mut seen = vec![access.root];
    let mut next = 0;
    while let Some(&task) = seen.get(next) {
        next += 1;
        let data = whole.root(task);
        let site = data.create.as_ref()?.site;
        for (parent, _) in &data.births {
            if whole.root(*parent).task {
                if !seen.contains(parent) {
                    seen.push(*parent);
                }
                continue;
            }
            if !whole.root(*parent).team || team.is_some_and(|team| team != *parent) {
                return None;
            }
            team = Some(*parent);
            if !sites.contains(&site) {
                sites.push(site);
            }
        }
    }
    Some((team?, sites))
}

/// The access, as if a member of the team made it there.
fn at(access: &GuardedAccess, team: RootId, (function, inst): CallSite) -> GuardedAccess {
    GuardedAccess { root: team, function, inst, ..access.clone() }
}
