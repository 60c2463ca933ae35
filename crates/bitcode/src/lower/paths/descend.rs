//! From bytes to members: walks a debug type to the member or element that an access touches.

use std::rc::Rc;

use super::{Access, Place, PlaceType};
use crate::lower::ModuleLowering;
use crate::lower::debug::{DebugType, tag};
use crate::raw::{LLVMOpcode, LLVMValueKind, Md, Val};

/// What the walk is looking for.
#[derive(Clone, Copy)]
enum Goal {
    Access(Access),
    /// An array whose elements have this many bytes.
    Array(i64),
}

/// More levels than any type nests.
const DEEPEST_TYPE: usize = 64;

impl ModuleLowering {
    pub(super) fn descend_to_access(&mut self, mut place: Place, access: Access) -> Place {
        for _ in 0..DEEPEST_TYPE {
            if !self.descend(&mut place, Goal::Access(access)) {
                break;
            }
        }
        place
    }

    /// Applies a variable index of elements of `scale` bytes.
    pub(super) fn descend_to_index(&mut self, mut place: Place, scale: i64, index: &str) -> Place {
        for _ in 0..DEEPEST_TYPE {
            if place.deref && (self.place_size(&place) == Some(scale) || place.pending == 0) {
                if self.place_size(&place).is_some_and(|size| size != scale && size != 0) {
                    // The pointer is used as one to something else than its type says, or points
                    // at an array: look inside.
                    if self.array_stride(&place).is_none() && self.record(&place).is_none() {
                        place.ty = PlaceType::Unknown;
                    }
                } else {
                    place.index(index);
                    return place;
                }
            }
            if let Some((stride, element)) = self.array_stride(&place)
                && (stride == scale || stride == 0)
            {
                if place.deref {
                    place.text = format!("(*{})", place.text);
                }
                place.index(index);
                place.ty = element;
                return place;
            }
            if !self.descend(&mut place, Goal::Array(scale)) {
                break;
            }
        }
        place.index(index);
        place.ty = PlaceType::Unknown;
        place.pending = 0;
        place
    }

    /// One step down; `false` when there is nothing further to resolve.
    fn descend(&mut self, place: &mut Place, goal: Goal) -> bool {
        if place.deref && self.step_over_elements(place) {
            return true;
        }
        if let Some((node, ty, alias)) = self.record(place) {
            if let Goal::Access(access) = goal
                && access.scalar.is_none()
                && place.pending == 0
                && access.size.is_none_or(|size| size >= ty.size())
            {
                return false;
            }
            let Some(member) = self.choose_member(&ty, place.pending, goal) else { return false };
            let Some(member_type) = self.debug.ty(member) else { return false };
            let name = self.record_name(node, &ty, alias.as_deref());
            let is_named = !ty.name.is_empty() || alias.is_some();
            if place.inner.is_empty() || is_named {
                place.inner.clone_from(&name);
            }
            if place.field.is_empty() {
                place.field = name;
            }
            let is_base = member_type.tag != tag::MEMBER;
            if !is_base && !member_type.name.is_empty() {
                for field in [&mut place.field, &mut place.inner] {
                    field.push('.');
                    field.push_str(&member_type.name);
                }
                place.member(&member_type.name);
            }
            place.pending -= (member_type.offset_bits / 8) as i64;
            if member_type.is_bit_field {
                place.pending = 0;
                place.ty = PlaceType::Unknown;
                return false;
            }
            place.ty = if member_type.tag == tag::VARIANT_PART {
                PlaceType::Type(member)
            } else {
                member_type.base.into()
            };
            return true;
        }
        self.descend_array(place, goal)
    }

    fn descend_array(&mut self, place: &mut Place, goal: Goal) -> bool {
        let Some((stride, element)) = self.array_stride(place) else { return false };
        if stride <= 0 || place.pending < 0 {
            return false;
        }
        if let Goal::Access(access) = goal
            && access.scalar.is_none()
            && place.pending == 0
            && access.size.is_none_or(|size| size as i64 > stride)
        {
            return false;
        }
        if place.deref {
            place.text = format!("(*{})", place.text);
        }
        place.index(&(place.pending / stride).to_string());
        place.pending %= stride;
        place.ty = element;
        true
    }

    /// `p[2]` for a pointer whose constant offset lies past the first object.
    fn step_over_elements(&mut self, place: &mut Place) -> bool {
        let Some(size) = self.place_size(place).filter(|&size| size > 0) else { return false };
        if place.pending >= 0 && place.pending < size {
            return false;
        }
        // Inside an object before the pointer (`container_of`): no member name is right.
        if place.pending < 0 && place.pending % size != 0 {
            return false;
        }
        place.index(&(place.pending / size).to_string());
        place.pending %= size;
        true
    }

    fn place_size(&mut self, place: &Place) -> Option<i64> {
        match &place.ty {
            PlaceType::Unknown => None,
            PlaceType::Type(ty) => i64::try_from(self.debug.size_of(*ty)).ok(),
            PlaceType::Row { element, counts, skip } => {
                let element = i64::try_from(self.debug.size_of(*element)).ok()?;
                counts[*skip..].iter().try_fold(element, |size, count| {
                    size.checked_mul(i64::try_from((*count)?).ok()?)
                })
            }
        }
    }

    fn record(&mut self, place: &Place) -> Option<(Md, Rc<DebugType>, Option<Rc<str>>)> {
        match place.ty {
            PlaceType::Type(ty) => self.debug.strip(ty).filter(|(_, ty, _)| ty.is_record()),
            _ => None,
        }
    }

