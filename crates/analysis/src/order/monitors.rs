//! Writers and counted readers under one lock: `while (writing || readers > 0) wait(&c, &m); writing = 1;`
//! beside `while (writing) wait(&c, &m); readers++;`.
//!
//! A word is taken by storing something else than its initial value, and given back by storing that
//! again. Who takes it has found it free since it got the lock, and who gives it back has it: so one
//! thread has it at most. A count starts at nothing, goes up and down by one, and nobody takes off more
//! than it has added: so while it is nothing, nobody is behind an addition of its own. When whoever takes
//! the word has found the count at nothing since it got the lock, and whoever adds to the count has found
//! the word free since it got the lock, nobody has the word while another is counted.
//!
//! All of it is done under one lock, wherever in the thread's functions; what was found is forgotten at
//! the first call that might release a lock. Unlike in [`super::guarded`] finding the word free need not
//! lead to taking it. Not seen: counts and words in several objects, the first reader's taking a lock for
//! all of them, counts that are compared after computations.

use racewarden_finding::AccessKind;
use racewarden_ir::{FunctionId, Op, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::events::{Event, LookKind, Word, Write, WriteKind};
use super::exclusive::{Step, balance, users};
use super::handoff::Tables;
use super::sections::lets_go;
use super::tally::step_of;
use super::timeline::{Branch, Node, NodeId, Timeline};
use super::values::{self, Content};
use super::{Facts, Stand};
use crate::cfg::Cfg;
use crate::contexts::GuardedAccess;
use crate::digests::Whole;
use crate::pointsto::CallSite;
use crate::threads::RootId;

type Nodes = FxHashMap<RootId, Vec<bool>>;

/// What a word under a lock keeps apart.
pub struct Monitor {
    /// Nodes of those who have the word.
    taken: Nodes,
    /// Nodes of those who are counted, for each count that is asked for by who takes the word.
    counted: Vec<Nodes>,
}

impl Monitor {
    pub fn excludes(&self, a: &Stand, b: &Stand) -> bool {
        let within = |nodes: &Nodes, stand: &Stand| {
            !stand.at_event
                && nodes
                    .get(&stand.root)
                    .is_some_and(|set| stand.nodes.iter().all(|node| set[*node as usize]))
        };
        let counted = |stand: &Stand| self.counted.iter().any(|nodes| within(nodes, stand));
        let (first, second) = (within(&self.taken, a), within(&self.taken, b));
        (first && (second || counted(b))) || (second && counted(a))
    }
}

pub fn find(whole: &Whole<'_>, facts: &Facts) -> Vec<Monitor> {
    let mut tables = Tables::default();
    let words = || (0u32..).zip(&facts.events.words);
    let mut counts = Vec::new();
    for (number, word) in words() {
        counts.extend(counted(whole, facts, number, word, &mut tables));
    }
    let mut found = Vec::new();
    for (number, word) in words() {
        let Some(own) = taken(whole, facts, number, word, &mut tables) else { continue };
        let guards = |count: &&Protocol<'_>| {
            all_find(&own.enters, &count.open)
                && all_find(&count.enters, &own.open)
                && is_locked(whole, facts, &[word, count.word])
        };
        let counted = counts.iter().filter(guards).map(|count| count.inside.clone()).collect();
        found.push(Monitor { taken: own.inside, counted });
    }
    found
}

/// How threads use a word.
struct Protocol<'a> {
    word: &'a Word,
    /// Where they take it, or are counted.
    enters: Vec<(RootId, NodeId)>,
    /// Where they have it, or are counted.
    inside: Nodes,
    /// Where they know that nobody has it, or is counted.
    open: Nodes,
}

/// Who has the word, if it serves as a lock.
fn taken<'a>(
    whole: &Whole<'_>,
    facts: &Facts,
    number: u32,
    word: &'a Word,
    tables: &mut Tables,
) -> Option<Protocol<'a>> {
    let initial = word.initial.filter(|initial| *initial != Content::Address)?;
    let is_plain = |write: &Write| write.kind == WriteKind::Store && write.value.is_some();
    let takes = taking(word);
    if takes.is_empty()
        || !word.waits.is_empty()
        || !word.writes.iter().all(is_plain)
        || !is_locked(whole, facts, &[word])
    {
        return None;
    }
    let others = word.writes.iter().filter_map(|write| write.value);
    let mut failures: Vec<Content> = others.filter(|value| *value != initial).collect();
    failures.sort_unstable();
    failures.dedup();
    let open = known(whole, facts, number, word, &Asked::Free(&failures), tables);
    let enters = places(facts, number, &takes);
    if !all_find(&enters, &open) {
        return None;
    }
    let step = |event: &Event, site: CallSite| {
        (*event == Event::Write(number))
            .then(|| if takes.contains(&site) { Step::Take } else { Step::Give })
    };
    Some(Protocol { word, enters, inside: balances(facts, number, step)?, open })
}

