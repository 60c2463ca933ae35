//! A thread as the detector sees it.

use std::cell::UnsafeCell;

use super::cell;
use super::clock::{Clock, Clocks};
use super::intern::{self, CONTEXTS, LOCKSETS, READ_MODE, SITES};
use super::memo::Memo;
use super::shadow::{self, SLOTS};
use crate::common::futex::SpinLock;
use crate::common::name::ThreadName;
use crate::common::real::{raw_mmap, raw_munmap};
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

const CONTEXT_CACHE: usize = 4096;
const SITE_CACHE: usize = 16384;
/// Deeper calls than this are counted but share their ancestor's stack.
const STACK_DEPTH: usize = 1 << 20;

/// A call that has not returned: where it was made, what was called (the upper half of `known`: the
/// low bits of its address), and the id of the chain of calls up to it once somebody asked for it
/// (the lower half). Most calls come and go without anyone asking.
#[repr(C)]
struct Call {
    site: u64,
    known: u64,
}

impl Call {
    fn context(&self) -> u32 {
        self.known as u32
    }

    fn callee(&self) -> u32 {
        (self.known >> 32) as u32
    }
}

/// What every remembered access looks at stands together at the start, in two lines of the cache: code
/// that accesses memory here and there leaves no more than that in it.
#[repr(C, align(64))]
pub struct Thread {
    /// The epoch of now in a cell's form, what the fast path compares with; 0 when it has none.
    pub now: u64,
    pub slot: u32,
    pub lockset: u32,
    pub ignore_reads: u32,
    pub ignore_writes: u32,
    /// What the signallers of the last wait knew; joined unless a write/read relation is found.
    pub pending_signal: Option<Box<Clocks>>,
    /// The calls that have not returned; while the thread runs, its block knows how many.
    stack: *mut Call,
    pub clocks: Clocks,
    pub signals: super::signals::Pending,
    top: *mut Call,
    /// Calls beyond the room for them.
    beyond: usize,
    /// The epoch of now in the wide form.
    pub base: u64,
    pub time: u64,
    pub held: Vec<Held>,
    pub ignore_sync: u32,
    /// What relaxed loads read, waiting for an acquire fence.
    pub fence_acquire: Clocks,
    /// What a release fence published for later relaxed stores.
    pub fence_release: Clocks,
    /// What the earlier critical sections knew whose results the current one updates. Not ordered
    /// before this thread, but before whoever reads the result.
    pub updated: Clock,
    pub info: u32,
    pub children: u32,
    pub name: ThreadName,
    /// The stack with the thread-local storage above it.
    pub stack_range: (usize, usize),
    pub detached: bool,
    pub finished: bool,
    /// State of the perturbation's random numbers.
    pub random: u64,
    pub held_back: super::heap::HeldBack,
    pub loads: super::loads::Loads,
    known: &'static mut Known,
    pub memo: &'static mut Memo,
}

/// Sites and contexts that the thread asked for lately: what names each, and its id. A program with locks
/// goes through thousands of them again and again. Pages that a thread has no use for stay untouched.
struct Known {
    sites: [(u64, u64, u32); SITE_CACHE],
    contexts: [(u64, u64, u32); CONTEXT_CACHE],
}

impl Thread {
    fn new(slot: u32, time: u64, name: ThreadName, info: u32) -> Box<Thread> {
        let stack = raw_mmap(STACK_DEPTH * size_of::<Call>()).cast::<Call>();
        // SAFETY: all zeros are tables without entries, and nobody else has the mappings.
        let (known, memo) = unsafe {
            (
                raw_mmap(size_of::<Known>()).cast::<Known>().as_mut(),
                raw_mmap(size_of::<Memo>()).cast::<Memo>().as_mut(),
            )
        };
        let (false, Some(known), Some(memo)) = (stack.is_null(), known, memo) else {
            crate::common::output::fatal("no address space for a thread's tables\n");
        };
        let mut thread = Box::new(Thread {
            now: 0,
            base: 0,
            slot,
            time,
            clocks: Clocks::new(),
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
            held_back: super::heap::HeldBack::new(),
            loads: super::loads::Loads::default(),
            stack,
            top: stack,
            beyond: 0,
            known,
            memo,
        });
        thread.set_time(time);
        thread
    }

