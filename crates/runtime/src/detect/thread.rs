//! A thread as the detector sees it.

use std::cell::UnsafeCell;

use super::clock::{Clock, Clocks};
use super::intern::{CONTEXTS, LOCKSETS, READ_MODE, SITES};
use super::shadow::{self, SLOTS};
use crate::common::futex::SpinLock;
use crate::common::name::ThreadName;
use crate::common::real::raw_mmap;
use crate::common::tls;

/// A lock that the thread holds.
#[derive(Clone, Copy)]
pub struct Held {
    pub address: usize,
    pub read_mode: bool,
    pub site: u32,
    /// How often a recursive lock was taken.
    pub count: u32,
    /// The thread's time when it was taken.
    pub since: u64,
}

const CONTEXT_CACHE: usize = 512;
const SITE_CACHE: usize = 1024;
/// Deeper calls than this are counted but share their ancestor's stack.
const STACK_DEPTH: usize = 1 << 20;

pub struct Thread {
    /// The epoch word of now; what the fast path compares with.
    pub base: u64,
    pub slot: u32,
    pub time: u64,
    pub clocks: Clocks,
    pub context: u32,
    pub lockset: u32,
    pub held: Vec<Held>,
    pub ignore_reads: u32,
    pub ignore_writes: u32,
    pub ignore_sync: u32,
    /// What relaxed loads read, waiting for an acquire fence.
    pub fence_acquire: Clocks,
    /// What a release fence published for later relaxed stores.
    pub fence_release: Clocks,
    /// What the earlier critical sections knew whose results the current one updates. Not ordered
    /// before this thread, but before whoever reads the result.
    pub updated: Clock,
    /// What the signallers of the last wait knew; joined unless a write/read relation is found.
    pub pending_signal: Option<Box<Clocks>>,
    pub info: u32,
    pub children: u32,
    pub name: ThreadName,
    /// The stack with the thread-local storage above it.
    pub stack_range: (usize, usize),
    pub detached: bool,
    pub finished: bool,
    /// State of the perturbation's random numbers.
    pub random: u64,
    pub signals: super::signals::Pending,
    stack: *mut u32,
    depth: usize,
    context_cache: [(u64, u32, u32); CONTEXT_CACHE],
    site_cache: [(u64, u64, u32); SITE_CACHE],
    /// A loop asks for the same site again and again.
    last_site: (u64, u64, u32),
}

impl Thread {
    fn new(slot: u32, time: u64, name: ThreadName, info: u32) -> Box<Thread> {
        let stack = raw_mmap(STACK_DEPTH * 4).cast::<u32>();
        if stack.is_null() {
            crate::common::output::fatal("no address space for a thread's call stack\n");
        }
        let mut thread = Box::new(Thread {
            base: 0,
            slot,
            time,
            clocks: Clocks::new(),
            context: 0,
            lockset: 0,
            held: Vec::new(),
            ignore_reads: 0,
            ignore_writes: 0,
            ignore_sync: 0,
            fence_acquire: Clocks::new(),
            fence_release: Clocks::new(),
            updated: Clock::new(),
            pending_signal: None,
            info,
            children: 0,
            name,
            stack_range: (0, 0),
            detached: false,
            finished: false,
            random: 0,
            signals: super::signals::Pending::new(),
            stack,
            depth: 0,
            context_cache: [(0, 0, 0); CONTEXT_CACHE],
            site_cache: [(0, 0, 0); SITE_CACHE],
            last_site: (0, 0, 0),
        });
        thread.set_time(time);
        thread
    }

    fn set_time(&mut self, time: u64) {
        self.time = time;
        self.base = shadow::epoch(self.slot, time);
        self.clocks.full.set(self.slot as usize, time);
    }

    /// Ends the segment: what comes after is not covered by what was just published.
    pub fn tick(&mut self) {
        self.set_time(self.time + 1);
    }

    /// Publishes everything up to now into `clocks` and starts a new segment.
    pub fn release_into(&mut self, clocks: &mut Clocks) {
        clocks.join(&self.clocks);
        clocks.weak.raise(self.slot as usize, self.time);
        self.tick();
    }

