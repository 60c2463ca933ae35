//! Field paths: what the programmer wrote for an access (`conn->peer.addr[i]`), recovered from
//! the address computation and the debug types.
//!
//! A [`Place`] describes the object at an address. It starts from a variable, a global or a
//! pointer-valued expression; address steps add bytes and indices to it; bytes are resolved into
//! members late, when the access says how much it touches. Names come from `#dbg_declare` and
//! `#dbg_value` records, so a pointer held in a variable is spelled by the variable's name.
//!
//! What it may miss: a union's member is guessed by the size of the access; a pointer that no
//! variable holds and no load or call explains gives no path.

use std::rc::Rc;

use racewarden_ir as ir;
use rustc_hash::FxHashMap;

use super::ModuleLowering;
use super::address::Step;
use super::function::Body;
use crate::raw::{LLVMOpcode, LLVMValueKind, Md, Val};

mod descend;
mod expression;

/// Paths longer than this are cut: no one reads them, and unnamed chains would grow without end.
const LONGEST_PATH: usize = 160;

/// How many values deep an expression is followed.
const DEEPEST: u32 = 24;

/// What the access touches.
#[derive(Clone, Copy)]
pub(super) struct Access {
    /// Bytes, when they are known.
    size: Option<u64>,
    /// A load or store of one scalar, which tells bit-fields apart; `None` for a memory range.
    scalar: Option<Val>,
}

impl Access {
    pub fn scalar(size: u64, instruction: Val) -> Self {
        Self { size: Some(size), scalar: Some(instruction) }
    }

    /// The object pointed at, as the type of the pointer has it.
    pub fn whole_object() -> Self {
        Self { size: None, scalar: None }
    }

    pub fn range(length: &ir::Value) -> Self {
        let size = match length {
            ir::Value::Int { bits, .. } => Some(*bits),
            _ => None,
        };
        Self { size, scalar: None }
    }
}

/// The type of a place: a debug type, or a row of a many-dimensional array, which has none.
#[derive(Clone)]
pub(super) enum PlaceType {
    Unknown,
    Type(Md),
    Row { element: Md, counts: Rc<[Option<u64>]>, skip: usize },
}

impl From<Option<Md>> for PlaceType {
    fn from(ty: Option<Md>) -> Self {
        ty.map_or(Self::Unknown, Self::Type)
    }
}

/// The object at an address.
#[derive(Clone)]
pub(super) struct Place {
    /// The object, or with `deref` the pointer to it.
    text: String,
    deref: bool,
    ty: PlaceType,
    /// Bytes into the object that no member has been found for yet.
    pending: i64,
    /// The type-level name of the field reached (`struct conn.peer`).
    field: String,
    /// The same from the innermost type with a name on (`struct address.port`).
    inner: String,
}

impl Place {
    fn object(text: &str, ty: Option<Md>) -> Self {
        let text = clipped(text.to_owned());
        Self {
            text,
            deref: false,
            ty: ty.into(),
            pending: 0,
            field: String::new(),
            inner: String::new(),
        }
    }

    fn push(&mut self, piece: &str) {
        if self.text.len() + piece.len() <= LONGEST_PATH {
            self.text.push_str(piece);
        } else if !self.text.ends_with('…') {
            self.text.push('…');
        }
    }

    fn member(&mut self, name: &str) {
        self.push(if self.deref { "->" } else { "." });
        self.push(name);
        self.deref = false;
    }

    fn index(&mut self, index: &str) {
        self.push("[");
        self.push(index);
        self.push("]");
        self.deref = false;
    }

    fn rendered(&self) -> String {
        clipped(match (self.deref, self.pending) {
            (false, 0) => self.text.clone(),
            (true, 0) => format!("*{}", self.text),
            (true, bytes) => format!("*({} + {bytes} bytes)", self.text),
            (false, bytes) => format!("*(&{} + {bytes} bytes)", self.text),
        })
    }
}

/// Cuts a text that has become too long. Each object's text starts from the text of the pointer it
/// was reached through, so without the cut a chain of unnamed pointers would take quadratic room.
fn clipped(mut text: String) -> String {
    if text.len() > LONGEST_PATH {
        let end = (0..=LONGEST_PATH).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        text.truncate(end);
        if !text.ends_with('…') {
            text.push('…');
        }
    }
    text
}

/// Places and expressions of one function, each computed once.
#[derive(Default)]
pub(super) struct PathCache {
    places: FxHashMap<Val, Option<Rc<Place>>>,
    expressions: FxHashMap<Val, Option<Rc<Expression>>>,
}

/// A value in source terms.
pub(super) struct Expression {
    text: String,
    ty: PlaceType,
}

