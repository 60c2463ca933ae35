//! The tool that libomp tells what its threads do. Numbers are those of `omp-tools.h`.
//!
//! - A team starts after whoever opens the region; that goes on after all of the team have ended.
//! - Whoever leaves a barrier comes after all who arrived, and after the team's tasks.
//! - A task starts after it was made and after the tasks it depends on; whoever waits for tasks
//!   comes after those it made, or after those of its group.
//! - Whoever passes a `single` by comes after the thread that took it.
//!
//! Tasks of one thread keep their order on it, which can only hide a race.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use racewarden_trace::binary::{OPENMP_TELLS, SyncOp};

use super::{Channel, dependence, got, object, put, put_beside};
use crate::record::threads::sync;
use crate::record::writer;

/// The word that libomp keeps for a tool, for each region and each task.
type Word = *mut u64;
type Place = *const c_void;

static NEXT: AtomicU32 = AtomicU32::new(1);

fn next() -> u32 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// What is known about a task. Only the thread that runs it, or that makes it, touches it.
#[derive(Default)]
struct Task {
    number: u32,
    team: u32,
    /// The task that made it.
    parent: u32,
    /// The group that it was made in.
    group: u32,
    /// Groups that it has opened.
    open: Vec<u32>,
    barriers: u32,
    singles: u32,
    is_explicit: bool,
    is_started: bool,
    /// Variables it depends on, and whether it writes them.
    depends: Vec<(u64, bool)>,
}

/// What stands for all variables.
const ALL_MEMORY: u64 = 0;

impl Task {
    /// The task of the word; `None` for one that nothing was told about.
    fn of<'t>(word: Word) -> Option<&'t mut Task> {
        // SAFETY: the word is null, or libomp's for this task, where only `keep` puts a pointer.
        unsafe { word.as_ref().and_then(|word| (*word as *mut Task).as_mut()) }
    }

    fn keep(self, word: Word) {
        // SAFETY: as above.
        if let Some(word) = unsafe { word.as_mut() } {
            *word = Box::into_raw(Box::new(self)) as u64;
        }
    }

    /// The task is over; libomp does not speak of it again.
    fn forget(word: Word) {
        // SAFETY: as above; the word forgets the pointer with it.
        unsafe {
            if let Some(word) = word.as_mut().filter(|word| **word != 0) {
                drop(Box::from_raw(*word as *mut Task));
                *word = 0;
            }
        }
    }

    fn begin(&mut self) {
        self.is_started = true;
        got(object(Channel::Task, self.number, 0));
        self.wait_for_others();
    }

    fn wait_for_others(&self) {
        for &(address, writes) in &self.depends {
            got(dependence(Channel::Written, address));
            if writes {
                got(dependence(Channel::Read, address));
            }
            if address == ALL_MEMORY {
                got(object(Channel::Depending, 0, 0));
            }
        }
        if !self.depends.is_empty() {
            got(dependence(Channel::Written, ALL_MEMORY));
        }
    }

    fn end(&self) {
        put_beside(object(Channel::Children, self.parent, 0));
        put_beside(object(Channel::TeamTasks, self.team, 0));
        if self.group != 0 {
            put_beside(object(Channel::Group, self.group, 0));
        }
        for &(address, writes) in &self.depends {
            let channel = if writes { Channel::Written } else { Channel::Read };
            put_beside(dependence(channel, address));
        }
        if !self.depends.is_empty() {
            put_beside(object(Channel::Depending, 0, 0));
        }
    }
}

fn team_of(region: Word) -> u32 {
    // SAFETY: the word is null, or libomp's for this region, where only `parallel_begin` writes.
    unsafe { region.as_ref().map_or(0, |number| *number as u32) }
}

const BEGIN: c_int = 1;
const END: c_int = 2;

extern "C" fn parallel_begin(_: Word, _: Place, region: Word, _: u32, _: c_int, _: Place) {
    let team = next();
    // SAFETY: libomp's word for this region.
    if let Some(word) = unsafe { region.as_mut() } {
        *word = u64::from(team);
    }
    put(object(Channel::TeamStart, team, 0));
}

