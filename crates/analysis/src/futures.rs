//! Futures of libstdc++, `std::async` among them.
//!
//! A future is the handle of the thread that `std::async` started for it: `get`, `wait` and the
//! destructor return when that thread has ended, and moving the future moves the handle. So the
//! thread is followed where its future goes, as that of a `std::thread` is. What a deferred function
//! does is done by whoever waits; it is in the bodies, which are followed too.
//!
//! Between them the threads share a state that the library guards itself. Its own functions, known
//! by the types they are made for, cannot race there; neither can anybody else in what only they
//! hand out to be called once (the function object with its arguments). The result is memory like
//! any other to all but those functions.
//!
//! Not followed: which future is waited for when it is one of several shared ones
//! (`std::shared_future`); waiting with a limit; libc++.

use racewarden_ir::{FunctionId, InlinedFrame, Program};
use racewarden_models::{Member, plain_name};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::bodies::Bodies;
use crate::pointsto::{ObjectKind, PointsTo};

/// What a call means for the thread that a future stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The future at the first argument stands for the thread that the call started.
    Starts,
    /// Returns when the thread of the future at this argument has ended.
    Awaits(u32),
    /// What the future at the second argument stands for, the one at the first does from now on.
    Moves,
    /// The futures at the arguments may stand for anything.
    Disturbs,
}

#[derive(Debug, Default)]
pub struct Futures {
    roles: FxHashMap<FunctionId, Role>,
    /// Functions of the library that work on the state behind futures.
    machinery: Vec<bool>,
    counts: Vec<bool>,
    /// Functions that look at the results of futures.
    asks: Vec<bool>,
    /// Members of vectors of futures.
    members: FxHashSet<FunctionId>,
}

impl Futures {
    pub fn new(program: &Program) -> Self {
        let module = &program.module;
        let mut futures = Futures::default();
        for id in module.function_ids() {
            let function = module.function(id);
            let symbol = module.name_text(function.name);
            let has_body = !function.is_declaration();
            let machinery = symbol.contains(STATE) || symbol.starts_with(ASYNC);
            futures.machinery.push(machinery);
            if OF_FUTURES.iter().any(|prefix| symbol.starts_with(prefix)) {
                futures.members.insert(id);
            }
            let counts = symbol.strip_prefix("_ZNKSt").or_else(|| symbol.strip_prefix("_ZNSt"));
            let is_count = |name: &str| COUNTS.iter().any(|prefix| name.starts_with(prefix));
            futures.counts.push(counts.is_some_and(is_count));
            futures.asks.push(counts.is_some_and(|name| name.starts_with(OF_STATE)));
            if let Some(role) = role(symbol, function.params.len()).filter(|_| has_body) {
                futures.roles.insert(id, role);
            }
        }
        futures
    }

    pub fn role(&self, function: FunctionId) -> Option<Role> {
        self.roles.get(&function).copied()
    }

    /// Whether the function is a member of a vector of futures.
    pub fn holds(&self, function: FunctionId) -> bool {
        self.members.contains(&function)
    }

    /// Whether the function works on the states behind futures and is none of the program's.
    pub fn is_machinery(&self, function: FunctionId) -> bool {
        self.machinery.get(function.index()).copied().unwrap_or(false)
    }

    /// The same, and what waits for results.
    pub fn looks_at_results(&self, function: FunctionId) -> bool {
        let asks = self.asks.get(function.index()).copied().unwrap_or(false);
        asks || self.is_machinery(function)
    }

    /// Whether the function works on the counts of shared pointers, or on the state behind stop tokens,
    /// which it changes by itself only when nobody else has a reference.
    pub fn counts_references(&self, function: FunctionId) -> bool {
        self.counts.get(function.index()).copied().unwrap_or(false)
    }

    /// What only the library's own functions know, or a function that is called once.
    pub fn states(&self, program: &Program, points: &PointsTo) -> Vec<u32> {
        let name = |id: FunctionId| program.module.name_text(program.module.function(id).name);
        let is_state = |kind: &ObjectKind| match kind {
            ObjectKind::Stack(function, _) => self.is_machinery(*function),
            ObjectKind::Heap(function, _) => {
                self.is_machinery(*function) && name(*function).contains(ALLOCATE)
            }
            _ => false,
        };
        let objects = points.locations().objects.iter();
        (0u32..).zip(objects).filter(|(_, kind)| is_state(kind)).map(|(id, _)| id).collect()
    }

