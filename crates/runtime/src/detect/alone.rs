//! Regions of shadow that one thread alone has changed, and goes on changing without a lock.
//!
//! Most memory is only ever touched by one thread. To lock and unlock what nobody else asks for would be
//! the larger part of remembering an access: an atomic operation waits for all stores before it. So the first
//! thread that changes a region becomes its owner. The owner says in a word of its own that it is inside,
//! looks whether the region is still its own, and changes it. Another thread that wants to change the
//! region takes it away first: it makes the kernel interrupt all processors that run this program
//! (`membarrier`), so that whatever the owner said before can be seen, and waits until the owner is not inside.
//! From then on the region has no owner, and everyone takes locks. Memory that is given to the program anew
//! starts without an owner again.
//!
//! An id belongs to one thread at a time; when the thread ends, another gets it with all it owned.

use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicUsize, Ordering, compiler_fence};

use crate::common::futex::raw_syscall;
use crate::common::real::raw_mmap;
use crate::common::tls;

/// Of a region: nobody changed it yet, or everyone may.
const NOBODY: u16 = 0;
const EVERYONE: u16 = u16::MAX;
/// Somebody is taking it away from its owner.
const CLOSING: u16 = u16::MAX - 1;

/// What a thread says about itself; in a line of its own, which only those look at who take something away.
#[repr(C, align(64))]
pub struct Presence {
    id: AtomicU16,
    /// Where the owner of the region stands that it changes.
    inside: AtomicUsize,
    /// Where the owners stand of regions that it takes away, and how many there may be.
    closing: AtomicUsize,
    most: AtomicUsize,
}

const PRESENCES: usize = CLOSING as usize;
static TABLE: AtomicUsize = AtomicUsize::new(0);
static USED: AtomicU32 = AtomicU32::new(1);
/// Whether the kernel has what it takes.
static ENABLED: AtomicBool = AtomicBool::new(false);

const PRIVATE_EXPEDITED: usize = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: usize = 1 << 4;

fn membarrier(command: usize) -> bool {
    // SAFETY: a system call that touches no memory.
    unsafe { raw_syscall(libc::SYS_membarrier, command, 0, 0, 0, 0, 0) == 0 }
}

pub fn initialize() {
    let table = raw_mmap(PRESENCES * size_of::<Presence>());
    if !table.is_null() {
        TABLE.store(table as usize, Ordering::Release);
        ENABLED.store(membarrier(REGISTER_PRIVATE_EXPEDITED), Ordering::Relaxed);
    }
}

fn presence(id: u16) -> &'static Presence {
    // SAFETY: mapped for all ids, and zeros are a valid presence.
    unsafe { &*(TABLE.load(Ordering::Relaxed) as *const Presence).add(usize::from(id)) }
}

/// One for a new thread; `recycled` is that of a thread that has ended. 0 when there is none.
pub fn presence_of_new(recycled: Option<usize>) -> usize {
    if let Some(presence) = recycled {
        return presence;
    }
    let one_more = |used: u32| ((used as usize) < PRESENCES).then_some(used + 1);
    let next = USED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
    let Some(id) = next.ok().filter(|_| ENABLED.load(Ordering::Relaxed)) else { return 0 };
    let presence = presence(id as u16);
    presence.id.store(id as u16, Ordering::Relaxed);
    &raw const *presence as usize
}

/// The thread that runs, when it may own regions.
#[inline(always)]
fn own() -> Option<&'static Presence> {
    // SAFETY: set to the thread's own presence, or 0.
    unsafe { (tls::presence() as *const Presence).as_ref() }
}

/// Goes inside when the thread owns the region: it must [`leave`] then.
#[inline(always)]
pub fn enter(owner: &AtomicU16) -> bool {
    let Some(own) = own() else { return false };
    let id = own.id.load(Ordering::Relaxed);
    own.inside.store(owner as *const AtomicU16 as usize, Ordering::Relaxed);
    // For the processor, whoever takes the region away does it.
    compiler_fence(Ordering::SeqCst);
    if owner.load(Ordering::Relaxed) == id {
        return true;
    }
    leave();
    false
}

#[inline(always)]
pub fn leave() {
    if let Some(own) = own() {
        own.inside.store(0, Ordering::Release);
    }
}