extern "C" fn parallel_end(region: Word, _: Word, _: c_int, _: Place) {
    got(object(Channel::TeamEnd, team_of(region), 0));
}

extern "C" fn implicit_task(at: c_int, region: Word, word: Word, _: u32, _: u32, _: c_int) {
    if at == BEGIN {
        let team = team_of(region);
        Task { number: next(), team, is_started: true, ..Task::default() }.keep(word);
        got(object(Channel::TeamStart, team, 0));
    } else if let Some(task) = Task::of(word) {
        put_beside(object(Channel::TeamEnd, task.team, 0));
        Task::forget(word);
    }
}

const BARRIERS: [c_int; 7] = [1, 2, 3, 4, 8, 9, 10];
const TASKWAIT: c_int = 5;
const TASKGROUP: c_int = 6;

extern "C" fn sync_region(kind: c_int, at: c_int, _: Word, word: Word, _: Place) {
    let Some(task) = Task::of(word) else {
        // All that is known is that somebody waits for somebody.
        let unknown = object(Channel::Unknown, 0, 0);
        return if at == BEGIN { put_beside(unknown) } else { got(unknown) };
    };
    match (kind, at) {
        (TASKWAIT, END) => got(object(Channel::Children, task.number, 0)),
        (TASKGROUP, BEGIN) => task.open.push(next()),
        (TASKGROUP, END) => {
            if let Some(group) = task.open.pop() {
                got(object(Channel::Group, group, 0));
            }
        }
        (kind, BEGIN) if BARRIERS.contains(&kind) => {
            task.barriers += 1;
            sync(SyncOp::BarrierArrive, object(Channel::Barrier, task.team, task.barriers), 0);
        }
        (kind, END) if BARRIERS.contains(&kind) => {
            sync(SyncOp::BarrierLeave, object(Channel::Barrier, task.team, task.barriers), 0);
            got(object(Channel::TeamTasks, task.team, 0));
        }
        _ => {}
    }
}

const INITIAL: c_int = 1;

extern "C" fn task_create(maker: Word, _: Place, word: Word, flags: c_int, _: c_int, _: Place) {
    if flags & INITIAL != 0 {
        return;
    }
    let (team, parent, group) = match Task::of(maker) {
        Some(maker) => (maker.team, maker.number, *maker.open.last().unwrap_or(&maker.group)),
        None => (0, 0, 0),
    };
    let number = next();
    Task { number, team, parent, group, is_explicit: true, ..Task::default() }.keep(word);
    put(object(Channel::Task, number, 0));
}

#[repr(C)]
struct Dependence {
    variable: u64,
    kind: c_int,
}

extern "C" fn dependences(word: Word, list: *const Dependence, count: c_int) {
    const IN: c_int = 1;
    /// Iterations of a loop: the calls tell them.
    const ITERATIONS: [c_int; 2] = [5, 6];
    const ALL: [c_int; 2] = [34, 35];
    let Some(task) = Task::of(word).filter(|_| !list.is_null() && count > 0) else { return };
    // SAFETY: libomp passes so many of them.
    for entry in unsafe { std::slice::from_raw_parts(list, count as usize) } {
        if ITERATIONS.contains(&entry.kind) {
            continue;
        }
        let address = if ALL.contains(&entry.kind) { ALL_MEMORY } else { entry.variable };
        task.depends.push((address, entry.kind != IN));
    }
}

extern "C" fn task_schedule(prior: Word, status: c_int, following: Word) {
    const YIELD: c_int = 2;
    const DETACHED: c_int = 4;
    const FULFILLED_EARLY: c_int = 5;
    const SWITCH: c_int = 7;
    const WAITED: c_int = 8;
    if let Some(task) = Task::of(prior).filter(|task| task.is_explicit) {
        match status {
            YIELD | SWITCH => put(object(Channel::Suspended, task.number, 0)),
            WAITED => task.wait_for_others(),
            _ => task.end(),
        }
        if !matches!(status, YIELD | SWITCH | DETACHED | FULFILLED_EARLY) {
            Task::forget(prior);
        }
    }
    if let Some(task) = Task::of(following).filter(|task| task.is_explicit) {
        match task.is_started {
            false => task.begin(),
            true => got(object(Channel::Suspended, task.number, 0)),
        }
    }
}