    fn set_time(&mut self, time: u64) {
        self.time = time;
        self.now = cell::epoch(self.slot, time);
        self.base = shadow::epoch(self.slot, time);
        self.clocks.full.set(self.slot as usize, time);
        if tls::state() == &raw const *self as usize {
            tls::set_now(self.now as usize);
        }
    }

    /// Makes this the running thread, for inline code too.
    ///
    /// # Safety
    /// Called by the thread that runs it from now on.
    pub unsafe fn attach(thread: *mut Thread) {
        // SAFETY: as the caller says, nobody else touches it.
        let this = unsafe { &mut *thread };
        tls::set_state(thread as usize);
        tls::set_now(this.now as usize);
        tls::set_top(this.top as usize);
        this.set_bounds();
    }

    /// No longer the running thread: another is attached, or none.
    pub fn detach(&mut self) {
        self.top = tls::top() as *mut Call;
        tls::set_now(0);
        tls::set_top(0);
        tls::set_limit(0);
        tls::set_base(0);
        tls::set_state(0);
    }

    /// Inline code may push below the limit and pop above the base. While calls are beyond the
    /// room for them, every return must be counted out of line.
    fn set_bounds(&self) {
        // SAFETY: one past the end of what was mapped.
        let limit = unsafe { self.stack.add(STACK_DEPTH) };
        tls::set_limit(limit as usize);
        tls::set_base(if self.beyond > 0 { usize::MAX } else { self.stack as usize });
    }

    /// Whether accesses need a look at more than the cells.
    #[inline(always)]
    pub fn is_special(&self) -> bool {
        self.ignore_reads | self.ignore_writes != 0 || self.pending_signal.is_some()
    }

    /// Ends the segment: what comes after is not covered by what was just published.
    pub fn tick(&mut self) {
        if self.time + 1 < cell::TIMES || !self.renew() {
            self.set_time(self.time + 1);
        }
    }