    /// Whether the object is where a result is kept.
    pub fn is_result(&self, bodies: &Bodies<'_>, kind: ObjectKind) -> bool {
        let ObjectKind::Heap(function, inst) = kind else { return false };
        let mut inside = bodies.inlined((function, inst)).iter();
        let promised = |frame: &InlinedFrame| bodies.text(frame.function).starts_with(PROMISED);
        self.is_machinery(function)
            || bodies.symbol(function).starts_with(PROMISE)
            || inside.any(promised)
    }
}

const STATE: &str = "13__future_base";
const ASYNC: &str = "_ZSt5async";
const OF_STATE: &str = "14__basic_futureI";
const ALLOCATE: &str = "8allocateE";
const PROMISE: &str = "_ZNSt7promiseI";
const PROMISED: &str = "std::promise<";
const OF_FUTURES: [&str; 2] = ["_ZNSt6vectorISt6futureI", "_ZNKSt6vectorISt6futureI"];
/// What counts references to a shared object, or to what a thread is asked to stop by.
const COUNTS: [&str; 3] =
    ["16_Sp_counted_baseI", "10stop_token13_Stop_state_t", "10stop_token8_Stop_cb"];

fn role(symbol: &str, params: usize) -> Option<Role> {
    if symbol.starts_with(ASYNC) {
        return Some(Role::Starts);
    }
    if !symbol.contains("6futureI") && !symbol.contains("14__basic_futureI") {
        return None;
    }
    // A constructor or assignment from one that is given up.
    let takes = ["C1EOS", "C2EOS", "aSEOS"].iter().any(|form| symbol.contains(form));
    match plain_name(symbol)?.as_str() {
        "std::future::get" => Some(Role::Awaits(params.checked_sub(1)? as u32)),
        "std::future::~future"
        | "std::__basic_future::~__basic_future"
        | "std::__basic_future::wait" => Some(Role::Awaits(0)),
        "std::future::future" | "std::future::operator=" if takes => Some(Role::Moves),
        "std::__basic_future::__basic_future" | "std::__basic_future::_M_swap" => {
            Some(Role::Disturbs)
        }
        _ => None,
    }
}

/// What a member function of a vector of futures does with what it holds.
pub fn member(symbol: &str) -> Option<Member> {
    if !OF_FUTURES.iter().any(|prefix| symbol.starts_with(prefix)) {
        return None;
    }
    let name = plain_name(symbol)?;
    Some(match name.strip_prefix("std::vector::")? {
        "push_back" | "emplace_back" => Member::Add,
        "reserve" | "shrink_to_fit" => Member::Arrange,
        "vector" if symbol.ends_with("EEC2Ev") || symbol.ends_with("EEC1Ev") => Member::Arrange,
        "vector" | "operator=" if symbol.contains("EOS") => Member::Move,
        "vector" if symbol.contains("EEC2EmRK") || symbol.contains("EEC1EmRK") => Member::Resize,
        "resize" if symbol.ends_with("6resizeEm") => Member::Resize,
        "~vector" | "clear" => Member::End,
        "swap" => Member::Swap,
        "begin" | "data" => Member::First,
        "end" => Member::Past,
        "size" => Member::Size,
        "operator[]" | "at" => Member::At,
        "front" | "back" => Member::Some,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{Role, member, role};
    use racewarden_models::Member;

    #[test]
    fn roles_are_read_off_the_symbols() {
        assert_eq!(role("_ZNSt6futureIiE3getEv", 1), Some(Role::Awaits(0)));
        let text = "_ZNSt6futureINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEE3getEv";
        assert_eq!(role(text, 2), Some(Role::Awaits(1)), "the result's place comes first");
        assert_eq!(role("_ZNSt6futureIvED2Ev", 1), Some(Role::Awaits(0)));
        assert_eq!(role("_ZNKSt14__basic_futureIvE4waitEv", 1), Some(Role::Awaits(0)));
        assert_eq!(role("_ZNSt6futureIvEC2EOS0_", 2), Some(Role::Moves));
        assert_eq!(role("_ZNSt6futureIvEaSEOS0_", 2), Some(Role::Moves));
        assert_eq!(role("_ZNSt6futureIvEC2Ev", 1), None);
        assert_eq!(role("_ZNSt13shared_futureIvED2Ev", 1), None);
    }

    #[test]
    fn members_of_vectors_of_futures_are_known() {
        let add = "_ZNSt6vectorISt6futureIvESaIS1_EE9push_backEOS1_";
        assert_eq!(member(add), Some(Member::Add));
        assert_eq!(member("_ZNSt6vectorISt6futureIvESaIS1_EED2Ev"), Some(Member::End));
        assert_eq!(member("_ZNSt6vectorISt6futureIvESaIS1_EE5eraseEv"), None);
        assert_eq!(member("_ZNSt6vectorIiSaIiEE9push_backEOi"), None);
    }
}