    /// The distance between elements, and an element's type, when the place is an array.
    fn array_stride(&mut self, place: &Place) -> Option<(i64, PlaceType)> {
        let (element, counts, skip) = match &place.ty {
            PlaceType::Unknown => return None,
            PlaceType::Row { element, counts, skip } => (*element, Rc::clone(counts), *skip),
            PlaceType::Type(ty) => {
                let (node, ty, _) = self.debug.strip(*ty)?;
                if ty.tag != tag::ARRAY {
                    return None;
                }
                (ty.base?, self.debug.array_counts(node), 0)
            }
        };
        let mut stride = i64::try_from(self.debug.size_of(element)).ok()?;
        for count in counts.iter().skip(skip + 1) {
            stride = stride.checked_mul(i64::try_from((*count)?).ok()?)?;
        }
        let next = if skip + 1 < counts.len() {
            PlaceType::Row { element, counts, skip: skip + 1 }
        } else {
            PlaceType::Type(element)
        };
        Some((stride, next))
    }

    /// The member at `pending` bytes. Members of a union overlap: one of the access's own size is
    /// preferred, or an array of the right element size; then the first.
    fn choose_member(&mut self, record: &DebugType, pending: i64, goal: Goal) -> Option<Md> {
        let at = u64::try_from(pending).ok()?;
        let mut first = None;
        for &node in record.members.iter() {
            let Some(member) = self.debug.ty(node) else { continue };
            let start = member.offset_bits / 8;
            if member.is_bit_field {
                if let Goal::Access(access) = goal
                    && in_storage(&member, at, access)
                {
                    let bit = access.scalar.and_then(first_bit);
                    match bit {
                        Some(bit) if member.offset_bits == at * 8 + bit => return Some(node),
                        _ => first = first.or(Some(node)),
                    }
                }
                continue;
            }
            let size = match member.base {
                Some(base) => self.debug.size_of(base),
                None => member.size(),
            };
            let holds = start <= at && (at < start + size || (size == 0 && start == at));
            if !holds {
                continue;
            }
            if record.tag != tag::UNION && size > 0 {
                return Some(node);
            }
            if self.fits(member.base, size, start == at, goal) {
                return Some(node);
            }
            first = first.or(Some(node));
        }
        first
    }

    fn fits(&mut self, ty: Option<Md>, size: u64, at_start: bool, goal: Goal) -> bool {
        match goal {
            Goal::Access(access) => {
                let place = Place::object("", ty);
                let is_scalar =
                    self.array_stride(&place).is_none() && self.record(&place).is_none();
                at_start && access.size == Some(size) && (is_scalar || access.scalar.is_none())
            }
            Goal::Array(scale) => {
                let place = Place::object("", ty);
                self.array_stride(&place).is_some_and(|(stride, _)| stride == scale)
            }
        }
    }

    /// `struct conn`, `union value`, `struct ns::Node`; a nameless record goes by its typedef.
    fn record_name(&mut self, _node: Md, ty: &DebugType, alias: Option<&str>) -> String {
        let keyword = match ty.tag {
            tag::UNION => "union",
            tag::CLASS => "class",
            _ => "struct",
        };
        match (&*ty.name, alias) {
            ("", Some(alias)) => alias.to_owned(),
            ("", None) => keyword.to_owned(),
            (name, _) => format!("{keyword} {}", self.debug.qualified(ty.scope, name)),
        }
    }
}

/// Whether a bit-field begins in the bytes that the access touches.
fn in_storage(member: &DebugType, at: u64, access: Access) -> bool {
    let size = access.size.unwrap_or(1);
    let end = member.offset_bits + member.size_bits;
    member.offset_bits < (at + size) * 8 && end > at * 8
}

/// The lowest bit of the storage unit that a bit-field access means, from the shifts and masks
/// that the front end put around the load or store.
fn first_bit(access: Val) -> Option<u64> {
    let opcode = |v: Val| (v.kind() == LLVMValueKind::LLVMInstructionValueKind).then(|| v.opcode());
    let int = |v: Val, operand: u32| v.operand(operand)?.as_int();
    match opcode(access)? {
        LLVMOpcode::LLVMStore => {
            let mut value = access.operand(0)?;
            if opcode(value)? == LLVMOpcode::LLVMOr {
                let cleared = value.operand(0)?;
                if opcode(cleared) != Some(LLVMOpcode::LLVMAnd) {
                    return int(value, 1).map(|set| u64::from(set.trailing_zeros()));
                }
                value = cleared;
            }
            (opcode(value)? == LLVMOpcode::LLVMAnd)
                .then(|| int(value, 1).map(|mask| u64::from((!mask).trailing_zeros())))?
        }
        LLVMOpcode::LLVMLoad => {
            let user = access.only_user()?;
            match opcode(user)? {
                LLVMOpcode::LLVMLShr | LLVMOpcode::LLVMAShr => u64::try_from(int(user, 1)?).ok(),
                LLVMOpcode::LLVMShl => {
                    let next = user.only_user()?;
                    u64::try_from(int(next, 1)? - int(user, 1)?).ok()
                }
                LLVMOpcode::LLVMAnd => {
                    let next = user.only_user().and_then(opcode);
                    let mask = int(user, 1)?;
                    let is_write = matches!(next, Some(LLVMOpcode::LLVMOr | LLVMOpcode::LLVMStore));
                    Some(u64::from(if is_write {
                        (!mask).trailing_zeros()
                    } else {
                        mask.trailing_zeros()
                    }))
                }
                LLVMOpcode::LLVMOr => int(user, 1).map(|set| u64::from(set.trailing_zeros())),
                LLVMOpcode::LLVMTrunc => Some(0),
                _ => None,
            }
        }
        _ => None,
    }
}
