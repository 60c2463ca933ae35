//! A small interner with reference counts: equal values share one id.
//!
//! Written here because the core is `no_std` and shadow shards create thousands of them; open
//! addressing over ids, so an entry costs one `u32` beside the value.

use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

/// Multiply-and-rotate hashing: the keys are small structs of integers and no adversary picks them.
#[derive(Default)]
struct IntegerHasher(u64);

impl Hasher for IntegerHasher {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
}

fn hash_of<T: Hash>(value: &T) -> u64 {
    let mut hasher = IntegerHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

const EMPTY: u32 = u32::MAX;
const DELETED: u32 = u32::MAX - 1;

struct Entry<T> {
    value: Option<T>,
    hash: u64,
    references: u32,
}

/// Values by id and ids by value.
pub(crate) struct Interner<T> {
    entries: Vec<Entry<T>>,
    buckets: Vec<u32>,
    free: Vec<u32>,
    occupied: usize,
}

impl<T: Hash + Eq> Interner<T> {
    pub(crate) const fn new() -> Self {
        Self { entries: Vec::new(), buckets: Vec::new(), free: Vec::new(), occupied: 0 }
    }

    /// The id of `value`, whose reference count grows by one.
    pub(crate) fn acquire(&mut self, value: T) -> u32 {
        if (self.occupied + 1) * 4 > self.buckets.len() * 3 {
            self.rehash();
        }
        let hash = hash_of(&value);
        let mask = self.buckets.len() - 1;
        let mut position = hash as usize & mask;
        let mut reusable = None;
        loop {
            match self.buckets[position] {
                EMPTY => break,
                DELETED => reusable = reusable.or(Some(position)),
                id => {
                    let entry = &mut self.entries[id as usize];
                    if entry.hash == hash && entry.value.as_ref() == Some(&value) {
                        entry.references += 1;
                        return id;
                    }
                }
            }
            position = (position + 1) & mask;
        }
        let entry = Entry { value: Some(value), hash, references: 1 };
        let id = if let Some(id) = self.free.pop() {
            self.entries[id as usize] = entry;
            id
        } else {
            self.entries.push(entry);
            (self.entries.len() - 1) as u32
        };
        self.occupied += usize::from(reusable.is_none());
        self.buckets[reusable.unwrap_or(position)] = id;
        id
    }

    pub(crate) fn get(&self, id: u32) -> Option<&T> {
        self.entries.get(id as usize)?.value.as_ref()
    }

    /// Drops one reference; the value goes with the last one.
    pub(crate) fn release(&mut self, id: u32) {
        let Some(entry) = self.entries.get_mut(id as usize) else { return };
        entry.references = entry.references.saturating_sub(1);
        if entry.references > 0 || entry.value.is_none() {
            return;
        }
        entry.value = None;
        let mask = self.buckets.len() - 1;
        let mut position = entry.hash as usize & mask;
        while self.buckets[position] != id {
            position = (position + 1) & mask;
        }
        self.buckets[position] = DELETED;
        self.free.push(id);
    }

    /// Values alive.
    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    fn rehash(&mut self) {
        let size = (self.len() * 2 + 8).next_power_of_two();
        self.buckets.clear();
        self.buckets.resize(size, EMPTY);
        self.occupied = self.len();
        for (id, entry) in self.entries.iter().enumerate() {
            if entry.value.is_none() {
                continue;
            }
            let mut position = entry.hash as usize & (size - 1);
            while self.buckets[position] != EMPTY {
                position = (position + 1) & (size - 1);
            }
            self.buckets[position] = id as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Interner;

    #[test]
    fn equal_values_share_an_id_until_the_last_reference_goes() {
        let mut interner = Interner::new();
        let ids: alloc::vec::Vec<u32> = (0..1000_u64).map(|v| interner.acquire(v * 64)).collect();
        assert_eq!(interner.acquire(640), ids[10]);
        interner.release(ids[10]);
        assert_eq!(interner.get(ids[10]), Some(&640));
        interner.release(ids[10]);
        assert_eq!(interner.get(ids[10]), None);
        assert_eq!(interner.len(), 999);
        assert_eq!(interner.acquire(7), ids[10], "the freed id is used again");
        for id in &ids[11..] {
            assert_eq!(interner.acquire(interner.get(*id).copied().unwrap_or(0)), *id);
        }
    }
}