/// Who is counted, if the word is a count.
fn counted<'a>(
    whole: &Whole<'_>,
    facts: &Facts,
    number: u32,
    word: &'a Word,
    tables: &mut Tables,
) -> Option<Protocol<'a>> {
    let steps = || word.writes.iter().map(|write| step_of(whole, word, write));
    let by_one = |amount: i64| amount == 1 || amount == -1;
    if word.initial != Some(Content::Bits(0))
        || word.size < LEAST_SIZE
        || !word.waits.is_empty()
        || !steps().all(|step| step.is_some_and(|step| step.locked && by_one(step.amount)))
        || !is_locked(whole, facts, &[word])
    {
        return None;
    }
    let adds = adding(whole, word);
    let step = |event: &Event, site: CallSite| {
        (*event == Event::Write(number))
            .then(|| if adds.contains(&site) { Step::Take } else { Step::Give })
    };
    let inside = balances(facts, number, step)?;
    let open = known(whole, facts, number, word, &Asked::Nothing, tables);
    Some(Protocol { word, enters: places(facts, number, &adds), inside, open })
}

/// Of each thread that writes the word, the nodes where it has it.
fn balances(
    facts: &Facts,
    number: u32,
    step: impl Fn(&Event, CallSite) -> Option<Step>,
) -> Option<Nodes> {
    let mut nodes = Nodes::default();
    for root in users(facts, |event| *event == Event::Write(number))? {
        nodes.insert(root, balance(facts.timelines.get(&root)?, &step, |_, _| false)?);
    }
    Some(nodes)
}

fn taking(word: &Word) -> Vec<CallSite> {
    let takes = word.writes.iter().filter(|write| write.value != word.initial);
    takes.map(|write| write.site).collect()
}

fn adding(whole: &Whole<'_>, word: &Word) -> Vec<CallSite> {
    let adds = |write: &&Write| step_of(whole, word, write).is_some_and(|step| step.amount > 0);
    word.writes.iter().filter(adds).map(|write| write.site).collect()
}

/// Whether all that is done to the words is done under one lock.
fn is_locked(whole: &Whole<'_>, facts: &Facts, words: &[&Word]) -> bool {
    let at = |site: CallSite| -> Vec<&GuardedAccess> {
        let numbers = facts.accesses.get(&site).into_iter().flatten();
        numbers.map(|number| &whole.instantiation.accesses[*number as usize]).collect()
    };
    let of = |word: &&Word| {
        let looks = word.looks.iter().map(|look| look.site);
        looks.chain(word.writes.iter().map(|write| write.site)).collect::<Vec<_>>()
    };
    let sites: Vec<Vec<&GuardedAccess>> = words.iter().flat_map(of).map(at).collect();
    if sites.iter().any(Vec::is_empty) {
        return false;
    }
    let accesses: Vec<&GuardedAccess> = sites.into_iter().flatten().collect();
    let apart = |a: &GuardedAccess, b: &GuardedAccess| {
        let one = a.root == b.root && !whole.instantiation.threads.roots[a.root as usize].many;
        one || whole.share_named_lock(a, b)
    };
    accesses.len() <= MAX_ACCESSES
        && accesses.iter().all(|a| {
            let writes = a.kind == AccessKind::Write;
            let others = accesses.iter().filter(|b| writes || b.kind == AccessKind::Write);
            others.into_iter().all(|b| apart(a, b))
        })
}

/// Bytes of a count that is taken not to come round.
const LEAST_SIZE: u64 = 4;

/// Accesses to words before they count as too many to compare.
const MAX_ACCESSES: usize = 128;

/// What is asked of a word.
enum Asked<'a> {
    /// That it is none of these.
    Free(&'a [Content]),
    /// That it is a count of nothing.
    Nothing,
}

/// Numbers up to this are tried as counts, and those next to what a count is compared with.
const MOST_TRIED: u64 = 16;

