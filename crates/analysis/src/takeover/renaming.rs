//! The same things under other numbers: instructions of functions that were edited, and objects.
//!
//! Numbers rise with the old ones, so that what is in order stays so. What has no number on the other
//! side makes everything that mentions it have none either.

use std::collections::BTreeSet;
use std::sync::Arc;

use racewarden_ir::FunctionId;
use rustc_hash::FxHashMap;

use crate::lives::Lives;
use crate::pointsto::{CallSite, Location, ObjectId, ObjectKind};
use crate::shared::Shared;
use crate::state::{Chain, CreateId, HandleRange, Held, Live, Path, Released};
use crate::sym::{Atom, Frame, LOCAL, Sym};

/// No number on the other side.
pub const NONE: u32 = u32::MAX;

/// Numbers on one side, by those on the other.
#[derive(Debug, Default)]
pub struct Renaming {
    /// Of edited functions; all others have the same numbers on both sides.
    pub insts: FxHashMap<FunctionId, Vec<u32>>,
    pub objects: Vec<ObjectId>,
}

fn number(list: &[u32], index: u32) -> Option<u32> {
    list.get(index as usize).copied().filter(|number| *number != NONE)
}

impl Renaming {
    pub fn inst(&self, function: FunctionId, inst: u32) -> Option<u32> {
        match self.insts.get(&function) {
            Some(list) => number(list, inst),
            None => Some(inst),
        }
    }

    pub fn site(&self, (function, inst): CallSite) -> Option<CallSite> {
        Some((function, self.inst(function, inst)?))
    }

    pub fn kind(&self, kind: ObjectKind) -> Option<ObjectKind> {
        Some(match kind {
            ObjectKind::Stack(function, inst) => {
                ObjectKind::Stack(function, self.inst(function, inst)?)
            }
            ObjectKind::Heap(function, inst) => {
                ObjectKind::Heap(function, self.inst(function, inst)?)
            }
            other => other,
        })
    }

    pub fn object(&self, object: ObjectId) -> Option<ObjectId> {
        number(&self.objects, object)
    }

    pub fn location(&self, at: Location) -> Option<Location> {
        Some(Location { object: self.object(at.object)?, ..at })
    }

    pub fn locations(&self, list: &[Location]) -> Option<Arc<[Location]>> {
        list.iter().map(|at| self.location(*at)).collect()
    }

    pub fn chain(&self, chain: &[CallSite]) -> Option<Chain> {
        chain.iter().map(|site| self.site(*site)).collect()
    }

    pub fn create(&self, id: &CreateId) -> Option<CreateId> {
        let (site, chain) = (self.site(id.site)?, self.chain(&id.chain)?);
        Some(CreateId { site, chain, any_chain: id.any_chain })
    }
}

/// A renaming where it is known which function each activation is of.
pub struct Named<'a> {
    pub renaming: &'a Renaming,
    pub function_of: &'a dyn Fn(Frame) -> Option<FunctionId>,
}

