//! Walks the recorded streams over the program model again.
//!
//! The recording says only what the model cannot know; everything else is computed here. Values
//! are numbers as long as they cannot change with the schedule, and expressions over shared reads
//! otherwise; floating point only as numbers. What the model does not compute (wide integers, vectors,
//! inline assembly, code outside) becomes *opaque*: its inputs are pinned to what they were, so its result
//! is what it was, and the recording gives it where it reaches memory or a branch.
//!
//! Loops over arrays that the recorder wrote down as a whole are passed over (`even`). What it left
//! out because it can be computed here, is: branches, local memory (`private`), and, before all else,
//! the records of accesses (`derive`).
//!
//! A stream that does not fit the program ends the thread's path there: what came before is still
//! a path of the program.

mod calls;
mod derive;
mod even;
mod explore;
pub(super) mod floating;
mod machine;
mod private;
mod replay;

use racewarden_ir::{BlockId, FunctionId, GlobalId, InstId, Linkage, Program};
use racewarden_trace::binary::{Recording, SymbolKind};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::locations::Places;
use super::path::ThreadPath;
pub use derive::expanded;
pub use machine::NotComputed;

/// The program and where its symbols lay in the recorded run.
pub struct Image<'p> {
    pub program: &'p Program,
    functions: FxHashMap<u64, FunctionId>,
    function_addresses: FxHashMap<FunctionId, u64>,
    global_addresses: FxHashMap<GlobalId, u64>,
    /// Functions whose start is not recorded.
    called: FxHashSet<FunctionId>,
    /// Functions whose one argument is always recorded, in traces before version 4.
    entered: FxHashSet<FunctionId>,
    /// Which unit has a body of which function.
    defined: FxHashSet<(u32, FunctionId)>,
    /// Per function: instructions without records.
    left_out: Vec<Option<FxHashSet<InstId>>>,
    /// Branches of loops that have a record only where they are not come to from this block.
    rounds: FxHashMap<(FunctionId, InstId), BlockId>,
    /// Loads without records that find what another instruction loaded or stored.
    repeated: FxHashMap<(FunctionId, InstId), InstId>,
}

impl<'p> Image<'p> {
    pub fn new(program: &'p Program, recording: &Recording) -> Self {
        let module = &program.module;
        let mut by_name: FxHashMap<(&str, Option<u32>), FunctionId> = FxHashMap::default();
        for id in module.function_ids() {
            let function = module.function(id);
            if function.is_declaration() {
                continue;
            }
            let unit = (function.linkage == Linkage::Internal)
                .then(|| program.function_units.get(id.index()).copied().unwrap_or(0));
            by_name.insert((module.name_text(function.name), unit), id);
        }
        let mut image = Image {
            program,
            functions: FxHashMap::default(),
            function_addresses: FxHashMap::default(),
            global_addresses: FxHashMap::default(),
            called: FxHashSet::default(),
            entered: FxHashSet::default(),
            defined: FxHashSet::default(),
            left_out: vec![None; module.function_ids().count()],
            rounds: FxHashMap::default(),
            repeated: FxHashMap::default(),
        };
        for symbol in &recording.symbols {
            let name = symbol.name.as_str();
            match symbol.kind {
                SymbolKind::Function | SymbolKind::CalledFunction | SymbolKind::EnteredFunction => {
                    let found =
                        by_name.get(&(name, Some(symbol.unit))).or(by_name.get(&(name, None)));
                    if let Some(&id) = found {
                        image.functions.insert(symbol.address, id);
                        image.defined.insert((symbol.unit, id));
                        image.function_addresses.entry(id).or_insert(symbol.address);
                        match symbol.kind {
                            SymbolKind::CalledFunction => image.called.insert(id),
                            SymbolKind::EnteredFunction => image.entered.insert(id),
                            _ => false,
                        };
                    }
                }
                SymbolKind::Global | SymbolKind::LeftOut => {}
            }
        }
        image.find_left_out(recording);
        image.find_globals(recording);
        image
    }

    /// Where the globals lie. A `static` is one of its unit; of the others there is one of a name.
    fn find_globals(&mut self, recording: &Recording) {
        let module = &self.program.module;
        let units = &self.program.global_units;
        let of_unit = |id: GlobalId| {
            let internal = module.global(id).linkage == Linkage::Internal;
            internal.then(|| units.get(id.index()).copied().unwrap_or(0))
        };
        let mut statics: FxHashMap<(&str, u32), GlobalId> = FxHashMap::default();
        let mut others: FxHashMap<&str, GlobalId> = FxHashMap::default();
        for id in module.global_ids().filter(|id| !module.global(*id).thread_local) {
            let name = module.name_text(module.global(id).name);
            match of_unit(id) {
                Some(unit) => statics.insert((name, unit), id),
                None => others.insert(name, id),
            };
        }
        let mut clashes = FxHashSet::default();
        for symbol in recording.symbols.iter().filter(|s| s.kind == SymbolKind::Global) {
            let name = symbol.name.as_str();
            let found = statics.get(&(name, symbol.unit)).or_else(|| others.get(name));
            if let Some(&id) = found
                && *self.global_addresses.entry(id).or_insert(symbol.address) != symbol.address
            {
                clashes.insert(id);
            }
        }
        self.global_addresses.retain(|id, _| !clashes.contains(id));
    }

    fn find_left_out(&mut self, recording: &Recording) {
        let lists = recording.symbols.iter().filter(|symbol| symbol.kind == SymbolKind::LeftOut);
        for symbol in lists {
            let Some(&id) = self.functions.get(&symbol.address) else { continue };
            for (load, first) in symbol.name.split(',').filter_map(|item| item.split_once('=')) {
                if let (Ok(load), Ok(first)) = (load.parse(), first.parse()) {
                    self.repeated.insert((id, InstId(load)), InstId(first));
                }
            }
            let function = self.program.module.function(id);
            for (branch, back) in symbol.name.split(',').filter_map(|item| item.split_once('^')) {
                let (Ok(branch), Ok(back)) = (branch.parse(), back.parse()) else { continue };
                let mut blocks = function.block_ids();
                let last = blocks.find(|block| {
                    function.block_instructions(*block).any(|(inst, _)| inst == InstId(back))
                });
                if let Some(last) = last {
                    self.rounds.insert((id, InstId(branch)), last);
                }
            }
            let numbers = symbol.name.split(',').filter_map(|number| number.parse().ok());
            if let Some(list) = self.left_out.get_mut(id.index()) {
                *list = Some(numbers.map(InstId).collect());
            }
        }
    }

    /// The instructions of the function that have no records, if there are any.
    fn left_out(&self, function: FunctionId) -> Option<&FxHashSet<InstId>> {
        self.left_out.get(function.index())?.as_ref()
    }

    /// The name of the global that holds the address, with the offset in it.
    pub fn global_at(&self, address: u64) -> Option<(GlobalId, u64)> {
        self.global_addresses.iter().find_map(|(&id, &start)| {
            let size = self.program.module.global(id).size.max(1);
            (address >= start && address < start + size).then(|| (id, address - start))
        })
    }
}

/// Walks every thread. With `detours`, sides of branches that were not taken are explored too.
pub fn walk(
    image: &Image,
    recording: &Recording,
    places: &Places,
    detours: bool,
) -> Vec<ThreadPath> {
    (0..recording.threads.len())
        .into_par_iter()
        .map(|thread| replay::walk_thread(image, recording, places, thread, detours))
        .collect()
}
