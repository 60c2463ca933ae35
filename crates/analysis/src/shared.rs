//! Collections that are copied only when they change.
//!
//! A [`Path`](crate::state::Path) is cloned at every branch, call and context, and most of its
//! parts are empty or the same as before: profiles of redis and memcached showed nine tenths of
//! the time in copying and dropping them. A [`Shared`] part is one pointer, empty ones none at
//! all; two parts that are one allocation compare equal without a look inside.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A type whose empty value needs no allocation and can be lent out for ever.
pub trait Empty: Clone + 'static {
    fn empty() -> &'static Self;
    fn is_empty_value(&self) -> bool;
}

#[derive(Clone)]
pub struct Shared<T>(Option<Arc<T>>);

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Shared(None)
    }
}

impl<T: Empty + Default> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.0 {
            Some(value) => value,
            None => T::empty(),
        }
    }
}

/// The value to change becomes this one's own first: in hot places look before you change.
impl<T: Empty + Default> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(self.0.get_or_insert_with(Arc::default))
    }
}

/// Something of which copies are one allocation.
pub trait Placed: Clone + Eq + Hash {
    /// Where the allocation is; 0 for none. Equal ones are equal as long as both live.
    fn address(&self) -> usize;
}

/// Values each of which is in memory once.
pub struct Pool<T> {
    known: FxHashSet<T>,
    /// By allocation, what is known to be equal to it. Both are kept, so that no other gets their
    /// place.
    same: FxHashMap<usize, (T, T)>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Pool { known: FxHashSet::default(), same: FxHashMap::default() }
    }
}

impl<T: Placed> Pool<T> {
    /// Makes the value one in memory with those that are equal to it.
    pub fn share(&mut self, value: &mut T) {
        if value.address() == 0 {
            return;
        }
        let (_, same) = self.same.entry(value.address()).or_insert_with(|| {
            let same = match self.known.get(value) {
                Some(same) => same.clone(),
                None => {
                    self.known.insert(value.clone());
                    value.clone()
                }
            };
            (value.clone(), same)
        });
        *value = same.clone();
    }

    /// Lets go of what was only kept to be recognised.
    pub fn forget(&mut self) {
        self.same.clear();
    }
}

impl<T: Empty + Default> Shared<T> {
    pub fn change(&mut self) -> &mut T {
        &mut *self
    }

    pub fn clear(&mut self) {
        self.0 = None;
    }

    /// Whether both are one allocation, or both empty: then they are equal.
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        }
    }
}

impl<T: Empty + Default> From<T> for Shared<T> {
    fn from(value: T) -> Self {
        if value.is_empty_value() { Shared(None) } else { Shared(Some(Arc::new(value))) }
    }
}

impl<T: Empty + Default + PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other) || **self == **other
    }
}

impl<T: Empty + Default + Eq> Eq for Shared<T> {}

impl<T: Empty + Default + Eq + Hash> Placed for Shared<T> {
    fn address(&self) -> usize {
        self.0.as_ref().map_or(0, |value| Arc::as_ptr(value).addr())
    }
}

impl<T: Empty + Default + Hash> Hash for Shared<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T: Empty + Default + fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: Empty + Default + Serialize> Serialize for Shared<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de, T: Empty + Default + Deserialize<'de>> Deserialize<'de> for Shared<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Shared::from)
    }
}

impl<'a, T: Empty + Default> IntoIterator for &'a Shared<T>
where
    &'a T: IntoIterator,
{
    type Item = <&'a T as IntoIterator>::Item;
    type IntoIter = <&'a T as IntoIterator>::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        (&**self).into_iter()
    }
}

impl<'a, T: Empty + Default> IntoIterator for &'a mut Shared<T>
where
    &'a mut T: IntoIterator,
{
    type Item = <&'a mut T as IntoIterator>::Item;
    type IntoIter = <&'a mut T as IntoIterator>::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        self.change().into_iter()
    }
}