impl ModuleLowering {
    pub(super) fn field_path(
        &mut self,
        address: Val,
        access: Access,
        body: &mut Body,
    ) -> Option<ir::FieldPath> {
        let place = self.place(address, body, 0)?;
        let place = self.descend_to_access((*place).clone(), access);
        Some(ir::FieldPath {
            text: self.module.intern(&place.rendered()),
            field: self.module.intern(&place.field),
            inner: self.module.intern(&place.inner),
        })
    }

    fn place(&mut self, address: Val, body: &mut Body, depth: u32) -> Option<Rc<Place>> {
        if let Some(known) = body.paths.places.get(&address) {
            return known.clone();
        }
        if depth > DEEPEST {
            return None;
        }
        let place = self.find_place(address, body, depth).map(Rc::new);
        body.paths.places.insert(address, place.clone());
        place
    }

    fn find_place(&mut self, address: Val, body: &mut Body, depth: u32) -> Option<Place> {
        match address.kind() {
            LLVMValueKind::LLVMGlobalVariableValueKind => Some(match self.debug.global(address) {
                Some(variable) => Place::object(&variable.name, variable.ty),
                None => {
                    let ty = address.value_type().and_then(|ty| self.record_of(ty));
                    Place::object(&address.name(), ty)
                }
            }),
            LLVMValueKind::LLVMGlobalAliasValueKind => Some(Place::object(&address.name(), None)),
            LLVMValueKind::LLVMConstantExprValueKind => match address.const_opcode() {
                LLVMOpcode::LLVMGetElementPtr => self.step_place(address, body, depth),
                LLVMOpcode::LLVMBitCast | LLVMOpcode::LLVMAddrSpaceCast => {
                    Some((*self.place(address.operand(0)?, body, depth + 1)?).clone())
                }
                _ => None,
            },
            LLVMValueKind::LLVMArgumentValueKind | LLVMValueKind::LLVMInstructionValueKind
                if body.values.contains_key(&address) =>
            {
                self.local_place(address, body, depth)
            }
            _ => None,
        }
    }

    fn local_place(&mut self, address: Val, body: &mut Body, depth: u32) -> Option<Place> {
        if let Some(&variable) = body.declared.get(&address) {
            let variable = self.debug.variable(variable);
            return Some(Place::object(&variable.name, variable.ty));
        }
        let is_instruction = address.kind() == LLVMValueKind::LLVMInstructionValueKind;
        if is_instruction && !body.holds.contains_key(&address) {
            match address.opcode() {
                LLVMOpcode::LLVMGetElementPtr => return self.step_place(address, body, depth),
                LLVMOpcode::LLVMBitCast
                | LLVMOpcode::LLVMAddrSpaceCast
                | LLVMOpcode::LLVMFreeze => {
                    return Some((*self.place(address.operand(0)?, body, depth + 1)?).clone());
                }
                LLVMOpcode::LLVMCall if is_same_address(address) => {
                    return Some((*self.place(address.operand(0)?, body, depth + 1)?).clone());
                }
                LLVMOpcode::LLVMAlloca => return None,
                _ => {}
            }
        }
        let pointer = self.expression(address, body, depth + 1)?;
        let (ty, is_reference) = match &pointer.ty {
            PlaceType::Type(ty) => self.debug.pointee(*ty).unwrap_or((None, false)),
            _ => (None, false),
        };
        let mut place = Place::object(&pointer.text, ty);
        place.deref = !is_reference;
        Some(place)
    }

    /// The place that a `getelementptr` leads to from its base.
    fn step_place(&mut self, address: Val, body: &mut Body, depth: u32) -> Option<Place> {
        let gep = self.gep(address)?;
        let mut place = (*self.place(gep.base, body, depth + 1)?).clone();
        if matches!(place.ty, PlaceType::Unknown) && place.pending == 0 {
            let record = address.source_element_type().and_then(|ty| self.record_of(ty));
            place.ty = record.into();
        }
        for step in &gep.steps {
            match step {
                Step::Bytes(bytes) => place.pending = place.pending.wrapping_add(*bytes),
                Step::Index { value, scale } => {
                    let index = match self.expression(*value, body, depth + 1) {
                        Some(expression) => expression.text.clone(),
                        None => "…".to_owned(),
                    };
                    place = self.descend_to_index(place, *scale, &index);
                }
            }
        }
        Some(place)
    }
}

/// Intrinsics whose result is the address they were given.
fn is_same_address(call: Val) -> bool {
    let Some(callee) = call.called_value() else { return false };
    if callee.kind() != LLVMValueKind::LLVMFunctionValueKind {
        return false;
    }
    let name = callee.name();
    ["llvm.threadlocal.address", "llvm.launder.invariant.group", "llvm.strip.invariant.group"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}