    /// As [`Thread::release_into`], but what `clocks` held before is forgotten.
    pub fn release_store(&mut self, clocks: &mut Clocks) {
        clocks.copy_from(&self.clocks);
        clocks.weak.raise(self.slot as usize, self.time);
        self.tick();
    }

    pub fn enter_function(&mut self, call_site: usize) {
        if self.depth < STACK_DEPTH {
            // SAFETY: the depth is below what was mapped.
            unsafe { self.stack.add(self.depth).write(self.context) };
            self.context = self.context_of(call_site as u64);
        }
        self.depth += 1;
    }

    pub fn exit_function(&mut self) {
        if self.depth == 0 {
            return;
        }
        self.depth -= 1;
        if self.depth < STACK_DEPTH {
            // SAFETY: written by the matching entry.
            self.context = unsafe { self.stack.add(self.depth).read() };
        }
    }

    fn context_of(&mut self, call_site: u64) -> u32 {
        let parent = self.context;
        let at = (call_site ^ u64::from(parent).wrapping_mul(0x9E37_79B1)) as usize % CONTEXT_CACHE;
        let cached = &mut self.context_cache[at];
        if cached.0 == call_site && cached.1 == parent {
            return cached.2;
        }
        // A full table cuts the chain here; the outer frames stay right.
        let id = CONTEXTS.intern(call_site, u64::from(parent)).unwrap_or(parent);
        *cached = (call_site, parent, id);
        id
    }

    /// The id of an access at `pc` now.
    #[inline]
    pub fn site(&mut self, pc: usize) -> u32 {
        let key = u64::from(self.context) << 32 | u64::from(self.lockset);
        if self.last_site.0 == pc as u64 && self.last_site.1 == key {
            return self.last_site.2;
        }
        let id = self.find_site(pc, key);
        self.last_site = (pc as u64, key, id);
        id
    }

    fn find_site(&mut self, pc: usize, key: u64) -> u32 {
        let hash = (pc as u64 ^ key.rotate_left(17)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let cached = &mut self.site_cache[hash as usize % SITE_CACHE];
        if cached.0 == pc as u64 && cached.1 == key {
            return cached.2;
        }
        let id = SITES.intern(pc as u64, key).unwrap_or(0);
        *cached = (pc as u64, key, id);
        id
    }

    pub fn hold(&mut self, address: usize, read_mode: bool, site: u32) {
        if let Some(held) = self.held.iter_mut().find(|held| held.address == address) {
            held.count += 1;
            return;
        }
        self.held.push(Held { address, read_mode, site, count: 1, since: self.time });
        self.rebuild_lockset();
    }

    /// Returns how the lock was held when this was the last release of it.
    pub fn let_go(&mut self, address: usize) -> Option<Held> {
        let at = self.held.iter().rposition(|held| held.address == address)?;
        self.held[at].count -= 1;
        if self.held[at].count > 0 {
            return None;
        }
        let held = self.held.remove(at);
        self.rebuild_lockset();
        Some(held)
    }

    fn rebuild_lockset(&mut self) {
        let mut lockset = 0;
        for held in &self.held {
            let mode = if held.read_mode { READ_MODE } else { 0 };
            let rest = u64::from(lockset) << 32 | u64::from(held.site);
            lockset = LOCKSETS.intern(held.address as u64 | mode, rest).unwrap_or(lockset);
        }
        self.lockset = lockset;
    }
}

/// What a report says about a thread, kept after its end.
#[derive(Clone)]
pub struct ThreadInfo {
    pub name: ThreadName,
    pub created_at: u32,
    pub parent: u32,
    pub slot: u32,
    pub first_time: u64,
    pub stack_range: (usize, usize),
    pub start_routine: usize,
    registered: bool,
}

struct Inner {
    infos: Vec<ThreadInfo>,
    /// Threads by slot; dead ones are null.
    live: Vec<*mut Thread>,
    /// Slots of dead threads, with the last time each used.
    free: Vec<(u32, u64)>,
    /// Joinable threads by pthread_t.
    joinable: Vec<(usize, *mut Thread)>,
    /// How often a slot was reused although its past was not known to the creator.
    forced_reuse: u64,
}

pub struct Registry {
    pub lock: SpinLock,
    inner: UnsafeCell<Inner>,
}

// SAFETY: `inner` is only touched while `lock` is held.
unsafe impl Sync for Registry {}

pub static REGISTRY: Registry = Registry {
    lock: SpinLock::new(),
    inner: UnsafeCell::new(Inner {
        infos: Vec::new(),
        live: Vec::new(),
        free: Vec::new(),
        joinable: Vec::new(),
        forced_reuse: 0,
    }),
};

impl Registry {
    fn with<R>(&self, work: impl FnOnce(&mut Inner) -> R) -> R {
        // Inside the runtime, whoever calls: growing a vector calls memcpy, which is intercepted,
        // and what that finds would ask for this very lock.
        let depth = tls::depth();
        tls::set_depth(1);
        let guard = self.lock.lock();
        // SAFETY: the lock is held.
        let result = work(unsafe { &mut *self.inner.get() });
        drop(guard);
        tls::set_depth(depth);
        result
    }