/// Of each thread that looks at the word, the nodes which it comes to knowing what is asked, by a branch
/// on what it has found since it got its locks.
fn known(
    whole: &Whole<'_>,
    facts: &Facts,
    number: u32,
    word: &Word,
    asked: &Asked<'_>,
    tables: &mut Tables,
) -> Nodes {
    let mut telling = Telling::default();
    for look in word.looks.iter().filter(|look| look.kind == LookKind::Value) {
        let source = (look.site.0, look.result);
        let failures = match asked {
            Asked::Free(failures) => failures.to_vec(),
            Asked::Nothing => positive(whole, word, look.site),
        };
        let found = tables.refused(whole, source, &failures);
        let found = found.into_iter().map(|(_, branch)| branch).collect();
        telling.branches.insert(look.site, found);
        telling.joints.entry(source.0).or_insert_with(|| joints(whole, source.0));
        let cfg = tables.cfg(whole, source.0);
        for joint in &telling.joints[&source.0] {
            let refuses = |value: &Value| refuses(whole, &cfg, (source, &failures), value, joint);
            for (from, value) in &joint.ways {
                let refused =
                    refuses(value).map(|to| (look.site, *from, Branch { block: joint.block, to }));
                telling.through.extend(refused);
            }
        }
    }
    let mut nodes = Nodes::default();
    for (root, timeline) in &facts.timelines {
        if telling.branches.keys().any(|site| timeline.has(site.0)) {
            nodes.insert(*root, knowing(whole, facts, timeline, number, &telling));
        }
    }
    nodes
}

/// Branches by which looks at a word tell what was asked.
#[derive(Default)]
struct Telling {
    branches: FxHashMap<CallSite, Vec<Branch>>,
    /// The same for those at the end of a joint, when control comes from the block.
    through: FxHashSet<(CallSite, u32, Branch)>,
    joints: FxHashMap<FunctionId, Vec<Joint>>,
}

/// A block that only branches on what its ways in have decided (`a || b` as the condition of a loop).
struct Joint {
    block: u32,
    /// By the block that control comes from, the condition.
    ways: Vec<(u32, Value)>,
    then: u32,
    otherwise: u32,
}

impl Joint {
    fn target(&self, bits: u64) -> u32 {
        if bits & 1 == 1 { self.then } else { self.otherwise }
    }
}

fn joints(whole: &Whole<'_>, function: FunctionId) -> Vec<Joint> {
    let body = whole.instantiation.bodies.of(function);
    let mut found = Vec::new();
    for (block, range) in (0u32..).zip(&body.blocks) {
        let instructions = &body.instructions[range.start.index()..range.end.index()];
        let Some((last, phis)) = instructions.split_last() else { continue };
        let Op::Branch { condition: Value::Inst(condition), then, otherwise } = &last.op else {
            continue;
        };
        let only_phis = phis.iter().all(|own| matches!(own.op, Op::Phi { .. } | Op::Nop));
        let is_own = range.start.0 <= condition.0 && condition.0 < range.end.0;
        let Op::Phi { incoming } = &body.inst(*condition).op else { continue };
        if only_phis && is_own && then != otherwise {
            let ways = incoming.iter().map(|edge| (edge.block.0, edge.value.clone())).collect();
            found.push(Joint { block, ways, then: then.0, otherwise: otherwise.0 });
        }
    }
    found
}

/// Where the joint does not lead when the look has found one of the failures.
fn refuses(
    whole: &Whole<'_>,
    cfg: &Cfg,
    (source, failures): (CallSite, &[Content]),
    value: &Value,
    joint: &Joint,
) -> Option<u32> {
    let Value::Inst(condition) = value else { return None };
    let bodies = &whole.instantiation.bodies;
    let body = bodies.of(source.0);
    let mut targets = failures.iter().map(|failure| {
        let from = (source.1, *failure);
        match values::result(body, cfg, bodies.types(), from, condition.0)? {
            Content::Bits(bits) => Some(joint.target(bits)),
            Content::Address => None,
        }
    });
    let first = targets.next()??;
    let other = if first == joint.then { joint.otherwise } else { joint.then };
    targets.all(|target| target == Some(first)).then_some(other)
}

/// Counts of which each branch of the function may think differently.
fn positive(whole: &Whole<'_>, word: &Word, site: CallSite) -> Vec<Content> {
    let most = (1u64 << (8 * word.size.min(8) - 1)) - 1;
    let mut tried: Vec<u64> = (1..=MOST_TRIED).chain([most]).collect();
    let body = whole.instantiation.bodies.of(site.0);
    for instruction in &body.instructions {
        let near = |value: &Value| match value {
            Value::Int { bits, .. } => [bits.wrapping_sub(1), *bits, bits.wrapping_add(1)],
            _ => [0; 3],
        };
        match &instruction.op {
            Op::Compare { left, right, .. } => tried.extend([near(left), near(right)].concat()),
            Op::Switch { cases, .. } => {
                tried.extend(cases.iter().flat_map(|case| near(&case.value)))
            }
            _ => {}
        }
    }
    tried.retain(|value| (1..=most).contains(value));
    tried.sort_unstable();
    tried.dedup();
    tried.into_iter().map(Content::Bits).collect()
}

