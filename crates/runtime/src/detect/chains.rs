//! Chains of calls, and numbers for the places in the code where they end: sites.
//!
//! A chain is a call after another chain. Each has as many sites in a row as the function that it enters
//! has places that access memory, so that an access names its site by one addition: no table is asked, however
//! many chains and places there are. An access elsewhere, in code that does not number its places, is a
//! chain of its own, with one site.
//!
//! A chain keeps every older access's full stack for the price of one number in a cell: nothing is
//! replayed, so nothing is lost when a thread runs on.

use std::arch::global_asm;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::joined;
use crate::common::real::raw_mmap;

/// What the instrumentation tells of a function: how many of its places access memory. As many bytes follow,
/// whose addresses stand for those places.
#[repr(C)]
struct Function {
    places: u64,
}

/// In the name of a function: there is a [`Function`] at the address.
const DESCRIBED: u32 = 1;
/// Set in the address of a place's byte by the entry points, so that it is no address in the code.
pub const PLACE: usize = 1 << 63;

/// Where a place's code is, both told by how far they are from here. The instrumentation writes one into a
/// section of the program for each place. Only reports look there.
#[repr(C)]
struct Told {
    place: i32,
    code: i32,
}

// Weak: a program that has no such code has no such section, and then these are 0.
global_asm!(
    ".weak __start_racewarden_code",
    ".weak __stop_racewarden_code",
    ".section .data.rel.ro.__racewarden_told,\"aw\",@progbits",
    ".globl __racewarden_told",
    ".hidden __racewarden_told",
    ".p2align 3",
    "__racewarden_told:",
    ".quad __start_racewarden_code, __stop_racewarden_code",
    ".text",
);

/// The section's ends.
fn told() -> (usize, usize) {
    unsafe extern "C" {
        static __racewarden_told: [usize; 2];
    }
    // SAFETY: defined above, and never written.
    let [first, end] = unsafe { __racewarden_told };
    (first, end)
}

/// Where a place is in the code, or the address itself.
fn address_of(code: usize) -> usize {
    if code & PLACE == 0 {
        return code;
    }
    let (first, end) = told();
    let mut at = first;
    while at < end {
        // SAFETY: between the section's ends.
        let told = unsafe { &*(at as *const Told) };
        let from =
            |field: &i32| (field as *const i32 as usize).wrapping_add_signed(*field as isize);
        if from(&told.place) == code & !PLACE {
            // As after a call, where return addresses point.
            return from(&told.code) + 1;
        }
        at += size_of::<Told>();
    }
    0
}

/// The function of this name. Names are the low halves of addresses, and all that are described are in the
/// executable, as this is.
fn described(callee: u32) -> Option<&'static Function> {
    if callee & DESCRIBED == 0 {
        return None;
    }
    let here = &raw const CHAINS as usize;
    let distance = (callee & !DESCRIBED).wrapping_sub(here as u32).cast_signed();
    // SAFETY: the instrumentation made it, and it is there for good.
    Some(unsafe { &*(here.wrapping_add_signed(distance as isize) as *const Function) })
}

/// A call, or an access in code that numbers no places.
#[repr(C)]
struct Chain {
    /// Where the call or the access is.
    at: AtomicU64,
    /// What is called (0: nothing, an access) and the chain before.
    key: AtomicU64,
    /// Its first site, 0 until it is known, and the one behind the last of its places.
    first: AtomicU32,
    end: AtomicU32,
    next: AtomicU32,
}

/// Which of its function's places this is, if it is one in that function at all: programs may leave functions
/// in ways of their own, and then the number is too large.
#[inline(always)]
pub fn number_of_place(callee: u32, place: usize) -> Option<u32> {
    let first = (callee & !DESCRIBED).wrapping_add(size_of::<Function>() as u32);
    (place & PLACE != 0).then(|| (place as u32).wrapping_sub(first))
}

/// Sites that a cell or a report can name.
const MOST_SITES: u32 = 1 << 31;

/// At most so many chains; then they are cut short.
const MOST: u32 = 2 << 20;
/// From here on only chains without one before are made, so that every function has one.
const CUT: u32 = MOST / 8 * 7;
const BUCKETS: u32 = 18;
/// From so many sites on, places have no numbers any more, but a chain for each that is accessed.
const CROWDED: u32 = joined::FIRST / 4 * 3;

pub struct Chains {
    chains: AtomicUsize,
    buckets: AtomicUsize,
    /// The next chain, and in the upper half the next site: both grow together, so that chains are in the
    /// order of their sites.
    next: AtomicU64,
    /// How many found no room.
    pub refused: AtomicU64,
}

pub static CHAINS: Chains = Chains {
    chains: AtomicUsize::new(0),
    buckets: AtomicUsize::new(0),
    next: AtomicU64::new(1 << 32 | 1),
    refused: AtomicU64::new(0),
};

impl Chains {
    /// Reserves address space; memory is only used as chains are made.
    pub fn initialize(&self) {
        let chains = raw_mmap(MOST as usize * size_of::<Chain>());
        let buckets = raw_mmap((1usize << BUCKETS) * 4);
        if chains.is_null() || buckets.is_null() {
            crate::common::output::fatal("no address space for the detector's tables\n");
        }
        self.buckets.store(buckets as usize, Ordering::Relaxed);
        self.chains.store(chains as usize, Ordering::Release);
    }

    #[inline(always)]
    fn chain(&self, id: u32) -> &Chain {
        let base = self.chains.load(Ordering::Relaxed) as *const Chain;
        // SAFETY: ids are below the capacity that was mapped.
        unsafe { &*base.add(id as usize) }
    }

