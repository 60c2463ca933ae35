//! Functions' bodies as stages after the summaries see them.
//!
//! From then on most of a function is asked for by its summary: what it accesses, calls and creates.
//! Some stages look into bodies again. What they get by default is a body without its details, the
//! operators and numbers that the [skeleton](crate::view) leaves out: [`Bodies::op`] gives an
//! instruction with other ones in their place. Who needs the details asks for [`Bodies::of`], which takes
//! a note. So a program in which only other functions have other details is judged as this one is,
//! whatever a stage does with what it got.
//!
//! Which functions and instructions were looked at is noted, too, for programs in which functions have
//! other instructions ([`crate::takeover`]). Stages that go through all functions use [`Bodies::scan`],
//! which notes nothing, and keep to what may be asked of it.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

use racewarden_ir::{
    Block, Callee, FieldPath, Function, FunctionId, Global, GlobalId, InlinedFrame, InstId, NameId,
    Note, Op, Param, Program, TypeTable,
};
use serde::{Deserialize, Serialize};

use crate::cfg::Cfg;
use crate::draft::{Place, Spot, place_in};
use crate::effects::{Effect, Effects};
use crate::pointsto::{CallSite, Lengths};
use crate::view;

pub struct Bodies<'a> {
    program: &'a Program,
    effects: &'a Effects,
    seen: Vec<AtomicBool>,
    /// Functions that were gone through, beside scans.
    searched: Vec<AtomicBool>,
    /// Instructions that were looked at; those of a function begin at its base.
    looked_at: Vec<AtomicBool>,
    bases: Vec<usize>,
}

/// Whether numbers that are passed to the function are details.
pub fn is_plain(effects: &Effects, id: FunctionId) -> bool {
    // A function of which nothing but that it is unknown is said may have no model.
    let says_nothing = |own: &[Effect]| own.iter().all(|effect| *effect == Effect::Unknown);
    effects.of(id).is_none_or(says_nothing)
}

/// What was looked at in a function.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Looks {
    /// All of it, with its details.
    pub seen: bool,
    /// All of it, without its details.
    pub searched: bool,
    /// These instructions, without their details.
    pub insts: Vec<u32>,
}

fn mark(flags: &[AtomicBool], index: usize) {
    if let Some(flag) = flags.get(index) {
        flag.store(true, Ordering::Relaxed);
    }
}

fn flags(count: usize) -> Vec<AtomicBool> {
    let mut flags = Vec::new();
    flags.resize_with(count, AtomicBool::default);
    flags
}

impl Lengths for Bodies<'_> {
    fn length(&self, function: FunctionId) -> u32 {
        self.program.length(function)
    }
}

impl<'a> Bodies<'a> {
    pub fn new(program: &'a Program, effects: &'a Effects) -> Self {
        let count = program.module.functions.len();
        let mut total = 0;
        let mut bases = Vec::with_capacity(count);
        for function in &program.module.functions {
            bases.push(total);
            total += function.instructions.len();
        }
        let (seen, searched, looked_at) = (flags(count), flags(count), flags(total));
        Bodies { program, effects, seen, searched, looked_at, bases }
    }

    /// For who does not ask what was looked at.
    pub fn unwatched(program: &'a Program, effects: &'a Effects) -> Self {
        let (seen, searched, looked_at, bases) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Bodies { program, effects, seen, searched, looked_at, bases }
    }

    fn look_at(&self, site: CallSite) {
        let base = self.bases.get(site.0.index()).copied().unwrap_or(usize::MAX);
        mark(&self.looked_at, base.saturating_add(site.1 as usize));
    }

    /// What was looked at in each function beside scans.
    pub fn looks(&self) -> Vec<Looks> {
        let is_set = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        self.ids()
            .map(|id| {
                let index = id.index();
                let own = &self.looked_at[self.bases[index]..][..self.length(id) as usize];
                let insts = (0..).zip(own).filter(|(_, flag)| is_set(flag)).map(|(inst, _)| inst);
                Looks {
                    seen: is_set(&self.seen[index]),
                    searched: is_set(&self.searched[index]),
                    insts: insts.collect(),
                }
            })
            .collect()
    }

    /// Notes what an earlier check looked at, where instructions have other numbers now.
    pub fn look_again(&self, looks: &[Looks], number: &dyn Fn(CallSite) -> Option<CallSite>) {
        for (id, own) in self.ids().zip(looks) {
            let Looks { seen, searched, insts } = own;
            if *seen {
                mark(&self.seen, id.index());
            }
            if *searched {
                mark(&self.searched, id.index());
            }
            for inst in insts {
                match number((id, *inst)) {
                    Some(site) => self.look_at(site),
                    None => mark(&self.searched, id.index()),
                }
            }
        }
    }

