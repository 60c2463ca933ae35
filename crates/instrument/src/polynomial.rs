//! Addresses as sums of products, so that two of them can be compared and what a loop adds to one in each
//! round can be told.
//!
//! Numbers wrap around at 64 bits, as addresses do. Values that are not looked into are atoms, numbered
//! in the order in which they come up: what is made of them is the same every time.

use std::collections::BTreeMap;

use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::*;

/// Products of atoms, each with how often it is taken; the empty product is 1.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Polynomial {
    terms: BTreeMap<Vec<usize>, i64>,
}

/// More terms than this are not worth computing before a loop.
const MOST_TERMS: usize = 12;

impl Polynomial {
    pub(crate) fn number(value: i64) -> Self {
        Polynomial::term(Vec::new(), value)
    }

    pub(crate) fn atom(number: usize) -> Self {
        Polynomial::term(vec![number], 1)
    }

    fn term(product: Vec<usize>, times: i64) -> Self {
        let terms = (times != 0).then_some((product, times)).into_iter().collect();
        Polynomial { terms }
    }

    /// The number that it is, whatever the atoms are.
    pub(crate) fn constant(&self) -> Option<i64> {
        match self.terms.len() {
            0 => Some(0),
            1 => self.terms.get([].as_slice()).copied(),
            _ => None,
        }
    }

    pub(crate) fn plus(&self, other: &Polynomial) -> Polynomial {
        let mut sum = self.clone();
        for (product, times) in &other.terms {
            let total = sum.terms.entry(product.clone()).or_default();
            *total = total.wrapping_add(*times);
        }
        sum.terms.retain(|_, times| *times != 0);
        sum
    }

    pub(crate) fn minus(&self, other: &Polynomial) -> Polynomial {
        self.plus(&other.scaled(-1))
    }

    pub(crate) fn scaled(&self, by: i64) -> Polynomial {
        self.times(&Polynomial::number(by))
    }

    pub(crate) fn times(&self, other: &Polynomial) -> Polynomial {
        let mut product = Polynomial::default();
        for (left, count) in &self.terms {
            for (right, times) in &other.terms {
                let mut both = [left.as_slice(), right].concat();
                both.sort_unstable();
                product = product.plus(&Polynomial::term(both, count.wrapping_mul(*times)));
            }
        }
        product
    }

    /// What it is made of, each as often as it is there.
    pub(crate) fn atoms(&self) -> impl Iterator<Item = usize> + '_ {
        self.terms.keys().flatten().copied()
    }

    pub(crate) fn is_short(&self) -> bool {
        self.terms.len() <= MOST_TERMS
    }

    /// With another polynomial for an atom, for each that `put` has one for.
    pub(crate) fn replaced(&self, put: impl Fn(usize) -> Option<Polynomial>) -> Polynomial {
        let mut result = Polynomial::default();
        for (product, times) in &self.terms {
            let factor = |atom: &usize| put(*atom).unwrap_or_else(|| Polynomial::atom(*atom));
            let start = Polynomial::number(*times);
            let term = product.iter().fold(start, |term, atom| term.times(&factor(atom)));
            result = result.plus(&term);
        }
        result
    }

    /// The part that changes with the atoms of `changing`, or `None` when a product has two of them.
    pub(crate) fn part_with(&self, changing: impl Fn(usize) -> bool) -> Option<Polynomial> {
        let mut part = Polynomial::default();
        for (product, times) in &self.terms {
            match product.iter().filter(|atom| changing(**atom)).count() {
                0 => {}
                1 => drop(part.terms.insert(product.clone(), *times)),
                _ => return None,
            }
        }
        Some(part)
    }

    /// Computes it where the builder stands, as a 64-bit number.
    ///
    /// # Safety
    /// The atoms are alive, numbers of 64 bits or pointers, and defined where the builder stands.
    pub(crate) unsafe fn build(
        &self,
        builder: LLVMBuilderRef,
        word: LLVMTypeRef,
        atoms: &[LLVMValueRef],
    ) -> LLVMValueRef {
        let none = c"".as_ptr();
        // SAFETY: as the caller says.
        unsafe {
            let number = |value: i64| LLVMConstInt(word, value.cast_unsigned(), 1);
            let mut sum = number(0);
            for (product, times) in &self.terms {
                let mut term = number(*times);
                for atom in product {
                    // Folds where it has nothing to do.
                    let factor = match LLVMTypeOf(atoms[*atom]) == word {
                        true => atoms[*atom],
                        false => LLVMBuildPtrToInt(builder, atoms[*atom], word, none),
                    };
                    term = match LLVMIsAConstantInt(term).is_null() {
                        false if LLVMConstIntGetSExtValue(term) == 1 => factor,
                        _ => LLVMBuildMul(builder, term, factor, none),
                    };
                }
                sum = match LLVMIsAConstantInt(sum).is_null() {
                    false if LLVMConstIntGetSExtValue(sum) == 0 => term,
                    _ => LLVMBuildAdd(builder, sum, term, none),
                };
            }
            sum
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Polynomial;

    /// `base + 16 * (counter * width + column)`
    fn element(column: i64) -> Polynomial {
        let (base, counter, width) = (0, 1, 2);
        let index = Polynomial::atom(counter)
            .times(&Polynomial::atom(width))
            .plus(&Polynomial::number(column));
        Polynomial::atom(base).plus(&index.scaled(16))
    }

    #[test]
    fn neighbours_differ_by_a_number() {
        assert_eq!(element(3).minus(&element(1)).constant(), Some(32));
        assert_eq!(element(3).minus(&element(3)).constant(), Some(0));
        assert_eq!(element(3).constant(), None);
    }

    #[test]
    fn a_step_of_the_counter_is_a_width() {
        let changing = element(3).part_with(|atom| atom == 1).unwrap();
        let stride = changing.replaced(|atom| (atom == 1).then(|| Polynomial::number(2)));
        assert_eq!(stride, Polynomial::atom(2).scaled(32));
    }

    #[test]
    fn squares_of_the_counter_have_no_step() {
        let square = Polynomial::atom(1).times(&Polynomial::atom(1));
        assert!(square.part_with(|atom| atom == 1).is_none());
    }
}
