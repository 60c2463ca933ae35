//! Whether two threads' addresses differ, whatever the numbers are that they are computed from.
//!
//! An address is split into an index times the size of an element and a place within the element: two
//! accesses are apart when their places within elements are, or when their indices differ. Indices differ
//!
//! - when each is between `f(number)` and `f(number + 1)` for one function that only grows or only falls
//!   (`count * id / threads`, `id * chunk`): the parts of different threads do not meet then, and where
//!   the function falls nobody gets into the loop;
//! - when the rest of both by one divisor is the thread's own number (`index % threads == id`);
//! - when they are `row * columns + column` with columns in range, and the rows or the columns differ;
//! - when one is beyond the other's end, as far as both can be told from counters that all threads share.

use std::collections::BTreeSet;

use super::poly::{Own, Poly, Var};
use super::ways::Way;

/// Bounds within bounds.
const MAX_STEPS: usize = 12;
/// Rows of rows.
const MAX_DIGITS: usize = 3;
/// Larger than any object: all of an address is a place within.
const ANYTHING: i64 = 1 << 40;
const LARGE: i64 = 1 << 30;

type Apart<'a> = dyn Fn(Own) -> Option<i64> + 'a;

/// Whether accesses of so many bytes on the two ways are apart, made by different threads.
pub fn differ((a, own): (&Way, i64), (b, other): (&Way, i64), apart: &Apart<'_>) -> bool {
    let (Some(x), Some(y)) = (&a.address, &b.address) else { return false };
    if !(1..LARGE).contains(&own) || !(1..LARGE).contains(&other) {
        return false;
    }
    let (left, right) = x.without_common(y);
    let mut elements: BTreeSet<i64> = BTreeSet::from([ANYTHING]);
    for (product, times) in left.terms().chain(right.terms()) {
        if !product.is_empty() {
            elements.insert(times.saturating_abs());
        }
    }
    let pair = Pair { a, b, apart };
    elements.into_iter().rev().any(|element| {
        let ((x, x_place), (y, y_place)) = (left.split_by(element), right.split_by(element));
        let place = |way: &Way, place: &Poly, size: i64| {
            let low = bounded(way, place, End::Low, true)?.as_number()?;
            let high = bounded(way, place, End::High, true)?.as_number()?.checked_add(size)?;
            (0 <= low && high <= element).then_some((low, high))
        };
        let (Some(x_place), Some(y_place)) = (place(a, &x_place, own), place(b, &y_place, other))
        else {
            return false;
        };
        let outside = x_place.1 <= y_place.0 || y_place.1 <= x_place.0;
        outside || pair.indices_differ(&x, &y, 0)
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Low,
    High,
}

/// The least or the greatest that a value may be, in numbers that all threads share and the thread's
/// own; with `far` counters that are shared are bounded as well.
fn bounded(way: &Way, value: &Poly, end: End, far: bool) -> Option<Poly> {
    let mut value = value.clone();
    for _ in 0..MAX_STEPS {
        let is_bounded = |var: &&Var| match var {
            Var::Shared(_) => far,
            Var::Number(_) => far && way.bounds.contains_key(var),
            Var::Low(..) | Var::Local(..) => true,
            _ => false,
        };
        // Inner counters first: their bounds are made of outer ones.
        let found = value
            .terms()
            .flat_map(|(product, times)| product.iter().map(move |var| (product.len(), var, times)))
            .filter(|(_, var, _)| is_bounded(var))
            .max_by_key(|(_, var, _)| depth_of(var))
            .map(|(length, var, times)| (length, var.clone(), times));
        let Some((1, var, times)) = found else {
            return found.is_none().then_some(value);
        };
        let low = (end == End::Low) == (times > 0);
        let bound = match (&var, way.bounds.get(&var)) {
            (Var::Low(_, mask), _) => Poly::number(if low { 0 } else { *mask }),
            (_, Some((first, _))) if low => first.clone(),
            (_, Some((_, Some(bound)))) => bound.shifted(-1)?,
            _ => return None,
        };
        let (_, rest) = value.split(&var);
        // It may be a factor of other products.
        if value.terms().filter(|(product, _)| product.contains(&var)).count() > 1 {
            return None;
        }
        value = rest.plus(&bound.times(&Poly::number(times))?)?;
    }
    None
}

/// Deeper calls and later instructions are inside.
fn depth_of(var: &Var) -> (u32, u32) {
    match var {
        Var::Local(frame, inst) => (1 + frame, *inst),
        Var::Low(..) => (u32::MAX, 0),
        _ => (0, 0),
    }
}

struct Pair<'a> {
    a: &'a Way,
    b: &'a Way,
    apart: &'a Apart<'a>,
}

impl Pair<'_> {
    fn indices_differ(&self, x: &Poly, y: &Poly, depth: usize) -> bool {
        self.are_shared_out(x, y)
            || self.have_own_rests(x, y)
            || self.are_ordered(x, y)
            || (depth < MAX_DIGITS && self.have_other_digits(x, y, depth))
    }

    /// Between `f(number)` and `f(number + 1)`.
    fn are_shared_out(&self, x: &Poly, y: &Poly) -> bool {
        let low = |way, value| bounded(way, value, End::Low, false);
        let high = |way, value| bounded(way, value, End::High, false);
        let (Some(x_low), Some(y_low)) = (low(self.a, x), low(self.b, y)) else { return false };
        let (Some(x_high), Some(y_high)) = (high(self.a, x), high(self.b, y)) else { return false };
        let is_from = |low: &Poly, function: &Poly| {
            low.minus(function).and_then(|way| way.as_number()).is_some_and(|way| way >= 0)
        };
        [&x_low, &y_low].into_iter().any(|function| {
            let Some(own) = number_of(function) else { return false };
            let Some(step) = (self.apart)(own) else { return false };
            let next = |var: &Var| match var {
                Var::Number(number) if *number == own => Poly::var(var.clone()).shifted(step),
                _ => None,
            };
            let Some(next) = function.replaced(&next) else { return false };
            let is_below = |high: &Poly| {
                high.minus(&next).and_then(|way| way.as_number()).is_some_and(|way| way < 0)
            };
            is_from(&x_low, function)
                && is_from(&y_low, function)
                && is_below(&x_high)
                && is_below(&y_high)
        })
    }

    /// The rest by one divisor tells the thread.
    fn have_own_rests(&self, x: &Poly, y: &Poly) -> bool {
        let rests = |way: &Way, value: &Poly| -> BTreeSet<(Poly, Poly, Poly)> {
            way.zeros.iter().filter_map(|zero| own_rest(zero, value)).collect()
        };
        let own = rests(self.a, x);
        !own.is_empty() && !own.is_disjoint(&rests(self.b, y))
    }

    fn are_ordered(&self, x: &Poly, y: &Poly) -> bool {
        let is_beyond = |(low_way, low): (&Way, &Poly), (high_way, high): (&Way, &Poly)| {
            let low = bounded(low_way, low, End::Low, false)?;
            let high = bounded(high_way, high, End::High, false)?;
            let shared = low.is_common() && high.is_common();
            low.minus(&high)?.as_number().filter(|way| shared && *way > 0)
        };
        is_beyond((self.a, x), (self.b, y)).is_some()
            || is_beyond((self.b, y), (self.a, x)).is_some()
    }

    /// `row * columns + column`, the column in range.
    fn have_other_digits(&self, x: &Poly, y: &Poly, depth: usize) -> bool {
        let mut sizes: BTreeSet<&Var> = BTreeSet::new();
        for (product, _) in x.terms().chain(y.terms()) {
            if product.len() > 1 {
                sizes.extend(product.iter().filter(|var| is_size(var)));
            }
        }
        sizes.into_iter().any(|size| {
            let ((x_row, x_column), (y_row, y_column)) = (x.split(size), y.split(size));
            is_digit(self.a, &x_column, size)
                && is_digit(self.b, &y_column, size)
                && (self.indices_differ(&x_row, &y_row, depth + 1)
                    || self.indices_differ(&x_column, &y_column, depth + 1))
        })
    }
}