    pub fn add_main(&self) -> *mut Thread {
        self.with(|inner| {
            inner.infos.push(ThreadInfo {
                name: ThreadName::MAIN,
                created_at: 0,
                parent: 0,
                slot: 0,
                first_time: 1,
                stack_range: (0, 0),
                start_routine: 0,
                registered: true,
            });
            let thread = Box::into_raw(Thread::new(0, 1, ThreadName::MAIN, 0));
            inner.live.push(thread);
            thread
        })
    }

    /// A thread that `creator` is about to start, ordered after everything the creator did.
    pub fn add(&self, creator: &mut Thread, created_at: u32, routine: usize) -> *mut Thread {
        creator.children += 1;
        let name = creator.name.child(creator.children);
        let (slot, time, info) = self.with(|inner| {
            let (slot, time) = inner.take_slot(creator);
            let info = inner.infos.len() as u32;
            inner.infos.push(ThreadInfo {
                name,
                created_at,
                parent: creator.info,
                slot,
                first_time: time,
                stack_range: (0, 0),
                start_routine: routine,
                registered: false,
            });
            (slot, time, info)
        });
        let mut thread = Thread::new(slot, time, name, info);
        creator.release_into(&mut thread.clocks);
        thread.set_time(time);
        let thread = Box::into_raw(thread);
        self.with(|inner| inner.live[slot as usize] = thread);
        thread
    }

    pub fn set_stack(&self, info: u32, range: (usize, usize)) {
        self.with(|inner| inner.infos[info as usize].stack_range = range);
    }

    /// Makes the thread known under its pthread_t. Creator and thread both call this, and only
    /// the first call counts: after it, the thread may already be gone.
    pub fn register(&self, info: u32, pthread: usize, thread: *mut Thread) {
        self.with(|inner| {
            let info = &mut inner.infos[info as usize];
            if !std::mem::replace(&mut info.registered, true) {
                inner.joinable.push((pthread, thread));
            }
        });
    }

    /// The thread behind a pthread_t, no longer to be found there.
    pub fn take_joinable(&self, pthread: usize) -> Option<*mut Thread> {
        self.with(|inner| {
            let at = inner.joinable.iter().position(|(key, _)| *key == pthread)?;
            Some(inner.joinable.swap_remove(at).1)
        })
    }

    /// A join failed: the thread can still be joined.
    pub fn put_back(&self, pthread: usize, thread: *mut Thread) {
        self.with(|inner| inner.joinable.push((pthread, thread)));
    }

    /// The thread ran to its end. Nobody joins a detached one, so it is buried here.
    pub fn finished(&self, thread: *mut Thread) {
        let detached = self.with(|inner| {
            // SAFETY: still there, because only its end or its joiner buries it.
            unsafe {
                (*thread).finished = true;
                if (*thread).detached {
                    inner.joinable.retain(|(_, other)| *other != thread);
                }
                (*thread).detached
            }
        });
        if detached {
            // SAFETY: its own thread gave it up just now.
            unsafe { self.bury(thread) };
        }
    }

