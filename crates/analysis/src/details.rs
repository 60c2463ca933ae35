//! Which functions were looked into after their summaries were made.
//!
//! From then on most of a function is asked for by its summary: what it accesses, calls and creates.
//! Some stages look into bodies again. As long as they look at anything but what computations and
//! comparisons make of their operands, the [skeleton](crate::view) has it; where they look at that,
//! they get the body from [`Details::of`], which takes a note. A program in which only other functions
//! have other details is judged as this one is.

use std::sync::atomic::{AtomicBool, Ordering};

use racewarden_ir::{Function, FunctionId, Program};

pub struct Details<'a> {
    program: &'a Program,
    seen: Vec<AtomicBool>,
}

impl<'a> Details<'a> {
    pub fn new(program: &'a Program) -> Self {
        let mut seen = Vec::new();
        seen.resize_with(program.module.functions.len(), AtomicBool::default);
        Details { program, seen }
    }

    /// The function with all that it computes.
    pub fn of(&self, id: FunctionId) -> &'a Function {
        self.seen[id.index()].store(true, Ordering::Relaxed);
        self.program.module.function(id)
    }

    /// The functions that were looked into.
    pub fn seen(&self) -> impl Iterator<Item = FunctionId> {
        let ids = self.program.module.function_ids().zip(&self.seen);
        ids.filter(|(_, seen)| seen.load(Ordering::Relaxed)).map(|(id, _)| id)
    }
}
