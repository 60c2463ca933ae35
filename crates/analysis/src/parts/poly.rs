//! Integers as polynomials over values that a thread computes: what an index or an address is made of.
//!
//! Sums and products are multiplied out, so that equal values mostly have equal forms; divisions and
//! remainders are values of their own. As everywhere, numbers are taken not to overflow, and extensions
//! are read as identity.

use std::collections::BTreeMap;
use std::sync::Arc;

use racewarden_ir::{FunctionId, GlobalId};

/// An activation on the way to an access.
pub type FrameId = u32;

/// Where a thread's own number comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Own {
    Argument,
    /// The low half of its argument.
    Half,
    /// The counter of the loop that created it.
    Round,
    /// Its number in its team.
    Member,
    /// The counter of a shared loop: no two members of the team get the same round.
    Share(FunctionId, u32),
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Var {
    /// A number that is another one for each thread.
    Number(Own),
    Global(GlobalId),
    /// What memory that does not change any more holds at an address, in so many bytes.
    Load(Arc<Poly>, u64),
    /// Whatever an instruction of an activation computes.
    Local(FrameId, u32),
    /// The counter of a loop that all threads go through in step.
    Shared(u32),
    /// The address that all members of a team are given, by the entry's formal.
    Given(u32),
    /// What an instruction or a formal of the function that starts the team is when it does.
    Before(FunctionId, bool, u32),
    /// How many members the team has.
    Members,
    Div(Arc<Poly>, Arc<Poly>),
    Rem(Arc<Poly>, Arc<Poly>),
    /// The bits of a value that a constant has, too.
    Low(Arc<Poly>, i64),
    /// A value cut to so many bits.
    Cut(Arc<Poly>, u32),
}

type Product = Vec<Var>;

/// A sum of products, each so many times.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Poly {
    terms: BTreeMap<Product, i64>,
}

const MAX_TERMS: usize = 12;
const MAX_FACTORS: usize = 4;
const MAX_NUMBER: i64 = 1 << 46;

impl Poly {
    pub fn number(value: i64) -> Poly {
        let mut poly = Poly::default();
        if value != 0 {
            poly.terms.insert(Vec::new(), value);
        }
        poly
    }

    pub fn var(var: Var) -> Poly {
        Poly { terms: BTreeMap::from([(vec![var], 1)]) }
    }

    pub fn as_number(&self) -> Option<i64> {
        match self.terms.len() {
            0 => Some(0),
            1 => self.terms.get(&Vec::new()).copied(),
            _ => None,
        }
    }

    pub fn as_var(&self) -> Option<&Var> {
        let mut terms = self.terms.iter();
        match (terms.next(), terms.next()) {
            (Some((product, 1)), None) if product.len() == 1 => product.first(),
            _ => None,
        }
    }

    pub fn terms(&self) -> impl Iterator<Item = (&Product, i64)> {
        self.terms.iter().map(|(product, times)| (product, *times))
    }

    fn checked(self) -> Option<Poly> {
        let small = self.terms.values().all(|times| (-MAX_NUMBER..MAX_NUMBER).contains(times));
        let short = self.terms.keys().all(|product| product.len() <= MAX_FACTORS);
        (small && short && self.terms.len() <= MAX_TERMS).then_some(self)
    }

    fn add(&mut self, product: Product, times: i64) -> Option<()> {
        let own = self.terms.entry(product).or_default();
        *own = own.checked_add(times)?;
        Some(())
    }

    fn settled(mut self) -> Option<Poly> {
        self.terms.retain(|_, times| *times != 0);
        self.checked()
    }

    pub fn plus(&self, other: &Poly) -> Option<Poly> {
        let mut sum = self.clone();
        for (product, times) in other.terms() {
            sum.add(product.clone(), times)?;
        }
        sum.settled()
    }

    pub fn minus(&self, other: &Poly) -> Option<Poly> {
        self.plus(&other.times(&Poly::number(-1))?)
    }

    pub fn shifted(&self, by: i64) -> Option<Poly> {
        self.plus(&Poly::number(by))
    }

    pub fn times(&self, other: &Poly) -> Option<Poly> {
        let mut result = Poly::default();
        for (left, a) in self.terms() {
            for (right, b) in other.terms() {
                let mut product = left.clone();
                product.extend(right.iter().cloned());
                product.sort();
                result.add(product, a.checked_mul(b)?)?;
            }
        }
        result.settled()
    }

