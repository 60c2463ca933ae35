//! The threads of a state: a map from create calls to what is known of their threads, whose copies
//! share what they have in common.
//!
//! Functions that each start a thread and go on to the next have as many lists of threads as there are
//! functions, each longer by one than the one before. As trees with shared branches a thousand such
//! lists take the memory of a few.
//!
//! A tree's shape follows from its keys alone (a treap whose priorities are digests of the keys), so
//! equal maps have equal shapes and are compared branch by branch, without a look into branches that
//! are one in memory. Each branch knows of what kind the threads below it are ([`Parts`]): a search for
//! handles passes by a branch without any.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::pointsto::CallSite;
use crate::shared::Placed;
use crate::state::{CreateId, Live, MAX_CHAIN};
use crate::sym::Sym;
use crate::threads::{Gathered, RootSet};

/// What is found somewhere in a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts(u8);

impl Parts {
    /// The place of a handle is known.
    pub const HANDLE: Parts = Parts(1);
    pub const VALUE: Parts = Parts(2);
    pub const RANGE: Parts = Parts(4);
    pub const ARGUMENT: Parts = Parts(8);
    /// Something is named by what only the function itself, or one context, knows.
    pub const NAMED: Parts = Parts(16);
    /// The calls that lead there are not all known yet.
    pub const OPEN_CHAIN: Parts = Parts(32);
    pub const ENDED: Parts = Parts(64);
    /// Everything, whatever is known of it.
    pub const ANY: Parts = Parts(128);

    pub const fn and(self, other: Parts) -> Parts {
        Parts(self.0 | other.0)
    }

    const fn meets(self, other: Parts) -> bool {
        self.0 & other.0 != 0
    }

    fn of(id: &CreateId, live: &Live) -> Parts {
        let Live { handle, value, argument, range, ended, .. } = live;
        let own = |sym: &Sym| !sym.is_constant_address();
        let in_range = range.as_ref().is_some_and(|range| own(&range.first) || own(&range.end));
        let named = in_range || [handle, value, argument].into_iter().flatten().any(own);
        let open = !id.any_chain && id.chain.len() < MAX_CHAIN;
        let flags = [
            (handle.is_some(), Parts::HANDLE),
            (value.is_some(), Parts::VALUE),
            (range.is_some(), Parts::RANGE),
            (argument.is_some(), Parts::ARGUMENT),
            (named, Parts::NAMED),
            (open, Parts::OPEN_CHAIN),
            (*ended, Parts::ENDED),
        ];
        let found = flags.into_iter().filter(|(is, _)| *is).map(|(_, part)| part);
        found.fold(Parts::ANY, Parts::and)
    }
}

struct Entry {
    id: CreateId,
    live: Live,
    priority: u64,
    digest: u64,
    parts: Parts,
}

impl Entry {
    fn new(id: CreateId, live: Live) -> Arc<Self> {
        // Digests of small numbers by this hasher resemble each other; the product's upper half
        // depends on all of them.
        let mixed = u128::from(FxBuildHasher.hash_one(&id)) * 0x9e37_79b9_7f4a_7c15;
        let priority = (mixed >> 64) as u64 ^ mixed as u64;
        let digest = FxBuildHasher.hash_one((priority, &live));
        let parts = Parts::of(&id, &live);
        Arc::new(Entry { id, live, priority, digest, parts })
    }

    fn is(&self, other: &Entry) -> bool {
        self.digest == other.digest && self.id == other.id && self.live == other.live
    }

    /// Whether it is above the other in trees that have both.
    fn is_above(&self, other: &Entry) -> bool {
        (self.priority, &self.id) > (other.priority, &other.id)
    }
}

struct Node {
    entry: Arc<Entry>,
    left: Link,
    right: Link,
    size: u32,
    digest: u64,
    parts: Parts,
}

type Link = Option<Arc<Node>>;

fn is_one(a: &Link, b: &Link) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        (None, None) => true,
        _ => false,
    }
}