fn is_size(var: &Var) -> bool {
    matches!(var, Var::Load(..) | Var::Before(..)) && var.is_common()
}

/// Whether the value is at least zero and below the size.
fn is_digit(way: &Way, value: &Poly, size: &Var) -> bool {
    let size = Poly::var(size.clone());
    let low = bounded(way, value, End::Low, true).and_then(|low| low.as_number());
    let Some(high) = bounded(way, value, End::High, true) else { return false };
    let is_below = match high.as_number() {
        // A counter is above this and below the size.
        Some(high) => way.bounds.values().any(|(first, bound)| {
            let first = bounded(way, first, End::Low, true).and_then(|first| first.as_number());
            bound.as_ref() == Some(&size) && first.is_some_and(|first| first >= high)
        }),
        None => high.minus(&size).and_then(|way| way.as_number()).is_some_and(|way| way < 0),
    };
    low.is_some_and(|low| low >= 0) && is_below
}

/// The kind of number that the value only grows or only falls with, when everything else in it is common.
fn number_of(value: &Poly) -> Option<Own> {
    let mut own = value.terms().filter(|(product, _)| !product.iter().all(Var::is_common));
    let ((product, _), None) = (own.next()?, own.next()) else { return None };
    let mut special = product.iter().filter(|var| !var.is_common());
    let (Some(var), None) = (special.next(), special.next()) else { return None };
    match var {
        Var::Number(own) => Some(*own),
        // Quotients that are cut off grow and fall with what is divided; more factors might turn round.
        Var::Div(value, by) if product.len() == 1 && by.is_common() => number_of(value),
        _ => None,
    }
}

/// What a condition says of the value, when it is that the rest of the value, and something common, by
/// something common is a multiple of the thread's number, and something common.
fn own_rest(zero: &Poly, value: &Poly) -> Option<(Poly, Poly, Poly)> {
    zero.terms().find_map(|(product, times)| {
        let [rest @ Var::Rem(divided, by)] = product.as_slice() else { return None };
        let beside = divided.minus(value)?;
        let (_, number) = zero.split(rest);
        let fits = times.abs() == 1 && beside.is_common() && by.is_common() && is_linear(&number);
        let number = number.times(&Poly::number(times))?;
        fits.then(|| (beside, (**by).clone(), number))
    })
}

/// A multiple of the thread's number and what is common.
fn is_linear(value: &Poly) -> bool {
    let mut own = value.terms().filter(|(product, _)| !product.iter().all(Var::is_common));
    matches!((own.next(), own.next()), (Some((product, _)), None)
        if matches!(product.as_slice(), [Var::Number(_)]))
}
