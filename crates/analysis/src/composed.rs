//! Threads of a function's state in the terms of its contexts, worked out once where they are the same.
//!
//! Functions of a recursion have all of its threads in their states, and each of their many contexts adds
//! the same ones to those that it is entered with: a fifth of a check of redis was that. What comes of two
//! lists that name nothing of the function's own follows from the lists alone, and lists that are equal
//! mostly are one in memory.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use crate::lives::{Lives, Parts};
use crate::shared::Placed;
use crate::state::{CreateId, Live};

/// Results that are kept at a time.
const MOST: usize = 1 << 14;

type Sums = FxHashMap<(usize, usize), (Lives, Lives, Lives)>;

/// By where lists are in memory; they are kept with the results, so that no other gets their place.
#[derive(Default)]
pub struct Composed {
    many: Mutex<FxHashMap<usize, (Lives, Lives)>>,
    added: Mutex<Sums>,
}

fn locked<T>(map: &Mutex<T>) -> MutexGuard<'_, T> {
    map.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Composed {
    /// The threads as a context makes them that stands for several: any number by each call.
    pub fn many(&self, threads: &Lives) -> Lives {
        let key = threads.address();
        if let Some((_, known)) = locked(&self.many).get(&key) {
            return known.clone();
        }
        let many = |(id, live): (&CreateId, &Live)| {
            let (handle, value, range) = (None, None, None);
            let live = Live { many: true, repeated: true, handle, value, range, ..live.clone() };
            (CreateId::any(id.site), live)
        };
        let found: Lives = threads.iter().map(many).collect();
        let mut map = locked(&self.many);
        if map.len() >= MOST {
            map.clear();
        }
        map.insert(key, (threads.clone(), found.clone()));
        found
    }

    /// What `add` makes of the threads that are there by adding others, which it only looks at when they
    /// have one of the parts.
    pub fn added(
        &self,
        there: &Lives,
        others: &Lives,
        parts: Parts,
        add: impl FnOnce(&mut Lives),
    ) -> Lives {
        let fresh = || {
            let mut threads = there.clone();
            add(&mut threads);
            threads
        };
        if others.iter_with(parts).next().is_some() {
            return fresh();
        }
        let key = (there.address(), others.address());
        if let Some((_, _, known)) = locked(&self.added).get(&key) {
            return known.clone();
        }
        let found = fresh();
        let mut map = locked(&self.added);
        if map.len() >= MOST {
            map.clear();
        }
        map.insert(key, (there.clone(), others.clone(), found.clone()));
        found
    }
}