fn node(entry: Arc<Entry>, left: Link, right: Link) -> Link {
    let below = || [&left, &right].into_iter().flatten();
    let size = 1 + below().map(|node| node.size).sum::<u32>();
    let parts = below().fold(entry.parts, |parts, node| parts.and(node.parts));
    let digest = |link: &Link| link.as_ref().map_or(0, |node| node.digest);
    let digest = FxBuildHasher.hash_one((digest(&left), entry.digest, digest(&right)));
    Some(Arc::new(Node { entry, left, right, size, digest, parts }))
}

/// The node with other branches, itself when they are its own.
fn with_branches(node_: &Arc<Node>, left: Link, right: Link) -> Link {
    match is_one(&node_.left, &left) && is_one(&node_.right, &right) {
        true => Some(node_.clone()),
        false => node(node_.entry.clone(), left, right),
    }
}

/// What is before and behind the key, and what is at it.
fn split(link: &Link, id: &CreateId) -> (Link, Option<Arc<Entry>>, Link) {
    let Some(top) = link else { return (None, None, None) };
    match id.cmp(&top.entry.id) {
        Ordering::Equal => (top.left.clone(), Some(top.entry.clone()), top.right.clone()),
        Ordering::Less => {
            let (before, at, behind) = split(&top.left, id);
            (before, at, with_branches(top, behind, top.right.clone()))
        }
        Ordering::Greater => {
            let (before, at, behind) = split(&top.right, id);
            (with_branches(top, top.left.clone(), before), at, behind)
        }
    }
}

/// Both, all of the first being before all of the second.
fn concatenated(first: &Link, second: &Link) -> Link {
    match (first, second) {
        (None, other) | (other, None) => other.clone(),
        (Some(a), Some(b)) => match a.entry.is_above(&b.entry) {
            true => with_branches(a, a.left.clone(), concatenated(&a.right, second)),
            false => with_branches(b, concatenated(first, &b.left), b.right.clone()),
        },
    }
}

/// How two trees become one.
struct Union<F> {
    /// What becomes of a key that both have; `None` leaves the first one's.
    both: F,
    /// Nothing becomes of keys of which both know the same.
    idempotent: bool,
}

impl<F: Fn(&Live, &Live) -> Option<Live>> Union<F> {
    fn of(&self, a: &Link, b: &Link) -> Link {
        let (Some(top), Some(other)) = (a, b) else {
            return if a.is_none() { b.clone() } else { a.clone() };
        };
        if self.idempotent && Arc::ptr_eq(top, other) {
            return a.clone();
        }
        if top.entry.id != other.entry.id && other.entry.is_above(&top.entry) {
            let (before, _, behind) = split(a, &other.entry.id);
            let (left, right) = (self.of(&before, &other.left), self.of(&behind, &other.right));
            return with_branches(other, left, right);
        }
        let (before, twin, behind) = split(b, &top.entry.id);
        let (left, right) = (self.of(&top.left, &before), self.of(&top.right, &behind));
        let changed = twin.and_then(|twin| {
            if self.idempotent && Arc::ptr_eq(&twin, &top.entry) {
                return None;
            }
            (self.both)(&top.entry.live, &twin.live)
        });
        match changed.filter(|live| *live != top.entry.live) {
            Some(live) => node(Entry::new(top.entry.id.clone(), live), left, right),
            None => with_branches(top, left, right),
        }
    }
}

fn same(a: &Link, b: &Link) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => {
            Arc::ptr_eq(a, b)
                || (a.digest == b.digest
                    && a.size == b.size
                    && (Arc::ptr_eq(&a.entry, &b.entry) || a.entry.is(&b.entry))
                    && same(&a.left, &b.left)
                    && same(&a.right, &b.right))
        }
        (None, None) => true,
        _ => false,
    }
}

fn revised(
    link: &Link,
    parts: Parts,
    revise: &mut impl FnMut(&CreateId, &Live) -> Option<Live>,
) -> Link {
    let top = link.as_ref().filter(|top| top.parts.meets(parts));
    let Some(top) = top else { return link.clone() };
    let left = revised(&top.left, parts, revise);
    let entry = &top.entry;
    let own = if entry.parts.meets(parts) { revise(&entry.id, &entry.live) } else { None };
    let right = revised(&top.right, parts, revise);
    match own.filter(|live| *live != entry.live) {
        Some(live) => node(Entry::new(entry.id.clone(), live), left, right),
        None => with_branches(top, left, right),
    }
}