    fn bucket(&self, at: u64, key: u64) -> &AtomicU32 {
        let hash = (at ^ key.rotate_left(31)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let base = self.buckets.load(Ordering::Relaxed) as *const AtomicU32;
        // SAFETY: the shift leaves as many bits as there are buckets for.
        unsafe { &*base.add((hash >> (64 - BUCKETS)) as usize) }
    }

    /// The chain of a call at `at` of `callee` after `parent`, or of an access there when `callee` is 0.
    pub fn intern(&self, at: u64, callee: u32, parent: u32) -> Option<u32> {
        if self.chains.load(Ordering::Acquire) == 0 {
            return None;
        }
        let key = u64::from(callee) << 32 | u64::from(parent);
        let bucket = self.bucket(at, key);
        let mut head = bucket.load(Ordering::Acquire);
        if let Some(id) = self.find(head, 0, at, key) {
            return Some(id);
        }
        let Some((id, first, end)) = self.allocate(callee, parent) else {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return None;
        };
        let chain = self.chain(id);
        chain.at.store(at, Ordering::Relaxed);
        chain.key.store(key, Ordering::Relaxed);
        chain.end.store(end, Ordering::Relaxed);
        chain.first.store(first, Ordering::Release);
        loop {
            chain.next.store(head, Ordering::Relaxed);
            match bucket.compare_exchange(head, id, Ordering::Release, Ordering::Acquire) {
                Ok(_) => return Some(id),
                Err(now) => {
                    // Somebody else may have added the very same; then ours stays unused.
                    if let Some(other) = self.find(now, head, at, key) {
                        return Some(other);
                    }
                    head = now;
                }
            }
        }
    }

    /// A new chain's id, its first site and the end of those of its places.
    fn allocate(&self, callee: u32, parent: u32) -> Option<(u32, u32, u32)> {
        let places = described(callee).map_or(0, |function| function.places as u32);
        let numbered = |site: u32| if site < CROWDED { places } else { 0 };
        let taken = |next: u64| {
            let (id, site) = (next as u32, (next >> 32) as u32);
            let sites = u64::from(numbered(site).max(1));
            let most = if parent == 0 { MOST } else { CUT };
            (id < most && site < MOST_SITES).then(|| next + (sites << 32 | 1))
        };
        let next = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).ok()?;
        let first = (next >> 32) as u32;
        Some((next as u32, first, first + numbered(first)))
    }

    fn find(&self, mut id: u32, end: u32, at: u64, key: u64) -> Option<u32> {
        while id != end && id != 0 {
            let chain = self.chain(id);
            if chain.at.load(Ordering::Relaxed) == at && chain.key.load(Ordering::Relaxed) == key {
                return Some(id);
            }
            id = chain.next.load(Ordering::Relaxed);
        }
        None
    }

    /// The part of a chain that ends with a call of this function, if there is one.
    pub fn that_enters(&self, callee: u32, mut chain: u32) -> Option<u32> {
        while chain != 0 && callee != 0 {
            let key = self.chain(chain).key.load(Ordering::Relaxed);
            if (key >> 32) as u32 == callee {
                return Some(chain);
            }
            chain = key as u32;
        }
        None
    }

    /// The first site of the places in the function that the chain's last call entered, and how many there are: none
    /// for chain 0, and for functions without a description.
    pub fn sites_of(&self, chain: u32) -> (u32, u32) {
        let chain = self.chain(chain);
        let first = chain.first.load(Ordering::Relaxed);
        (first, chain.end.load(Ordering::Relaxed) - first)
    }

    /// The site of an access in the chain, at this address in the code or this place.
    pub fn site_of_access(&self, code: usize, chain: u32) -> Option<u32> {
        let id = self.intern(code as u64, 0, chain)?;
        Some(self.chain(id).first.load(Ordering::Relaxed))
    }

    /// The chain that has this site, and its number there.
    fn chain_of(&self, site: u32) -> Option<(u32, u32)> {
        let used = self.next.load(Ordering::Relaxed) as u32;
        let (mut low, mut high) = (1, used);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.first_of(middle) <= site { low = middle + 1 } else { high = middle }
        }
        let id = low.checked_sub(1).filter(|id| *id > 0 && site != 0)?;
        Some((id, site - self.first_of(id)))
    }

    /// A chain's first site; whoever makes it is about to write that down.
    fn first_of(&self, id: u32) -> u32 {
        loop {
            match self.chain(id).first.load(Ordering::Acquire) {
                0 => super::engine::yield_now(),
                first => return first,
            }
        }
    }

    /// The addresses in the code from the access outwards.
    pub fn frames(&self, site: u32) -> impl Iterator<Item = usize> {
        let (mut chain, number) = self.chain_of(site).unwrap_or((0, 0));
        let callee = (self.chain(chain).key.load(Ordering::Relaxed) >> 32) as u32;
        let mut innermost = described(callee).map(|function| {
            let bytes = (&raw const *function as usize) + size_of::<Function>();
            (bytes + number as usize) | PLACE
        });
        std::iter::from_fn(move || {
            let code = innermost.take().or_else(|| {
                let call = (chain != 0).then(|| self.chain(chain))?;
                chain = call.key.load(Ordering::Relaxed) as u32;
                Some(call.at.load(Ordering::Relaxed) as usize)
            })?;
            Some(address_of(code))
        })
    }

    /// Where in the code a site is.
    pub fn address_of(&self, site: u32) -> usize {
        self.frames(site).next().unwrap_or(0)
    }
}