/// Goes inside a region that nobody owns, which keeps everyone else out until [`end_visit`].
pub fn visit(owner: &AtomicU16) -> bool {
    let Some(own) = own() else { return false };
    if owner.load(Ordering::Relaxed) != NOBODY {
        return false;
    }
    // As when a region is taken away: should the process fork meanwhile, the child ends it.
    own.most.store(1, Ordering::Relaxed);
    own.closing.store(owner as *const AtomicU16 as usize, Ordering::Release);
    let entered = owner.compare_exchange(NOBODY, CLOSING, Ordering::AcqRel, Ordering::Relaxed);
    if entered.is_err() {
        own.closing.store(0, Ordering::Release);
    }
    entered.is_ok()
}

pub fn end_visit(owner: &AtomicU16) {
    owner.store(NOBODY, Ordering::Release);
    if let Some(own) = own() {
        own.closing.store(0, Ordering::Release);
    }
}

/// Whether everyone may change the region, each under its group's lock.
#[inline(always)]
pub fn is_everyones(owner: &AtomicU16) -> bool {
    owner.load(Ordering::Acquire) == EVERYONE
}

/// Makes the region the thread's own, or everyone's. `owners` are this region and those behind it, of which
/// `most` may be taken away together.
#[cold]
#[inline(never)]
pub fn claim(owners: &[AtomicU16], most: usize) {
    let Some(owner) = owners.first() else { return };
    match owner.load(Ordering::Acquire) {
        NOBODY => {
            let id = own().map_or(EVERYONE, |own| own.id.load(Ordering::Relaxed));
            let _ = owner.compare_exchange(NOBODY, id, Ordering::AcqRel, Ordering::Relaxed);
        }
        EVERYONE => {}
        CLOSING => super::engine::yield_now(),
        id if own().is_some_and(|own| own.id.load(Ordering::Relaxed) == id) => {}
        id => take_away(owners, id, most),
    }
}

/// Takes regions away from their owner, the first and those behind that are the same one's.
fn take_away(owners: &[AtomicU16], id: u16, most: usize) {
    let close = |owner: &&AtomicU16| {
        owner.compare_exchange(id, CLOSING, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    };
    let most = most.min(owners.len());
    if let Some(own) = own() {
        own.most.store(most, Ordering::Relaxed);
        own.closing.store(owners.as_ptr() as usize, Ordering::Release);
    }
    let closing = owners[..most].iter().take_while(close).count();
    if closing > 0 {
        open_to_everyone(&owners[..closing], id);
    }
    if let Some(own) = own() {
        own.closing.store(0, Ordering::Release);
    }
}

/// Waits until the owner of regions that are being closed is in none of them.
fn open_to_everyone(owners: &[AtomicU16], id: u16) {
    // The registration may not have survived a fork.
    if !membarrier(PRIVATE_EXPEDITED) {
        membarrier(REGISTER_PRIVATE_EXPEDITED);
        membarrier(PRIVATE_EXPEDITED);
    }
    let there = presence(id);
    for owner in owners {
        while there.inside.load(Ordering::Acquire) == owner as *const AtomicU16 as usize {
            super::engine::yield_now();
        }
        owner.store(EVERYONE, Ordering::Release);
    }
}

/// Makes a region nobody's that was everyone's. The caller holds all of its locks, so that nobody is changing
/// it; whoever waits for one looks again whose it is.
pub fn give_back(owner: &AtomicU16) {
    if ENABLED.load(Ordering::Relaxed) {
        owner.store(NOBODY, Ordering::Release);
    }
}

/// In the child of a fork only the calling thread lives on: nobody else is inside anywhere, and nobody ends what
/// was being taken away.
pub fn reset_after_fork() {
    for id in 1..USED.load(Ordering::Relaxed).min(PRESENCES as u32) {
        let presence = presence(id as u16);
        presence.inside.store(0, Ordering::Relaxed);
        let closing = presence.closing.swap(0, Ordering::Relaxed) as *const AtomicU16;
        if closing.is_null() {
            continue;
        }
        // SAFETY: so many owners stand there, in shadow that stays mapped.
        let most = presence.most.load(Ordering::Relaxed);
        for owner in unsafe { std::slice::from_raw_parts(closing, most) } {
            let (from, to) = (CLOSING, EVERYONE);
            let _ = owner.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}