/// What a thread has found of a word, under the locks that it still holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finding {
    Unknown,
    /// It has looked there, and not decided yet.
    Looked(CallSite),
    Known,
}

fn knowing(
    whole: &Whole<'_>,
    facts: &Facts,
    timeline: &Timeline,
    number: u32,
    telling: &Telling,
) -> Vec<bool> {
    let mut before: Vec<Option<Finding>> = vec![None; timeline.nodes.len()];
    before[0] = Some(Finding::Unknown);
    let mut work: Vec<NodeId> = vec![0];
    while let Some(id) = work.pop() {
        let node = &timeline.nodes[id as usize];
        let site = (node.function, node.start);
        let after = match &node.event {
            _ if lets_go(whole, facts, timeline, id as usize) => Finding::Unknown,
            Some(Event::Write(own)) if *own == number => Finding::Unknown,
            // What is known stays so as long as nobody else can write.
            Some(Event::Read(own)) if *own == number => match before[id as usize] {
                Some(Finding::Known) => Finding::Known,
                _ => Finding::Looked(site),
            },
            _ => before[id as usize].unwrap_or(Finding::Unknown),
        };
        for (to, new) in telling.ways(timeline, node, after) {
            let joined = match before[to as usize] {
                None => new,
                Some(old) if old == new => old,
                Some(_) => Finding::Unknown,
            };
            if before[to as usize] != Some(joined) {
                before[to as usize] = Some(joined);
                work.push(to);
            }
        }
    }
    before.into_iter().map(|finding| finding == Some(Finding::Known)).collect()
}

impl Telling {
    /// Where control goes from the node, and what is known there; through joints at once.
    fn ways(&self, timeline: &Timeline, node: &Node, after: Finding) -> Vec<(NodeId, Finding)> {
        let tells = |site: CallSite, branch: Branch| {
            site.0 == node.function
                && self.branches.get(&site).is_some_and(|all| all.contains(&branch))
        };
        let mut found = Vec::new();
        for &(to, branch) in &node.next {
            let Some(branch) = branch else {
                found.push((to, after));
                continue;
            };
            let here = match after {
                Finding::Looked(site) if tells(site, branch) => Finding::Known,
                after => after,
            };
            let joints = self.joints.get(&node.function).into_iter().flatten();
            let joint = joints.into_iter().find(|joint| joint.block == branch.to);
            let way = joint.and_then(|joint| {
                let mut ways = joint.ways.iter().filter(|(from, _)| *from == branch.block);
                let way = ways.next().map(|(_, value)| (joint, value));
                way.filter(|_| ways.next().is_none())
            });
            let Some((joint, value)) = way else {
                found.push((to, here));
                continue;
            };
            for &(next, out) in &timeline.nodes[to as usize].next {
                let Some(out) = out else {
                    found.push((next, here));
                    continue;
                };
                if matches!(value, Value::Int { bits, .. } if joint.target(*bits) != out.to) {
                    continue;
                }
                let told = |site: CallSite| {
                    tells(site, out) || self.through.contains(&(site, branch.block, out))
                };
                found.push(match here {
                    Finding::Looked(site) if told(site) => (next, Finding::Known),
                    here => (next, here),
                });
            }
        }
        found
    }
}

/// Where threads come to one of these writes of the word.
fn places(facts: &Facts, number: u32, sites: &[CallSite]) -> Vec<(RootId, NodeId)> {
    let of = |(root, timeline): (&RootId, &Timeline)| {
        let here = |(id, event): &(NodeId, &Event)| {
            let node = &timeline.nodes[*id as usize];
            **event == Event::Write(number)
                && sites.contains(&(node.function, node.start))
                && timeline.live[*id as usize]
        };
        timeline.events().filter(here).map(|(id, _)| (*root, id)).collect::<Vec<_>>()
    };
    facts.timelines.iter().flat_map(of).collect()
}

/// Whether every thread that comes there knows what was asked.
fn all_find(places: &[(RootId, NodeId)], known: &Nodes) -> bool {
    places.iter().all(|(root, id)| known.get(root).is_some_and(|nodes| nodes[*id as usize]))
}