    pub fn detach(&self, pthread: usize) {
        let buried = self.with(|inner| {
            let at = inner.joinable.iter().position(|(key, _)| *key == pthread)?;
            let thread = inner.joinable[at].1;
            // SAFETY: registered threads are not buried yet.
            unsafe {
                (*thread).detached = true;
                (*thread).finished.then(|| inner.joinable.swap_remove(at).1)
            }
        });
        if let Some(thread) = buried {
            // SAFETY: finished, and nobody can find it any more.
            unsafe { self.bury(thread) };
        }
    }

    /// Gives the slot of a thread back that runs no more and that nobody will join.
    ///
    /// # Safety
    /// Nothing uses the thread any more.
    pub unsafe fn bury(&self, thread: *mut Thread) {
        // SAFETY: the caller hands the thread over.
        let thread = unsafe { Box::from_raw(thread) };
        self.with(|inner| {
            inner.live[thread.slot as usize] = std::ptr::null_mut();
            inner.free.push((thread.slot, thread.time));
        });
        // SAFETY: mapped by `Thread::new` with this size.
        unsafe { crate::common::real::raw_munmap(thread.stack.cast(), STACK_DEPTH * 4) };
    }

    /// The thread that had `slot` at `time`.
    pub fn info_at(&self, slot: usize, time: u64) -> Option<(u32, ThreadInfo)> {
        self.with(|inner| {
            let matches =
                |info: &&ThreadInfo| info.slot as usize == slot && info.first_time <= time;
            let at = inner.infos.iter().rposition(|info| matches(&info))?;
            Some((at as u32, inner.infos[at].clone()))
        })
    }

    pub fn info(&self, id: u32) -> Option<ThreadInfo> {
        self.with(|inner| inner.infos.get(id as usize).cloned())
    }

    /// The live thread whose stack or thread-local storage holds `address`.
    pub fn owner_of_stack(&self, address: usize) -> Option<u32> {
        self.with(|inner| {
            let inside =
                |info: &ThreadInfo| info.stack_range.0 <= address && address < info.stack_range.1;
            inner.infos.iter().rposition(inside).map(|at| at as u32)
        })
    }

    pub fn count(&self) -> usize {
        self.with(|inner| inner.infos.len())
    }

    pub fn forced_reuse(&self) -> u64 {
        self.with(|inner| inner.forced_reuse)
    }

    /// In the child of a fork, only the calling thread lives on.
    pub fn after_fork(&self, survivor: *mut Thread) {
        self.lock.reset_after_fork();
        self.with(|inner| {
            inner.joinable.clear();
            for thread in &mut inner.live {
                if *thread != survivor {
                    *thread = std::ptr::null_mut();
                }
            }
        });
    }
}

impl Inner {
    /// A slot is reused when the creator knows all that its last owner did: whoever learns of the
    /// new thread then knows the old one's past too, so no order is invented. Otherwise a new slot
    /// is taken, so that clocks grow with unjoined threads only.
    fn take_slot(&mut self, creator: &Thread) -> (u32, u64) {
        let known = |&(slot, last): &(u32, u64)| {
            creator.clocks.full.get(slot as usize) >= last
                && creator.clocks.weak.get(slot as usize) >= last
        };
        if let Some(at) = self.free.iter().rposition(known) {
            let (slot, last) = self.free.swap_remove(at);
            return (slot, last + 1);
        }
        if self.live.len() < SLOTS {
            self.live.push(std::ptr::null_mut());
            return (self.live.len() as u32 - 1, 1);
        }
        if self.free.is_empty() {
            crate::common::output::fatal("more than 65536 threads at once\n");
        }
        self.forced_reuse += 1;
        let (slot, last) = self.free.swap_remove(0);
        (slot, last + 1)
    }
}
