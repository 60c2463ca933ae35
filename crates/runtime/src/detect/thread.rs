//! A thread as the detector sees it.

use std::cell::UnsafeCell;

use super::alone;
use super::cell::{self, LEVEL, LEVELS};
use super::chains::{self, CHAINS};
use super::clock::{Clock, Clocks};
use super::memo::Memo;
use super::seen::{Looks, Seen};
use super::segments;
use super::shadow::{self, SLOTS};
use crate::common::futex::SpinLock;
use crate::common::name::ThreadName;
use crate::common::real::{raw_mmap, raw_munmap};
use crate::common::tls;

mod held;

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
    /// The locks that were held before.
    under: u32,
}

/// Blocks that a thread remembers as its own.
const BLOCKS: usize = 64;
const CONTEXT_CACHE: usize = 4096;
const SITE_CACHE: usize = 4096;
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

/// The sites of the places in a call's function, once its chain is known: the first one's, and how many. They
/// stand behind all calls, in the same order, because inline code pushes and pops calls: an access finds
/// its site here without a look at the chain, which is far away.
#[derive(Clone, Copy)]
#[repr(C)]
struct Sites {
    first: u32,
    places: u32,
}

const STACK_BYTES: usize = STACK_DEPTH * (size_of::<Call>() + size_of::<Sites>());

/// What every remembered access looks at stands together at the start, in two lines of the cache: code
/// that accesses memory here and there leaves no more than that in it.
#[repr(C, align(64))]
pub struct Thread {
    /// The epoch of now in a cell's form, 0 when it has none. The fast path compares with that, too, without
    /// the locks.
    pub now: u64,
    pub slot: u32,
    /// The block that numbers its segments; 0 when there was none left.
    block: u32,
    pub lockset: u32,
    /// How many locksets the present segment had.
    levels: u32,
    pub ignore_reads: u32,
    pub ignore_writes: u32,
    pub looks: Looks,
    /// What the signallers of the last wait knew; joined unless a write/read relation is found.
    pub pending_signal: Option<Box<Clocks>>,
    /// The calls that have not returned; while the thread runs, its block knows how many.
    stack: *mut Call,
    pub clocks: Clocks,
    pub past: super::step::Pasts,
    /// The block that numbers the segments in which it allocates; 0 when it did not yet, or there was none left.
    allocating: u32,
    /// The latest blocks that it had.
    blocks: [u32; BLOCKS],
    pub signals: super::signals::Pending,
    top: *mut Call,
    /// Calls beyond the room for them.
    beyond: usize,
    /// Where it says which shadow it changes: see `alone`.
    presence: usize,
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
    pub seen: &'static mut Seen,
}

/// Sites and contexts that the thread asked for lately: what names each, and its id. A program with locks
/// goes through thousands of them again and again. Pages that a thread has no use for stay untouched.
struct Known {
    sites: [(u64, u64, u32); SITE_CACHE],
    contexts: [(u64, u64, u32); CONTEXT_CACHE],
}

impl Thread {
    fn new(from: Start, name: ThreadName, info: u32) -> Box<Thread> {
        let Start { slot, time, block, allocating, presence } = from;
        let presence = alone::presence_of_new(presence);
        let stack = raw_mmap(STACK_BYTES).cast::<Call>();
        // SAFETY: all zeros are tables without entries, and nobody else has the mappings.
        let (known, memo, seen) = unsafe {
            (
                raw_mmap(size_of::<Known>()).cast::<Known>().as_mut(),
                raw_mmap(size_of::<Memo>()).cast::<Memo>().as_mut(),
                raw_mmap(size_of::<Seen>()).cast::<Seen>().as_mut(),
            )
        };
        let (false, Some(known), Some(memo), Some(seen)) = (stack.is_null(), known, memo, seen)
        else {
            crate::common::output::fatal("no address space for a thread's tables\n");
        };
        let mut thread = Box::new(Thread {
            now: 0,
            base: 0,
            slot,
            block,
            allocating,
            time,
            clocks: Clocks::new(),
            lockset: 0,
            levels: 0,
            held: Vec::new(),
            ignore_reads: 0,
            ignore_writes: 0,
            looks: Looks::new(),
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
            past: [(0, 0); super::step::PASTS],
            blocks: [0; BLOCKS],
            signals: super::signals::Pending::new(),
            held_back: super::heap::HeldBack::new(),
            loads: super::loads::Loads::default(),
            stack,
            top: stack,
            beyond: 0,
            presence,
            known,
            memo,
            seen,
        });
        thread.set_time(time);
        thread
    }

    fn set_time(&mut self, time: u64) {
        self.time = time;
        self.base = shadow::epoch(self.slot, time);
        self.clocks.full.set(self.slot as usize, time);
        if self.block != 0 && segments::number(self.block, time).is_none() {
            segments::set_open(self.block, false);
            self.block = 0;
        }
        if self.block == 0 {
            self.block = segments::start(self.slot, time, false).unwrap_or(0);
        }
        if self.block != 0 {
            self.blocks[self.block as usize % BLOCKS] = self.block;
        }
        self.levels = 0;
        self.name_now();
    }