impl<K: Ord + Clone> Shared<BTreeSet<K>>
where
    BTreeSet<K>: Empty,
{
    /// Keeps what passes; nothing is copied when all of it does.
    pub fn keep(&mut self, test: impl Fn(&K) -> bool) {
        if self.iter().all(&test) {
            return;
        }
        self.change().retain(test);
        if self.is_empty() {
            self.clear();
        }
    }

    pub fn take_out(&mut self, item: &K) {
        if self.contains(item) {
            self.change().remove(item);
            if self.is_empty() {
                self.clear();
            }
        }
    }

    /// Whether it was new.
    pub fn put(&mut self, item: K) -> bool {
        !self.contains(&item) && self.change().insert(item)
    }

    pub fn unite(&mut self, other: &Self) {
        if self.is_same(other) || other.is_subset(self) {
            return;
        }
        if self.is_empty() {
            *self = other.clone();
            return;
        }
        self.change().extend(other.iter().cloned());
    }

    pub fn intersect(&mut self, other: &Self) {
        if !self.is_same(other) {
            self.keep(|item| other.contains(item));
        }
    }
}

impl<T: Clone> Shared<Vec<T>>
where
    Vec<T>: Empty,
{
    /// Keeps what passes; nothing is copied when all of it does.
    pub fn keep_items(&mut self, test: impl Fn(&T) -> bool) {
        if self.iter().all(&test) {
            return;
        }
        self.change().retain(test);
        if self.is_empty() {
            self.clear();
        }
    }
}

impl<K: Ord + Clone, V: Clone> Shared<BTreeMap<K, V>>
where
    BTreeMap<K, V>: Empty,
{
    /// Keeps what passes; nothing is copied when all of it does.
    pub fn keep_entries(&mut self, test: impl Fn(&K, &V) -> bool) {
        if self.iter().all(|(key, value)| test(key, value)) {
            return;
        }
        self.change().retain(|key, value| test(key, value));
        if self.is_empty() {
            self.clear();
        }
    }
}

/// Says where a type's empty value lives.
macro_rules! lend_empty {
    ($($type:ty => $new:expr),* $(,)?) => {$(
        impl $crate::shared::Empty for $type {
            fn empty() -> &'static Self {
                static EMPTY: $type = $new;
                &EMPTY
            }

            fn is_empty_value(&self) -> bool {
                self.is_empty()
            }
        }
    )*};
}
pub(crate) use lend_empty;

lend_empty!(BTreeSet<u32> => BTreeSet::new());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_changes_alone() {
        let mut first: Shared<BTreeSet<u32>> = Shared::default();
        assert!(first.put(1));
        let mut second = first.clone();
        assert!(first.is_same(&second));
        assert!(second.put(2) && !second.put(1));
        assert_eq!(first.iter().copied().collect::<Vec<_>>(), [1]);
        assert_eq!(second.iter().copied().collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn what_is_equal_becomes_one() {
        let mut pool: Pool<Shared<BTreeSet<u32>>> = Pool::default();
        let mut values: Vec<Shared<BTreeSet<u32>>> =
            [vec![1, 2], vec![3], vec![1, 2], vec![]].map(|v| BTreeSet::from_iter(v).into()).into();
        assert!(!values[0].is_same(&values[2]));
        values.iter_mut().for_each(|value| pool.share(value));
        pool.forget();
        assert!(values[0].is_same(&values[2]) && !values[0].is_same(&values[1]));
        assert!(values[3].is_empty());
        let mut late: Shared<BTreeSet<u32>> = BTreeSet::from([3]).into();
        pool.share(&mut late);
        assert!(late.is_same(&values[1]));
    }

    #[test]
    fn nothing_is_copied_when_nothing_changes() {
        let mut first: Shared<BTreeSet<u32>> = BTreeSet::from([1, 2]).into();
        let second = first.clone();
        first.keep(|_| true);
        first.unite(&second);
        first.intersect(&second);
        assert!(first.is_same(&second));
        first.keep(|item| *item > 5);
        assert!(first.is_same(&Shared::default()));
    }
}