impl Named<'_> {
    fn inst(&self, frame: Frame, inst: u32) -> Option<u32> {
        self.renaming.inst((self.function_of)(frame)?, inst)
    }

    fn atom(&self, atom: &Atom) -> Option<Atom> {
        Some(match atom {
            Atom::Inst(frame, inst) => Atom::Inst(*frame, self.inst(*frame, *inst)?),
            Atom::Stack(frame, inst) => Atom::Stack(*frame, self.inst(*frame, *inst)?),
            Atom::Load(address) => Atom::Load(Arc::new(self.sym(address)?)),
            Atom::Expr(expr) => Atom::Expr(Arc::new(expr.with(|operand| self.sym(operand))?)),
            Atom::Global(_) | Atom::Function(_) | Atom::Argument(..) => atom.clone(),
        })
    }

    pub fn sym(&self, sym: &Sym) -> Option<Sym> {
        let terms = sym.terms.iter().map(|(atom, scale)| Some((self.atom(atom)?, *scale)));
        Some(Sym { offset: sym.offset, terms: terms.collect::<Option<_>>()? })
    }

    pub fn optional(&self, sym: Option<&Sym>) -> Option<Option<Sym>> {
        match sym {
            Some(sym) => Some(Some(self.sym(sym)?)),
            None => Some(None),
        }
    }

    fn syms(&self, set: &Shared<BTreeSet<Sym>>) -> Option<Shared<BTreeSet<Sym>>> {
        let renamed: Option<BTreeSet<Sym>> = set.iter().map(|sym| self.sym(sym)).collect();
        Some(renamed?.into())
    }

    fn range(&self, range: &HandleRange) -> Option<HandleRange> {
        let (first, end) = (self.sym(&range.first)?, self.sym(&range.end)?);
        Some(HandleRange { first, end, stride: range.stride })
    }

    fn held(&self, held: &Held) -> Option<Held> {
        // Taken apart so that a part added to it is not forgotten here.
        let Held { lock, points, mode, size, count, counts, after, acquired_at } = held;
        Some(Held {
            lock: self.sym(lock)?,
            points: self.renaming.locations(points)?,
            mode: *mode,
            size: *size,
            count: *count,
            counts: *counts,
            after: after.iter().map(|sym| self.sym(sym)).collect::<Option<_>>()?,
            acquired_at: self.renaming.site(*acquired_at)?,
        })
    }

    fn released(&self, released: &Released) -> Option<Released> {
        let Released { lock, points, any } = released;
        let (lock, points) = (self.optional(lock.as_ref())?, self.renaming.locations(points)?);
        Some(Released { lock, points, any: *any })
    }

    fn live(&self, live: &Live) -> Option<Live> {
        let Live { handle, value, argument, many, current, repeated, ended, range, loose } = live;
        Some(Live {
            handle: self.optional(handle.as_ref())?,
            value: self.optional(value.as_ref())?,
            argument: self.optional(argument.as_ref())?,
            many: *many,
            current: *current,
            repeated: *repeated,
            ended: *ended,
            range: match range {
                Some(range) => Some(Arc::new(self.range(range)?)),
                None => None,
            },
            loose: *loose,
        })
    }

    /// Whether the thread's call, and the calls that lead there, are in no edited function, and nothing
    /// that is known of it is named by what the function itself, or one context, knows.
    fn is_same(&self, id: &CreateId, live: &Live) -> bool {
        let Live { handle, value, argument, range, .. } = live;
        let edited = |site: &CallSite| self.renaming.insts.contains_key(&site.0);
        let fixed = |sym: &Sym| sym.is_constant_address();
        !edited(&id.site)
            && !id.chain.iter().any(edited)
            && [handle, value, argument].into_iter().flatten().all(fixed)
            && range.as_ref().is_none_or(|range| fixed(&range.first) && fixed(&range.end))
    }

    fn lives(&self, lives: &Lives) -> Option<Lives> {
        // A list is not cheap to make, and hardly ever has other numbers.
        if self.renaming.insts.is_empty() || lives.iter().all(|(id, live)| self.is_same(id, live)) {
            return Some(lives.clone());
        }
        let mut renamed = Lives::default();
        for (id, live) in lives {
            renamed.insert(self.renaming.create(id)?, self.live(live)?);
        }
        Some(renamed)
    }

    /// The state; `LOCAL` names are of the function that [`Named::function_of`] says.
    pub fn path(&self, path: &Path) -> Option<Path> {
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
        } = path;
        let held: Option<Vec<Held>> = held.iter().map(|held| self.held(held)).collect();
        let released: Option<BTreeSet<_>> = released.iter().map(|r| self.released(r)).collect();
        let ranges: Option<BTreeSet<_>> = joined_ranges.iter().map(|r| self.range(r)).collect();
        let overwritten: Option<BTreeSet<_>> =
            overwritten.iter().map(|sym| self.optional(sym.as_ref())).collect();
        let facts: Option<std::collections::BTreeMap<_, _>> =
            facts.iter().map(|(sym, fact)| Some((self.sym(sym)?, *fact))).collect();
        let escaped: Option<BTreeSet<u32>> =
            escaped.iter().map(|inst| self.inst(LOCAL, *inst)).collect();
        Some(Path {
            held: held?.into(),
            released: released?.into(),
            acquired: self.syms(acquired)?,
            threads: self.lives(threads)?,
            joined: self.syms(joined)?,
            joined_values: self.syms(joined_values)?,
            joined_ranges: ranges?.into(),
            overwritten: overwritten?.into(),
            escaped: escaped?.into(),
            escaped_arguments: escaped_arguments.clone(),
            facts: facts?.into(),
        })
    }
}