    /// Names the segment, and the locks that are held in it from now on.
    fn name_now(&mut self) {
        let number = match self.block {
            0 => None,
            block => segments::number(block, self.time),
        };
        let level = if self.lockset == 0 { 0 } else { self.levels + 1 };
        self.now = number.map_or(0, |number| cell::epoch(self.block, number, level));
        if level > 0 {
            self.levels = level;
            if let Some(number) = number {
                let known = if self.lockset == UNKNOWN { 0 } else { self.lockset };
                segments::note_lockset(self.block, number, level, known);
            }
        }
        if tls::state() == &raw const *self as usize {
            tls::set_now((self.now & !LEVEL) as usize);
        }
    }

    /// The cell of memory that the thread allocates now, bytes and site left out. `None` when there is no cell for
    /// it, or the program wants no writes to be seen.
    pub fn allocation(&mut self) -> Option<u64> {
        if self.ignore_writes > 0 {
            return None;
        }
        let known = |block| if block == 0 { None } else { segments::number(block, self.time) };
        let number = known(self.allocating).or_else(|| {
            self.allocating = segments::start(self.slot, self.time, true).unwrap_or(0);
            known(self.allocating)
        })?;
        // A lock orders nothing by accident here: see `judge`.
        Some(cell::epoch(self.allocating, number, 0) | cell::WRITE)
    }

    /// Says in what follows which locks are held now.
    pub fn show_lockset(&mut self) {
        if self.lockset != 0 && self.levels as usize == LEVELS - 1 {
            self.tick();
        } else {
            self.name_now();
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
        tls::set_now((this.now & !LEVEL) as usize);
        tls::set_top(this.top as usize);
        tls::set_presence(this.presence);
        this.set_bounds();
    }

    /// No longer the running thread: another is attached, or none.
    pub fn detach(&mut self) {
        self.top = tls::top() as *mut Call;
        tls::set_now(0);
        tls::set_top(0);
        tls::set_limit(0);
        tls::set_base(0);
        tls::set_presence(0);
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

    /// Whether the block is one of its own, as far as it remembers.
    #[inline(always)]
    pub fn has_block(&self, block: usize) -> bool {
        self.blocks[block % BLOCKS] as usize == block
    }

    /// Whether accesses need a look at more than the cells.
    #[inline(always)]
    pub fn is_special(&self) -> bool {
        self.ignore_reads | self.ignore_writes != 0 || self.pending_signal.is_some()
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

    /// A function was called at `call_site`; `callee` is any address that stands for it alone.
    pub fn enter_function(&mut self, call_site: usize, callee: usize) {
        let top = tls::top();
        if top < tls::limit() {
            // The lowest bit would say that there is a description at the address.
            let call = Call { site: call_site as u64, known: (callee as u64 & !1) << 32 };
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
            let (first, places) = CHAINS.sites_of(context);
            // SAFETY: there is room for as many as for calls.
            unsafe { self.sites().add(at).write(Sites { first, places }) };
        }
        context
    }

    /// The sites of the first call on the stack.
    #[inline(always)]
    fn sites(&self) -> *mut Sites {
        // SAFETY: mapped together.
        unsafe { self.stack.add(STACK_DEPTH).cast() }
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
        // A full table cuts the chain here; the inner frames stay right.
        let id = CHAINS
            .that_enters(callee, parent)
            .or_else(|| CHAINS.intern(call_site, callee, parent))
            .or_else(|| CHAINS.intern(call_site, callee, 0))
            .unwrap_or(parent);
        self.known.contexts[at] = (call_site, key, id);
        id
    }

    /// The site of an access now: at this address in the code, or at this place in numbered code.
    #[inline(always)]
    pub fn site(&mut self, code: usize) -> u32 {
        match self.known_site(code) {
            Some(site) => site,
            None => self.find_site(code),
        }
    }

    /// The site of an access at a place in numbered code, when the chain of calls has been asked for before.
    #[inline(always)]
    pub fn known_site(&self, code: usize) -> Option<u32> {
        let top = tls::top() as *const Call;
        if top <= self.stack {
            return None;
        }
        // SAFETY: entries below the top are written, and the sites of calls whose chain is known.
        unsafe {
            let call = top.sub(1);
            if (*call).context() == 0 {
                return None;
            }
            let sites = *self.sites().offset(call.offset_from(self.stack));
            let number = chains::number_of_place((*call).callee(), code);
            number.filter(|number| *number < sites.places).map(|number| sites.first + number)
        }
    }

    #[inline(never)]
    fn find_site(&mut self, code: usize) -> u32 {
        let context = self.context();
        if let Some(site) = self.known_site(code) {
            return site;
        }
        let (at, key) = (code as u64, u64::from(context));
        let mixed = (at ^ key.rotate_left(40)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let cached = &mut self.known.sites[(mixed >> (64 - SITE_CACHE.ilog2())) as usize];
        if cached.0 != at || cached.1 != key || cached.2 == 0 {
            *cached = (at, key, CHAINS.site_of_access(code, context).unwrap_or(0));
        }
        cached.2
    }

    /// The segment that numbers go on from when another thread gets the slot.
    fn end(&self) -> Start {
        if self.block != 0 {
            segments::set_open(self.block, false);
        }
        let presence = (self.presence != 0).then_some(self.presence);
        let (block, allocating) = (self.block, self.allocating);
        Start { slot: self.slot, time: self.time, block, allocating, presence }
    }
}

/// The lockset of a thread when there is no room for its name.
const UNKNOWN: u32 = u32::MAX;

/// Where a thread's time begins, or ended.
#[derive(Clone, Copy)]
struct Start {
    slot: u32,
    time: u64,
    /// 0: none yet.
    block: u32,
    allocating: u32,
    /// That of a thread that has ended.
    presence: Option<usize>,
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
    /// Slots of dead threads, with the last time of each.
    free: Vec<Start>,
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
            let start = Start { slot: 0, time: 1, block: 0, allocating: 0, presence: None };
            let thread = Box::into_raw(Thread::new(start, ThreadName::MAIN, 0));
            inner.live.push(thread);
            thread
        })
    }

    /// A thread that `creator` is about to start, ordered after everything the creator did.
    pub fn add(&self, creator: &mut Thread, created_at: u32, routine: usize) -> *mut Thread {
        creator.children += 1;
        let name = creator.name.child(creator.children);
        let (start, info) = self.with(|inner| {
            let start = inner.take_slot(creator);
            let info = inner.infos.len() as u32;
            inner.infos.push(ThreadInfo {
                name,
                created_at,
                parent: creator.info,
                slot: start.slot,
                first_time: start.time,
                stack_range: (0, 0),
                start_routine: routine,
                registered: false,
            });
            (start, info)
        });
        let mut thread = Thread::new(start, name, info);
        creator.release_into(&mut thread.clocks);
        thread.clocks.full.set(start.slot as usize, start.time);
        let thread = Box::into_raw(thread);
        self.with(|inner| inner.live[start.slot as usize] = thread);
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
            inner.free.push(thread.end());
        });
        let (stack, known) = (thread.stack, &raw mut *thread.known);
        let (memo, seen) = (&raw mut *thread.memo, &raw mut *thread.seen);
        drop(thread);
        // SAFETY: mapped by `Thread::new` with these sizes, and what referred to them is gone.
        unsafe {
            raw_munmap(stack.cast(), STACK_BYTES);
            raw_munmap(known.cast(), size_of::<Known>());
            raw_munmap(memo.cast(), size_of::<Memo>());
            raw_munmap(seen.cast(), size_of::<Seen>());
        };
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