/// Leaves out what has any of the parts, and puts it into `taken`, in order.
fn without(link: &Link, parts: Parts, taken: &mut Vec<Arc<Entry>>) -> Link {
    let top = link.as_ref().filter(|top| top.parts.meets(parts));
    let Some(top) = top else { return link.clone() };
    let left = without(&top.left, parts, taken);
    let is_out = top.entry.parts.meets(parts);
    if is_out {
        taken.push(top.entry.clone());
    }
    let right = without(&top.right, parts, taken);
    if is_out { concatenated(&left, &right) } else { with_branches(top, left, right) }
}

/// A map from create calls to what is known of their threads.
#[derive(Clone, Default)]
pub struct Lives(Link);

impl Lives {
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |top| top.size as usize)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether both are one in memory, or both empty: then they are equal.
    pub fn is_same(&self, other: &Self) -> bool {
        is_one(&self.0, &other.0)
    }

    /// Takes `other`'s allocation where both are equal, so that later comparisons are quick.
    pub fn unify(&mut self, other: &Self) {
        if !self.is_same(other) && self == other {
            self.0.clone_from(&other.0);
        }
    }

    pub fn get(&self, id: &CreateId) -> Option<&Live> {
        let mut link = &self.0;
        while let Some(top) = link {
            link = match id.cmp(&top.entry.id) {
                Ordering::Equal => return Some(&top.entry.live),
                Ordering::Less => &top.left,
                Ordering::Greater => &top.right,
            };
        }
        None
    }

    pub fn insert(&mut self, id: CreateId, live: Live) {
        self.insert_or(id, live, |_, new| Some(new.clone()));
    }

    /// `known` says what becomes of what is there already, given what is there and the new one.
    pub fn insert_or(
        &mut self,
        id: CreateId,
        live: Live,
        known: impl Fn(&Live, &Live) -> Option<Live>,
    ) {
        let new = node(Entry::new(id, live), None, None);
        self.0 = Union { both: known, idempotent: false }.of(&self.0, &new);
    }

    /// Everything in ascending order.
    pub fn iter(&self) -> Iter<'_> {
        self.iter_with(Parts::ANY)
    }

    /// All that have one of the parts, ascending.
    pub fn iter_with(&self, parts: Parts) -> Iter<'_> {
        let mut iter = Iter { above: Vec::new(), parts };
        iter.descend(&self.0);
        iter
    }

    pub fn values(&self) -> impl Iterator<Item = &Live> {
        self.iter().map(|(_, live)| live)
    }

    /// Those of one create call, by whatever calls it was led to.
    pub fn of_site(&self, site: CallSite) -> impl Iterator<Item = (&CreateId, &Live)> {
        let mut iter = Iter { above: Vec::new(), parts: Parts::ANY };
        let mut link = self.0.as_ref();
        while let Some(top) = link {
            link = match top.entry.id.site < site {
                true => top.right.as_ref(),
                false => {
                    iter.above.push(top);
                    top.left.as_ref()
                }
            };
        }
        iter.take_while(move |(id, _)| id.site == site)
    }

    /// What `add` makes of all of them. What it makes of a branch is kept in `known` by its place in
    /// memory, for lists that have it in common.
    pub fn gather(
        &self,
        known: &mut Gathered,
        add: &impl Fn(&mut RootSet, &CreateId, &Live),
    ) -> RootSet {
        fn below(
            link: &Link,
            known: &mut Gathered,
            add: &impl Fn(&mut RootSet, &CreateId, &Live),
        ) -> RootSet {
            let Some(top) = link else { return RootSet::default() };
            let place = Arc::as_ptr(top).addr();
            if let Some(found) = known.get(&place) {
                return found.clone();
            }
            let mut found = below(&top.left, known, add);
            found.unite(&below(&top.right, known, add));
            add(&mut found, &top.entry.id, &top.entry.live);
            known.insert(place, found.clone());
            found
        }
        below(&self.0, known, add)
    }

    /// Puts what `revise` says in the place of those that have one of the parts; `None` leaves one
    /// as it is.
    pub fn revise(
        &mut self,
        parts: Parts,
        mut revise: impl FnMut(&CreateId, &Live) -> Option<Live>,
    ) {
        self.0 = revised(&self.0, parts, &mut revise);
    }

    /// Adds the other's. `both` says what becomes of those that are in both, `None` leaving the own;
    /// of two equal ones nothing becomes.
    pub fn unite(&mut self, other: &Lives, both: impl Fn(&Live, &Live) -> Option<Live>) {
        self.0 = Union { both, idempotent: true }.of(&self.0, &other.0);
    }

    /// Adds the other's after `rename` has put those that have one of the parts into other words.
    /// `again` says what becomes of those that are in both.
    pub fn add(
        &mut self,
        other: &Lives,
        parts: Parts,
        rename: impl Fn(&CreateId, &Live) -> (CreateId, Live),
        again: impl Fn(&Live, &Live) -> Option<Live>,
    ) {
        let mut renamed = Vec::new();
        let rest = without(&other.0, parts, &mut renamed);
        let union = Union { both: again, idempotent: false };
        self.0 = union.of(&self.0, &rest);
        for entry in renamed {
            let (id, live) = rename(&entry.id, &entry.live);
            let new = node(Entry::new(id, live), None, None);
            self.0 = union.of(&self.0, &new);
        }
    }
}

