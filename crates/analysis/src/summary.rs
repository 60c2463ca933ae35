//! What a function does, relative to its entry: RELAY's lockset and guarded-access summaries in
//! one, with the thread and escape effects beside them.

use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use racewarden_finding::AccessKind;
use racewarden_ir::FunctionId;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::lives::Lives;
use crate::shared::Placed;
use crate::state::{Fact, Path};
use crate::sym::Sym;
use crate::view::{Bytes, Digest};

/// One way to leave the function.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Exit {
    pub path: Path,
    /// What the returned value is on this way out.
    pub result: Option<Fact>,
}

/// A memory access with the state it happens in (RELAY 3.3).
#[derive(Debug, Clone)]
pub struct Access {
    pub inst: u32,
    /// Which address operand of the instruction: 0 for the only or written one, 1 for the source
    /// of a copy; the argument's number for a call.
    pub operand: u8,
    pub address: Option<Sym>,
    pub size: u64,
    pub kind: AccessKind,
    pub atomic: bool,
    pub state: Arc<Path>,
    /// The object is this function's own and not known elsewhere yet.
    pub private: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallKind {
    Plain,
    /// The body of a `once` call; it runs alone.
    Once,
    /// A member of a container of threads.
    Member,
}

#[derive(Debug, Clone)]
pub struct Call {
    pub inst: u32,
    pub callee: FunctionId,
    pub arguments: Vec<Option<Sym>>,
    pub state: Arc<Path>,
    /// For callees that create threads: as [`Create::apart`], for each argument.
    pub apart: Vec<Option<i64>>,
}

#[derive(Debug, Clone)]
pub struct Create {
    pub inst: u32,
    pub argument: Option<Sym>,
    /// What further parameters of the start function get, from the first on.
    pub passed: Vec<Option<Sym>>,
    pub handle: Option<Sym>,
    pub state: Arc<Path>,
    /// Threads that get different arguments get them at least this many bytes (or units) apart.
    pub apart: Option<i64>,
    /// The call starts several threads with one argument.
    pub many: bool,
    /// Who called the function does not tell the threads apart.
    pub any_chain: bool,
}

/// What is written down of it is what callers see.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Summary {
    pub exits: Vec<Exit>,
    #[serde(skip)]
    pub accesses: Vec<Access>,
    #[serde(skip)]
    pub calls: Vec<Call>,
    #[serde(skip)]
    pub creates: Vec<Create>,
    /// The result in terms of formals and globals, when it is the same on every way out.
    pub result: Option<Sym>,
    /// What it may have done at any point, for callers that catch what it throws.
    pub possible: Path,
    /// It, or something it calls, may end the thread.
    pub ends_thread: bool,
    /// The result is memory that nobody else knows.
    pub returns_fresh: bool,
}

impl Summary {
    /// Whether callers cannot tell the two apart.
    pub fn same_effect(&self, other: &Summary) -> bool {
        self.exits == other.exits
            && self.result == other.result
            && self.possible == other.possible
            && self.ends_thread == other.ends_thread
            && self.returns_fresh == other.returns_fresh
    }

    /// What callers see of it.
    pub fn effect(&self) -> Summary {
        Summary {
            exits: self.exits.clone(),
            result: self.result.clone(),
            possible: self.possible.clone(),
            ends_thread: self.ends_thread,
            returns_fresh: self.returns_fresh,
            ..Summary::default()
        }
    }