    /// Orders all that other threads did so far before what this one does next.
    pub fn acquire_all(&self, thread: &mut Thread) {
        self.with(|inner| {
            for (slot, other) in inner.live.iter().enumerate() {
                if other.is_null() || slot == thread.slot as usize {
                    continue;
                }
                // SAFETY: not buried while the registry is locked. The other thread may go on meanwhile, and its
                // time is one word.
                let time = unsafe { (&raw const (**other).time).read_volatile() };
                thread.clocks.full.raise(slot, time);
                thread.clocks.weak.raise(slot, time);
            }
        });
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
            for (slot, thread) in inner.live.iter_mut().enumerate() {
                if *thread == survivor || thread.is_null() {
                    continue;
                }
                // What the others did before is all that they will ever do to this copy of the memory.
                // SAFETY: the survivor is the calling thread, and the others' states are a copy that nobody
                // changes.
                unsafe {
                    (*survivor).clocks.full.raise(slot, (**thread).time);
                    (*survivor).clocks.weak.raise(slot, (**thread).time);
                }
                *thread = std::ptr::null_mut();
            }
        });
    }
}

impl Inner {
    /// A slot is reused when the creator knows all that its last owner did: whoever learns of the
    /// new thread then knows the old one's past too, so no order is invented. Otherwise a new slot
    /// is taken, so that clocks grow with unjoined threads only.
    fn take_slot(&mut self, creator: &Thread) -> Start {
        let known = |end: &Start| {
            creator.clocks.full.get(end.slot as usize) >= end.time
                && creator.clocks.weak.get(end.slot as usize) >= end.time
        };
        let next = |end: Start| Start { time: end.time + 1, ..end };
        if let Some(at) = self.free.iter().rposition(known) {
            return next(self.free.swap_remove(at));
        }
        if self.live.len() < SLOTS {
            self.live.push(std::ptr::null_mut());
            let slot = self.live.len() as u32 - 1;
            return Start { slot, time: 1, block: 0, allocating: 0, presence: None };
        }
        if self.free.is_empty() {
            crate::common::output::fatal("more than 65536 threads at once\n");
        }
        self.forced_reuse += 1;
        next(self.free.swap_remove(0))
    }
}