impl Placed for Lives {
    fn address(&self) -> usize {
        self.0.as_ref().map_or(0, |top| Arc::as_ptr(top).addr())
    }
}

impl PartialEq for Lives {
    fn eq(&self, other: &Self) -> bool {
        same(&self.0, &other.0)
    }
}

impl Eq for Lives {}

impl Hash for Lives {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.as_ref().map_or(0, |top| top.digest).hash(state);
    }
}

impl Serialize for Lives {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Some formats have to know the length beforehand.
        self.iter().collect::<Vec<_>>().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Lives {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let list = Vec::<(CreateId, Live)>::deserialize(deserializer)?;
        Ok(list.into_iter().collect())
    }
}

impl fmt::Debug for Lives {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl FromIterator<(CreateId, Live)> for Lives {
    fn from_iter<I: IntoIterator<Item = (CreateId, Live)>>(entries: I) -> Self {
        let mut lives = Lives::default();
        entries.into_iter().for_each(|(id, live)| lives.insert(id, live));
        lives
    }
}

impl<'a> IntoIterator for &'a Lives {
    type Item = (&'a CreateId, &'a Live);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

pub struct Iter<'a> {
    /// Nodes whose left branches are done, the next one last.
    above: Vec<&'a Arc<Node>>,
    parts: Parts,
}

impl<'a> Iter<'a> {
    fn descend(&mut self, link: &'a Link) {
        let mut link = link;
        while let Some(top) = link.as_ref().filter(|top| top.parts.meets(self.parts)) {
            self.above.push(top);
            link = &top.left;
        }
    }
}

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a CreateId, &'a Live);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let top = self.above.pop()?;
            self.descend(&top.right);
            if top.entry.parts.meets(self.parts) {
                return Some((&top.entry.id, &top.entry.live));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use racewarden_ir::FunctionId;

    use super::*;

    fn id(number: u32) -> CreateId {
        CreateId::new((FunctionId(number / 3), number % 3))
    }

    fn live(number: u32) -> Live {
        let handle = number.is_multiple_of(2).then(|| Sym::inst(0, number));
        Live { handle, many: number.is_multiple_of(5), ..Live::default() }
    }

    /// Numbers that look as if they were drawn.
    fn drawn(seed: u32, count: u32) -> impl Iterator<Item = u32> {
        (0..count).map(move |n| (n + seed).wrapping_mul(2_654_435_761) >> 20 & 0xff)
    }

    fn lives(numbers: impl Iterator<Item = u32>) -> Lives {
        numbers.map(|number| (id(number), live(number))).collect()
    }

    fn size_in_nodes(link: &Link, seen: &mut std::collections::BTreeSet<usize>) -> usize {
        match link {
            Some(top) if seen.insert(Arc::as_ptr(top).addr()) => {
                1 + size_in_nodes(&top.left, seen) + size_in_nodes(&top.right, seen)
            }
            _ => 0,
        }
    }

    #[test]
    fn it_holds_what_an_ordered_map_does() {
        for seed in 0..20 {
            let own = lives(drawn(seed, 100));
            let map: BTreeMap<CreateId, Live> =
                drawn(seed, 100).map(|number| (id(number), live(number))).collect();
            assert!(own.iter().eq(&map));
            assert_eq!(own.len(), map.len());
            assert!((0..256).all(|number| own.get(&id(number)) == map.get(&id(number))));
            let with_handle = map.iter().filter(|(_, live)| live.handle.is_some());
            assert!(own.iter_with(Parts::HANDLE).eq(with_handle));
            for number in 0..90 {
                let site = id(3 * number).site;
                assert!(own.of_site(site).eq(map.iter().filter(|(id, _)| id.site == site)));
            }
        }
    }

    #[test]
    fn its_shape_does_not_depend_on_how_it_was_made() {
        let numbers: Vec<u32> = drawn(7, 200).collect();
        let (forth, back) = (lives(numbers.iter().copied()), lives(numbers.iter().rev().copied()));
        assert!(forth == back && !forth.is_same(&back));
        let (mut first, second) = (lives(drawn(3, 50)), lives(drawn(60, 70)));
        first.unite(&second, |_, other| Some(other.clone()));
        let all = lives(drawn(3, 50).chain(drawn(60, 70)));
        assert!(first == all);
        assert_eq!(FxBuildHasher.hash_one(&first), FxBuildHasher.hash_one(&all));
        assert!(first != forth);
    }

    #[test]
    fn what_does_not_change_stays_one_in_memory() {
        let mut own = lives(drawn(1, 200));
        let before = own.clone();
        own.revise(Parts::ANY, |_, live| Some(live.clone()));
        own.unite(&before, |_, _| None);
        own.unite(&lives(drawn(1, 100)), |_, other| Some(other.clone()));
        assert!(own.is_same(&before));
        own.revise(Parts::HANDLE, |_, live| Some(Live { handle: None, ..live.clone() }));
        assert!(own.values().all(|live| live.handle.is_none()));
        assert!(before.values().any(|live| live.handle.is_some()));
    }

    #[test]
    fn others_are_renamed_and_counted_again() {
        let mut own = lives(0..10);
        let rename = |id: &CreateId, live: &Live| {
            (id.called_from(&[(FunctionId(9), 9)]), Live { handle: None, ..live.clone() })
        };
        let again = |own: &Live, _: &Live| Some(Live { many: true, ..own.clone() });
        let others = lives(5..20);
        own.add(&others, Parts::OPEN_CHAIN, rename, again);
        assert_eq!(own.len(), 25);
        own.add(&others, Parts::OPEN_CHAIN, rename, again);
        assert_eq!(own.len(), 25);
        let renamed = own.iter().filter(|(id, _)| id.chain.len() == 1);
        assert_eq!(renamed.filter(|(_, live)| live.many && live.handle.is_none()).count(), 15);
    }

    #[test]
    fn a_thousand_lists_each_longer_by_one_take_little() {
        let mut lists = vec![Lives::default()];
        for number in 0..1000 {
            let mut next = Lives::default();
            next.insert(id(number), live(number));
            let last = lists.last().expect("the first");
            next.add(last, Parts::RANGE, |id, live| (id.clone(), live.clone()), |_, _| None);
            lists.push(next);
        }
        let mut seen = std::collections::BTreeSet::new();
        let nodes: usize = lists.iter().map(|lives| size_in_nodes(&lives.0, &mut seen)).sum();
        assert_eq!(lists[1000].len(), 1000);
        assert!(nodes < 60_000, "{nodes} nodes of 500,000 entries");
    }
}
