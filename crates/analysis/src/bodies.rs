//! Functions' bodies as stages after the summaries see them.
//!
//! From then on most of a function is asked for by its summary: what it accesses, calls and creates.
//! Some stages look into bodies again. What they get by default is a body without its details, the
//! operators and numbers that the [skeleton](crate::view) leaves out: [`Bodies::op`] gives an
//! instruction with other ones in their place. Who needs the details asks for [`Bodies::of`], which takes
//! a note. So a program in which only other functions have other details is judged as this one is,
//! whatever a stage does with what it got.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

use racewarden_ir::{
    Block, Callee, FieldPath, Function, FunctionId, Global, GlobalId, InlinedFrame, InstId, NameId,
    Note, Op, Param, Program, TypeTable,
};

use crate::cfg::Cfg;
use crate::draft::{Place, Spot, place_in};
use crate::effects::{Effect, Effects};
use crate::pointsto::{CallSite, Lengths};
use crate::view;

pub struct Bodies<'a> {
    program: &'a Program,
    effects: &'a Effects,
    seen: Vec<AtomicBool>,
}

impl Lengths for Bodies<'_> {
    fn length(&self, function: FunctionId) -> u32 {
        self.program.length(function)
    }
}

impl<'a> Bodies<'a> {
    pub fn new(program: &'a Program, effects: &'a Effects) -> Self {
        let mut seen = Vec::new();
        seen.resize_with(program.module.functions.len(), AtomicBool::default);
        Bodies { program, effects, seen }
    }

    /// The function with all that it computes.
    pub fn of(&self, id: FunctionId) -> &'a Function {
        self.seen[id.index()].store(true, Ordering::Relaxed);
        self.function(id)
    }

    /// The functions that were looked into.
    pub fn seen(&self) -> impl Iterator<Item = FunctionId> {
        let ids = self.ids().zip(&self.seen);
        ids.filter(|(_, seen)| seen.load(Ordering::Relaxed)).map(|(id, _)| id)
    }

    /// What the instruction does, without details.
    pub fn op(&self, site: CallSite) -> Option<Cow<'a, Op>> {
        let body = self.program.module.functions.get(site.0.index())?;
        Some(self.bare(&body.instructions.get(site.1 as usize)?.op))
    }

    /// What a call calls.
    pub fn callee(&self, site: CallSite) -> Option<&'a Callee> {
        let body = self.program.module.functions.get(site.0.index())?;
        match &body.instructions.get(site.1 as usize)?.op {
            Op::Call { callee, .. } => Some(callee),
            _ => None,
        }
    }

    /// The function's calls.
    pub fn calls(&self, id: FunctionId) -> impl Iterator<Item = (u32, &'a Callee)> {
        let body = self.function(id);
        (0u32..).zip(&body.instructions).filter_map(|(inst, instruction)| match &instruction.op {
            Op::Call { callee, .. } => Some((inst, callee)),
            _ => None,
        })
    }

    /// What the function's instructions do, without details.
    pub fn ops(&self, id: FunctionId) -> impl DoubleEndedIterator<Item = (u32, Cow<'a, Op>)> {
        let body = self.function(id);
        (0..body.instructions.len()).map(|at| (at as u32, self.bare(&body.instructions[at].op)))
    }

    fn bare(&self, op: &'a Op) -> Cow<'a, Op> {
        // A function of which nothing but that it is unknown is said may have no model.
        let says_nothing = |own: &[Effect]| own.iter().all(|effect| *effect == Effect::Unknown);
        let plain = |id: FunctionId| self.effects.of(id).is_none_or(says_nothing);
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
        Cfg::new(self.function(id))
    }

    pub fn blocks(&self, id: FunctionId) -> &'a [Block] {
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
        self.function(site.0).path_of(InstId(site.1))
    }

    pub fn operand_path(&self, site: CallSite, operand: u32) -> Option<&'a FieldPath> {
        self.function(site.0).operand_path(InstId(site.1), operand)
    }

    pub fn inlined(&self, site: CallSite) -> &'a [InlinedFrame] {
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