    /// The function with all that it computes.
    pub fn of(&self, id: FunctionId) -> &'a Function {
        mark(&self.seen, id.index());
        self.function(id)
    }

    /// The functions that were looked into.
    pub fn seen(&self) -> impl Iterator<Item = FunctionId> {
        let ids = self.ids().zip(&self.seen);
        ids.filter(|(_, seen)| seen.load(Ordering::Relaxed)).map(|(id, _)| id)
    }

    /// What the instruction does, without details.
    pub fn op(&self, site: CallSite) -> Option<Cow<'a, Op>> {
        self.look_at(site);
        self.scanned_op(site)
    }

    /// As [`Bodies::op`] in a [scan](Bodies::scan), of what an operand that is a pointer is made of.
    pub fn scanned_op(&self, site: CallSite) -> Option<Cow<'a, Op>> {
        let body = self.program.module.functions.get(site.0.index())?;
        Some(self.bare(&body.instructions.get(site.1 as usize)?.op))
    }

    /// What a call calls.
    pub fn callee(&self, site: CallSite) -> Option<&'a Callee> {
        self.look_at(site);
        let body = self.program.module.functions.get(site.0.index())?;
        match &body.instructions.get(site.1 as usize)?.op {
            Op::Call { callee, .. } => Some(callee),
            _ => None,
        }
    }

    /// The function's calls. Part of a [scan](Bodies::scan).
    pub fn calls(&self, id: FunctionId) -> impl Iterator<Item = (u32, &'a Callee)> {
        let body = self.function(id);
        (0u32..).zip(&body.instructions).filter_map(|(inst, instruction)| match &instruction.op {
            Op::Call { callee, .. } => Some((inst, callee)),
            _ => None,
        })
    }

    /// What the function's instructions do, without details.
    pub fn ops(&self, id: FunctionId) -> impl DoubleEndedIterator<Item = (u32, Cow<'a, Op>)> {
        mark(&self.searched, id.index());
        self.scan(id)
    }

    /// As [`Bodies::ops`], for who goes through all functions to find calls, atomic operations, and uses of
    /// addresses, and asks of those only what they are and where pointers come from and lead.
    ///
    /// Nothing may depend on anything else in there: computations, where control goes, what is in
    /// variables that hold a number and whose address nobody takes, and plain reads of numbers from
    /// variables of the function. Edits of that are taken for none ([`crate::takeover`]).
    pub fn scan(&self, id: FunctionId) -> impl DoubleEndedIterator<Item = (u32, Cow<'a, Op>)> {
        let body = self.function(id);
        (0..body.instructions.len()).map(|at| (at as u32, self.bare(&body.instructions[at].op)))
    }

    fn bare(&self, op: &'a Op) -> Cow<'a, Op> {
        let plain = |id: FunctionId| is_plain(self.effects, id);
        match view::has_details(op, &plain) {
            true => {
                let mut op = op.clone();
                view::without_details(&mut op, &plain);
                Cow::Owned(op)
            }
            false => Cow::Borrowed(op),
        }
    }

    pub fn cfg(&self, id: FunctionId) -> Cfg {
        mark(&self.searched, id.index());
        Cfg::new(self.function(id))
    }

    pub fn blocks(&self, id: FunctionId) -> &'a [Block] {
        mark(&self.searched, id.index());
        &self.function(id).blocks
    }

    pub fn params(&self, id: FunctionId) -> &'a [Param] {
        &self.function(id).params
    }

    pub fn is_declaration(&self, id: FunctionId) -> bool {
        self.function(id).is_declaration()
    }

    /// What a memory operation accesses, as the programmer wrote it.
    pub fn path(&self, site: CallSite) -> Option<&'a FieldPath> {
        self.look_at(site);
        self.function(site.0).path_of(InstId(site.1))
    }

    pub fn operand_path(&self, site: CallSite, operand: u32) -> Option<&'a FieldPath> {
        self.look_at(site);
        self.function(site.0).operand_path(InstId(site.1), operand)
    }

    pub fn inlined(&self, site: CallSite) -> &'a [InlinedFrame] {
        self.look_at(site);
        self.function(site.0).inlined_at(InstId(site.1))
    }

    /// Where the instruction stands.
    pub fn place(&self, spot: Spot) -> Place {
        place_in(self.program, spot)
    }

    pub fn symbol(&self, id: FunctionId) -> &'a str {
        self.text(self.function(id).name)
    }

    /// The name as the programmer wrote it.
    pub fn display_name(&self, id: FunctionId) -> Option<&'a str> {
        let function = self.program.module.functions.get(id.index())?;
        Some(self.text(function.display_name))
    }

    pub fn ids(&self) -> impl Iterator<Item = FunctionId> + use<> {
        self.program.module.function_ids()
    }

    pub fn count(&self) -> usize {
        self.program.module.functions.len()
    }

    pub fn global(&self, id: GlobalId) -> &'a Global {
        self.program.module.global(id)
    }

    pub fn types(&self) -> &'a TypeTable {
        &self.program.module.types
    }

    pub fn text(&self, name: NameId) -> &'a str {
        self.program.module.name_text(name)
    }

    /// All names in the program.
    pub fn names(&self) -> impl Iterator<Item = &'a str> {
        self.program.module.names.iter().map(|name| &**name)
    }

    /// What kept the program's model from being complete.
    pub fn notes(&self) -> &'a [Note] {
        &self.program.module.notes
    }

    fn function(&self, id: FunctionId) -> &'a Function {
        self.program.module.function(id)
    }
}