    /// The polynomial with something else in the place of a variable, within others, too.
    pub fn replaced(&self, by: &dyn Fn(&Var) -> Option<Poly>) -> Option<Poly> {
        let mut result = Poly::default();
        for (product, times) in self.terms() {
            let mut own = Poly::number(times);
            for var in product {
                own = own.times(&var.replaced(by)?)?;
            }
            result = result.plus(&own)?;
        }
        Some(result)
    }

    /// The quotient by a number, where there is no rest.
    pub fn divided(&self, by: i64) -> Option<Poly> {
        let exact = by > 0 && self.terms.values().all(|times| times % by == 0);
        let terms = self.terms.iter().map(|(product, times)| (product.clone(), times / by.max(1)));
        exact.then(|| Poly { terms: terms.collect() })
    }

    pub fn mentions(&self, test: &dyn Fn(&Var) -> bool) -> bool {
        self.terms.keys().flatten().any(|var| var.mentions(test))
    }

    /// The parts with and without a factor, the factor taken out of the first.
    pub fn split(&self, factor: &Var) -> (Poly, Poly) {
        let (mut with, mut without) = (Poly::default(), Poly::default());
        for (product, times) in self.terms() {
            match product.iter().position(|var| var == factor) {
                Some(at) => {
                    let mut rest = product.clone();
                    rest.remove(at);
                    with.terms.insert(rest, times);
                }
                None => {
                    without.terms.insert(product.clone(), times);
                }
            }
        }
        (with, without)
    }

    /// The quotient and the rest by a number, product by product.
    pub fn split_by(&self, number: i64) -> (Poly, Poly) {
        let (mut quotient, mut rest) = (Poly::default(), Poly::default());
        for (product, times) in self.terms() {
            let (mut often, mut over) = (0, times);
            if product.is_empty() || times % number == 0 {
                (often, over) = (times.div_euclid(number), times.rem_euclid(number));
            }
            for (into, times) in [(&mut quotient, often), (&mut rest, over)] {
                if times != 0 {
                    into.terms.insert(product.clone(), times);
                }
            }
        }
        (quotient, rest)
    }

    /// Without what both have that is the same in every thread.
    pub fn without_common(&self, other: &Poly) -> (Poly, Poly) {
        let is_common = |product: &Product| !product.iter().any(|var| !var.is_common());
        let (mut x, mut y) = (self.clone(), other.clone());
        x.terms.retain(|product, times| {
            !(is_common(product) && other.terms.get(product) == Some(times))
        });
        y.terms.retain(|product, times| {
            !(is_common(product) && self.terms.get(product) == Some(times))
        });
        (x, y)
    }

    /// Whether it has one value in all threads.
    pub fn is_common(&self) -> bool {
        self.terms.keys().flatten().all(Var::is_common)
    }
}

impl Var {
    fn replaced(&self, by: &dyn Fn(&Var) -> Option<Poly>) -> Option<Poly> {
        if let Some(other) = by(self) {
            return Some(other);
        }
        let within = |poly: &Arc<Poly>| poly.replaced(by).map(Arc::new);
        Some(Poly::var(match self {
            Var::Load(at, size) => Var::Load(within(at)?, *size),
            Var::Div(left, right) => Var::Div(within(left)?, within(right)?),
            Var::Rem(left, right) => Var::Rem(within(left)?, within(right)?),
            Var::Low(value, mask) => Var::Low(within(value)?, *mask),
            Var::Cut(value, bits) => Var::Cut(within(value)?, *bits),
            other => other.clone(),
        }))
    }

    fn mentions(&self, test: &dyn Fn(&Var) -> bool) -> bool {
        test(self)
            || match self {
                Var::Load(at, _) | Var::Low(at, _) | Var::Cut(at, _) => at.mentions(test),
                Var::Div(left, right) | Var::Rem(left, right) => {
                    left.mentions(test) || right.mentions(test)
                }
                _ => false,
            }
    }

    pub fn is_common(&self) -> bool {
        !self.mentions(&|var| matches!(var, Var::Number(_) | Var::Local(..)))
    }
}