    /// All of it that later stages read, in one number: what it returns only callers see. Numbers that
    /// are passed where it does not matter are left out (see
    /// [`Formals::unasked`](crate::actuals::Formals::unasked)); with `entirely` whatever is passed there is.
    pub fn digest(&self, unasked: &[u64], entirely: bool, lists: &Lists) -> Digest {
        // Taken apart so that a part added to a summary is not forgotten here.
        let Summary {
            exits,
            accesses,
            calls,
            creates,
            result: _,
            possible,
            ends_thread,
            returns_fresh,
        } = self;
        let mut bytes = Bytes::default();
        let mut states = States::new(lists);
        (ends_thread, returns_fresh).hash(&mut bytes);
        hash_state(possible, &mut bytes, lists);
        (exits.len(), accesses.len(), calls.len(), creates.len()).hash(&mut bytes);
        for Exit { path, result: _ } in exits {
            hash_state(path, &mut bytes, lists);
        }
        for access in accesses {
            let Access { inst, operand, address, size, kind, atomic, state, private } = access;
            (inst, operand, address, size, kind, atomic, private).hash(&mut bytes);
            states.hash(state, &mut bytes);
        }
        for Call { inst, callee, arguments, state, apart } in calls {
            (inst, callee, arguments.len(), apart).hash(&mut bytes);
            let unasked = unasked.get(callee.index()).copied().unwrap_or_default();
            for (index, argument) in (0u32..).zip(arguments) {
                let is_number = argument.as_ref().is_some_and(|sym| sym.as_constant().is_some());
                let hidden = (is_number || entirely) && index < 63 && unasked & (1 << index) != 0;
                (hidden, argument.as_ref().filter(|_| !hidden)).hash(&mut bytes);
            }
            states.hash(state, &mut bytes);
        }
        for create in creates {
            let Create { inst, argument, passed, handle, state, apart, many, any_chain } = create;
            (inst, argument, passed, handle, apart, many, any_chain).hash(&mut bytes);
            states.hash(state, &mut bytes);
        }
        bytes.digest()
    }
}

/// Lists of threads in one number each. Functions of a recursion have its threads in all of their states,
/// mostly as one list in memory, which is hashed once.
#[derive(Default)]
pub struct Lists(Mutex<FxHashMap<usize, (Lives, Digest)>>);

impl Lists {
    fn digest(&self, threads: &Lives) -> Digest {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, digest)) = known().get(&threads.address()) {
            return *digest;
        }
        let mut bytes = Bytes::default();
        for (id, live) in threads {
            (id, live).hash(&mut bytes);
        }
        let digest = bytes.digest();
        // The list is kept, so that no other gets its place.
        known().insert(threads.address(), (threads.clone(), digest));
        digest
    }
}

/// The states that a summary mentions: many things are done in one state, which is hashed once.
pub struct States<'a> {
    numbers: FxHashMap<*const Path, usize>,
    lists: &'a Lists,
}

impl<'a> States<'a> {
    pub fn new(lists: &'a Lists) -> Self {
        States { numbers: FxHashMap::default(), lists }
    }

    /// As `hash`, for the state under other names; `None` when it has none.
    pub fn hash_renamed(
        &mut self,
        state: &Arc<Path>,
        bytes: &mut Bytes,
        rename: &dyn Fn(&Path) -> Option<Path>,
    ) -> Option<()> {
        let next = self.numbers.len();
        let number = *self.numbers.entry(Arc::as_ptr(state)).or_insert(next);
        number.hash(bytes);
        if number == next {
            hash_state(&rename(state)?, bytes, self.lists);
        }
        Some(())
    }

    fn hash(&mut self, state: &Arc<Path>, bytes: &mut Bytes) {
        let next = self.numbers.len();
        let number = *self.numbers.entry(Arc::as_ptr(state)).or_insert(next);
        number.hash(bytes);
        if number == next {
            hash_state(state, bytes, self.lists);
        }
    }
}

/// All that is known in the state: its own hash stands for threads by a number that is quick to make.
pub fn hash_state(state: &Path, bytes: &mut Bytes, lists: &Lists) {
    // Taken apart so that a part added to the state is not forgotten here.
    let Path {
        held,
        released,
        acquired,
        threads,
        joined,
        joined_values,
        joined_ranges,
        overwritten,
        escaped,
        escaped_arguments,
        facts,
    } = state;
    (held, released, acquired, joined, joined_values, joined_ranges).hash(bytes);
    (overwritten, escaped, escaped_arguments, facts, threads.len()).hash(bytes);
    if !threads.is_empty() {
        lists.digest(threads).hash(bytes);
    }
}