    /// Goes on under a new slot, where times are small enough for cells again. What the thread did
    /// under the old one is in its past. Returns whether there was a slot.
    #[cold]
    fn renew(&mut self) -> bool {
        let (old, last) = (self.slot as usize, self.time);
        let thread = &raw mut *self;
        let Some(slot) = REGISTRY.renew(thread, self.slot, self.info) else { return false };
        self.clocks.full.raise(old, last);
        self.clocks.weak.raise(old, last);
        self.slot = slot;
        for held in &mut self.held {
            held.since = 1;
        }
        self.set_time(1);
        true
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

    /// A function was called at `call_site`; `callee` is any address that stands for it alone.
    pub fn enter_function(&mut self, call_site: usize, callee: usize) {
        let top = tls::top();
        if top < tls::limit() {
            let call = Call { site: call_site as u64, known: (callee as u64) << 32 };
            // SAFETY: below the limit is mapped, and the thread's own.
            unsafe { (top as *mut Call).write(call) };
            tls::set_top(top + size_of::<Call>());
        } else {
            self.beyond += 1;
            self.set_bounds();
        }
    }

    /// How many calls are open.
    pub fn call_depth(&self) -> usize {
        tls::top().saturating_sub(self.stack as usize) / size_of::<Call>() + self.beyond
    }

    pub fn exit_function(&mut self) {
        if self.beyond > 0 {
            self.beyond -= 1;
            self.set_bounds();
        } else if tls::top() > self.stack as usize {
            tls::set_top(tls::top() - size_of::<Call>());
        }
    }

    /// The id of the chain of calls that the thread is in.
    fn context(&mut self) -> u32 {
        // Only the running thread's chain is asked for.
        let depth = tls::top().saturating_sub(self.stack as usize) / size_of::<Call>();
        // SAFETY: entries below the top are written.
        let known_at = |at: usize| unsafe { (*self.stack.add(at)).context() };
        let mut known = depth;
        while known > 0 && known_at(known - 1) == 0 {
            known -= 1;
        }
        let mut context = if known > 0 { known_at(known - 1) } else { 0 };
        for at in known..depth {
            // SAFETY: as above, and nobody else refers to it meanwhile.
            let call = unsafe { &mut *self.stack.add(at) };
            context = self.context_of(call.site, call.callee(), context);
            call.known |= u64::from(context);
        }
        context
    }

    /// The chain `parent` with one more call. A function that is in the chain already ends it there:
    /// a tree walked by recursion has as many chains as nodes, and they say no more than one does.
    fn context_of(&mut self, call_site: u64, callee: u32, parent: u32) -> u32 {
        let key = u64::from(callee) << 32 | u64::from(parent);
        let mixed = (call_site ^ key).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let at = (mixed >> 32) as usize % CONTEXT_CACHE;
        let (site, of, id) = self.known.contexts[at];
        if site == call_site && of == key {
            return id;
        }
        // A full table cuts the chain here; the outer frames stay right.
        let id = intern::chain_that_enters(callee, parent)
            .or_else(|| CONTEXTS.intern(call_site, key))
            .unwrap_or(parent);
        self.known.contexts[at] = (call_site, key, id);
        id
    }

    /// The id of an access at `pc` now.
    #[inline(always)]
    pub fn site(&mut self, pc: usize) -> u32 {
        let top = tls::top() as *const Call;
        let context = match top > self.stack {
            // SAFETY: entries below the top are written.
            true => unsafe { (*top.sub(1)).context() },
            false => 0,
        };
        let key = u64::from(context) << 32 | u64::from(self.lockset);
        let cached = &self.known.sites[Self::place_of_site(pc, key)];
        if cached.0 == pc as u64 && cached.1 == key && context != 0 {
            return cached.2;
        }
        self.find_site(pc)
    }

    #[inline(always)]
    fn place_of_site(pc: usize, key: u64) -> usize {
        let mixed = (pc as u64 ^ key.rotate_left(20)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed >> (64 - SITE_CACHE.ilog2())) as usize
    }

    #[inline(never)]
    fn find_site(&mut self, pc: usize) -> u32 {
        let key = u64::from(self.context()) << 32 | u64::from(self.lockset);
        // The first access of each call comes here, most of them known.
        let cached = &mut self.known.sites[Self::place_of_site(pc, key)];
        if cached.0 != pc as u64 || cached.1 != key {
            *cached = (pc as u64, key, SITES.intern(pc as u64, key).unwrap_or(0));
        }
        cached.2
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
    /// Slots that threads went on under, with the thread's info.
    renewed: Vec<(u32, u32)>,
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
        renewed: Vec::new(),
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

    /// A fresh slot for a thread whose old one has no times left that a cell could hold; the old
    /// one is not used again. `None` when cells could not hold a fresh one either.
    fn renew(&self, thread: *mut Thread, old: u32, info: u32) -> Option<u32> {
        self.with(|inner| {
            let slot = inner.live.len() as u32;
            if cell::epoch(slot, 1) == 0 {
                return None;
            }
            inner.live.push(thread);
            inner.live[old as usize] = std::ptr::null_mut();
            inner.renewed.push((slot, info));
            Some(slot)
        })
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
        let (stack, known) = (thread.stack, &raw mut *thread.known);
        let memo = &raw mut *thread.memo;
        drop(thread);
        // SAFETY: mapped by `Thread::new` with these sizes, and what referred to them is gone.
        unsafe {
            raw_munmap(stack.cast(), STACK_DEPTH * size_of::<Call>());
            raw_munmap(known.cast(), size_of::<Known>());
            raw_munmap(memo.cast(), size_of::<Memo>());
        };
    }

    /// The thread that had `slot` at `time`.
    pub fn info_at(&self, slot: usize, time: u64) -> Option<(u32, ThreadInfo)> {
        self.with(|inner| {
            let matches =
                |info: &&ThreadInfo| info.slot as usize == slot && info.first_time <= time;
            let renewed = || {
                let of_slot = |(known, _): &&(u32, u32)| *known as usize == slot;
                inner.renewed.iter().find(of_slot).map(|(_, info)| *info as usize)
            };
            let at = inner.infos.iter().rposition(|info| matches(&info)).or_else(renewed)?;
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