extern "C" fn work(kind: c_int, at: c_int, _: Word, word: Word, _: u64, _: Place) {
    const EXECUTOR: c_int = 3;
    const OTHER: c_int = 4;
    if at != BEGIN || !matches!(kind, EXECUTOR | OTHER) {
        return;
    }
    let Some(task) = Task::of(word) else { return };
    task.singles += 1;
    let single = object(Channel::Single, task.team, task.singles);
    if kind == EXECUTOR { put(single) } else { got(single) }
}

type ParallelInfo = unsafe extern "C" fn(c_int, *mut Word, *mut c_int) -> c_int;

/// libomp's `ompt_get_parallel_info`, zero while it is not known.
static PARALLEL_INFO: AtomicUsize = AtomicUsize::new(0);

/// # Safety
/// Called where the library adds up the parts of a reduction by tasks. It waited for the tasks, and says
/// so only after the parts are gone. Its parts may be those of a whole team, so all tasks of the team that
/// are done are taken to be among them: this can only hide a race.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_gathers() {
    let info = PARALLEL_INFO.load(Ordering::Acquire);
    if info == 0 {
        return;
    }
    const INNERMOST: c_int = 0;
    let (mut region, mut size): (Word, c_int) = (std::ptr::null_mut(), 0);
    // SAFETY: libomp's function of this signature, which may be called on any of its threads.
    let info = unsafe { std::mem::transmute::<usize, ParallelInfo>(info) };
    // SAFETY: as above; both places are there to be written.
    if unsafe { info(INNERMOST, &raw mut region, &raw mut size) } != 0 {
        got(object(Channel::TeamTasks, team_of(region), 0));
    }
}

type Lookup = unsafe extern "C" fn(*const c_char) -> usize;
type SetCallback = unsafe extern "C" fn(c_int, *const c_void) -> c_int;

extern "C" fn initialize(lookup: Lookup, _: c_int, _: Word) -> c_int {
    // SAFETY: the standard's way to get at what registers callbacks.
    let set = unsafe { lookup(c"ompt_set_callback".as_ptr()) };
    if set == 0 {
        return 0;
    }
    // SAFETY: as above.
    let parallel_info = unsafe { lookup(c"ompt_get_parallel_info".as_ptr()) };
    PARALLEL_INFO.store(parallel_info, Ordering::Release);
    let callbacks: [(c_int, *const c_void); 8] = [
        (3, parallel_begin as *const c_void),
        (4, parallel_end as *const c_void),
        (5, task_create as *const c_void),
        (6, task_schedule as *const c_void),
        (7, implicit_task as *const c_void),
        (18, dependences as *const c_void),
        (20, work as *const c_void),
        (23, sync_region as *const c_void),
    ];
    const ALWAYS: c_int = 5;
    let mut is_told = true;
    for (number, callback) in callbacks {
        // SAFETY: the function of this name has this signature; so have the callbacks.
        let result = unsafe { std::mem::transmute::<usize, SetCallback>(set)(number, callback) };
        is_told &= result == ALWAYS;
    }
    if is_told {
        put(OPENMP_TELLS);
    }
    1
}

extern "C" fn finalize(_: Word) {}

#[repr(C)]
pub struct Tool {
    initialize: extern "C" fn(Lookup, c_int, Word) -> c_int,
    finalize: extern "C" fn(Word),
    data: u64,
}

static mut TOOL: Tool = Tool { initialize, finalize, data: 0 };

/// Asked for by libomp when it starts.
#[unsafe(no_mangle)]
pub extern "C" fn ompt_start_tool(_version: u32, _runtime: *const c_char) -> *mut Tool {
    if writer::is_recording() { &raw mut TOOL } else { std::ptr::null_mut() }
}
