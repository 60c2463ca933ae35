//! Chains of calls, and numbers for the places in the code where they end: sites.
//!
//! A chain is a call after another chain. Each has as many sites in a row as the function that it enters
//! has places that access memory, so that an access names its site by one addition: no table is asked, however
//! many chains and places there are. An access elsewhere, in code that does not number its places, is a
//! chain of its own, with one site.
//!
//! A chain keeps every older access's full stack for the price of one number in a cell: nothing is
//! replayed, so nothing is lost when a thread runs on.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::joined;
use crate::common::real::raw_mmap;

/// What the instrumentation tells of a function: how many of its places access memory, and then where each
/// of them is, once it got here.
#[repr(C)]
pub struct Function {
    places: u64,
    first: AtomicU64,
}

/// In the name of a function: there is a [`Function`] at the address.
pub const DESCRIBED: u32 = 1;
/// Before the address of a place's entry in a [`Function`], so that it is no address in the code.
const PLACE: usize = 1 << 63;

/// What stands for an access in numbered code, where otherwise its address in the code does. `function` is
/// the address of a [`Function`].
#[inline(always)]
pub fn place(function: usize, number: usize, pc: usize) -> usize {
    let entry = function + size_of::<u64>() * (number + 1);
    // SAFETY: the instrumentation made that many entries.
    let known = unsafe { AtomicU64::from_ptr(entry as *mut u64) };
    // Mostly there, and a line that many threads read stays with all of them.
    if known.load(Ordering::Relaxed) == 0 {
        known.store(pc as u64, Ordering::Relaxed);
    }
    entry | PLACE
}

/// The number of a place in the function that the innermost call entered, if it is in that function.
#[inline(always)]
fn number_in(place: usize, callee: u32) -> Option<u32> {
    let entry = place & !PLACE;
    let behind = (entry as u32).wrapping_sub(callee & !DESCRIBED);
    let number = (behind / 8).wrapping_sub(1);
    if callee & DESCRIBED == 0 || number > 1 << 24 {
        return None;
    }
    // SAFETY: so far before the entry is what the callee's name says: a function of this program.
    let function = unsafe { &*((entry - behind as usize) as *const Function) };
    (u64::from(number) < function.places).then_some(number)
}

/// Where a place is in the code, or the address itself.
pub fn address_of(code: usize) -> usize {
    if code & PLACE == 0 {
        return code;
    }
    // SAFETY: made by `place`.
    unsafe { AtomicU64::from_ptr((code & !PLACE) as *mut u64) }.load(Ordering::Relaxed) as usize
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
    next: AtomicU32,
    /// Its first site; 0 until it is known.
    first: AtomicU32,
}

/// In a chain's first site: it has no others.
const ONLY_ONE: u32 = 1 << 31;

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
        let Some((id, first)) = self.allocate(callee, parent) else {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return None;
        };
        let chain = self.chain(id);
        chain.at.store(at, Ordering::Relaxed);
        chain.key.store(key, Ordering::Relaxed);
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

    /// A new chain's id and first site.
    fn allocate(&self, callee: u32, parent: u32) -> Option<(u32, u32)> {
        let places = described(callee).map_or(0, |function| function.places);
        let taken = |next: u64| {
            let (id, site) = (next as u32, (next >> 32) as u32);
            let sites = if site < CROWDED { places.max(1) } else { 1 };
            let most = if parent == 0 { MOST } else { CUT };
            (id < most && site < ONLY_ONE - (1 << 25)).then(|| next + (sites << 32 | 1))
        };
        let next = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).ok()?;
        let first = (next >> 32) as u32;
        Some((next as u32, if first < CROWDED && places > 0 { first } else { first | ONLY_ONE }))
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

    /// The site of a numbered place in the function that the chain's last call entered.
    #[inline(always)]
    pub fn site_of_place(&self, chain: u32, callee: u32, place: usize) -> Option<u32> {
        let first = self.chain(chain).first.load(Ordering::Relaxed);
        if chain == 0 || place & PLACE == 0 || first & ONLY_ONE != 0 {
            return None;
        }
        Some(first + number_in(place, callee)?)
    }

    /// The site of an access at `pc` in the chain.
    pub fn site_of_access(&self, pc: u64, chain: u32) -> Option<u32> {
        let id = self.intern(pc, 0, chain)?;
        Some(self.chain(id).first.load(Ordering::Relaxed) & !ONLY_ONE)
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
                first => return first & !ONLY_ONE,
            }
        }
    }

    /// The addresses in the code from the access outwards.
    pub fn frames(&self, site: u32) -> impl Iterator<Item = usize> {
        let (mut chain, number) = self.chain_of(site).unwrap_or((0, 0));
        let mut innermost = match self.chain(chain).key.load(Ordering::Relaxed) >> 32 {
            0 => None,
            callee => described(callee as u32).map(|function| {
                // SAFETY: a site's number is that of one of the function's places.
                let entry = unsafe { (&raw const function.first).add(number as usize) };
                address_of(entry as usize | PLACE)
            }),
        };
        std::iter::from_fn(move || {
            innermost.take().or_else(|| {
                if chain == 0 {
                    return None;
                }
                let call = self.chain(chain);
                chain = call.key.load(Ordering::Relaxed) as u32;
                Some(call.at.load(Ordering::Relaxed) as usize)
            })
        })
    }

    /// Where in the code a site is.
    pub fn address_of(&self, site: u32) -> usize {
        self.frames(site).next().unwrap_or(0)
    }
}
