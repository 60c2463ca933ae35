//! Accesses as code brings them, one by one.
//!
//! What the fast path cannot tell comes here, hundreds of millions of times in a minute. Each way is a function
//! that is called last, so that what only looks keeps no registers for what remembers:
//! - [`access_one`]: a whole granule with no more than two cells, in the short way (`lean`) if that will do;
//! - [`access_among_others`]: several threads have been there, and this one may have said as much already;
//! - [`access_more`]: everything else, under the lock of the granule's group;
//! - [`access_odd`] and [`access_slow`]: what needs the full check, and what has no shadow yet.

use std::sync::atomic::Ordering;

use super::engine::{Guard, Kind, Thread, check_range, enter};
use super::shadow::Granule;
use super::{access, cell, lean, shadow, signals, step};
use crate::common::tls;

/// An access of at most 8 bytes.
#[inline(always)]
pub fn access<const SIZE: usize>(address: usize, kind: Kind, pc: usize) {
    if let Some((granule, bytes)) = part_of_one::<SIZE>(address) {
        let now = tls::now() as u64;
        let new = now | write_bit(kind) | bytes;
        if now == 0 || !step::says(granule.first().load(Ordering::Relaxed), new) {
            access_new(granule, address, new, pc, SIZE == 8);
        }
        return;
    }
    access_two(address, SIZE, kind, pc);
}

/// As [`access`], for code whose own fast path could not tell.
#[inline(always)]
pub fn access_untold<const SIZE: usize>(address: usize, kind: Kind, pc: usize) {
    match part_of_one::<SIZE>(address) {
        Some((granule, bytes)) => {
            let new = tls::now() as u64 | write_bit(kind) | bytes;
            access_new(granule, address, new, pc, SIZE == 8);
        }
        None => access_two(address, SIZE, kind, pc),
    }
}

/// The granule that the bytes are part of, when it exists and has all of them.
#[inline(always)]
fn part_of_one<const SIZE: usize>(address: usize) -> Option<(Granule, u64)> {
    let offset = address & 7;
    let granule = shadow::existing(address)?;
    (offset + SIZE <= 8).then_some((granule, ((1u64 << SIZE) - 1) << offset))
}

/// An access that the first cell does not tell of. `is_whole` says whether it is to all of the granule.
#[inline(always)]
fn access_new(granule: Granule, address: usize, new: u64, pc: usize, is_whole: bool) {
    if !granule.has_more() {
        match is_whole {
            true => access_one(granule, address, new, pc),
            false => access_more(granule, address, new, pc),
        }
    } else if granule.is_everyones() {
        access_among_others(granule, address, new, pc);
    } else {
        access_more(granule, address, new, pc);
    }
}

#[inline(always)]
fn write_bit(kind: Kind) -> u64 {
    if kind.is_write() { cell::WRITE } else { 0 }
}

/// An access that lies across two granules, or where there was none before.
#[inline(never)]
fn access_two(address: usize, size: usize, kind: Kind, pc: usize) {
    let (offset, middle) = (address & 7, (address & !7) + 8);
    let (Some(first), Some(second)) = (shadow::existing(address), shadow::existing(middle)) else {
        return access_slow(address, size, kind, pc);
    };
    let bytes = ((1u64 << size) - 1) << offset;
    let now = tls::now() as u64 | write_bit(kind);
    access_unless_said(first, address, now | bytes & cell::BYTES, pc);
    if bytes >> 8 != 0 {
        access_unless_said(second, middle, now | bytes >> 8, pc);
    }
}

#[inline(always)]
fn access_unless_said(granule: Granule, address: usize, new: u64, pc: usize) {
    let is_said =
        new & cell::EPOCH != 0 && step::says(granule.first().load(Ordering::Relaxed), new);
    if !is_said {
        access_new(granule, address, new, pc, false);
    }
}

/// An access of 16 bytes, as vector code makes.
#[inline(always)]
pub fn access_pair(address: usize, kind: Kind, pc: usize) {
    let new = tls::now() as u64 | write_bit(kind) | cell::BYTES;
    if address & 7 == 0
        && let (Some(first), Some(second)) =
            (shadow::existing(address), shadow::existing(address + 8))
    {
        let parts = [(first, new), (second, new)];
        if !(first.is_grouped_with(&second) && lean::may_do(&parts) && access_leanly(parts, pc)) {
            access_both(address, kind, pc);
        }
        return;
    }
    access_range(address, 16, kind, pc);
}

#[inline(never)]
fn access_both(address: usize, kind: Kind, pc: usize) {
    access::<8>(address, kind, pc);
    access::<8>(address + 8, kind, pc);
}

pub fn access_range(address: usize, size: usize, kind: Kind, pc: usize) {
    let now = tls::now() as u64;
    if now != 0 && !kind.is_atomic() && access::is_range_said(address, size, now | write_bit(kind))
    {
        return;
    }
    access_slow(address, size, kind, pc);
}

#[inline(never)]
fn access_slow(address: usize, size: usize, kind: Kind, pc: usize) {
    if let Some(mut thread) = enter() {
        check_range(&mut thread, address, size, kind, pc);
    }
}

/// A plain access to a whole granule that exists and has no more than two cells, `new` being its cell without
/// the site.
#[inline(never)]
fn access_one(granule: Granule, address: usize, new: u64, pc: usize) {
    if !access_leanly([(granule, new)], pc) {
        access_more(granule, address, new, pc);
    }
}

/// Whether the access could be dealt with in the short way, which may do; its cells lack the site.
#[inline(always)]
fn access_leanly<const N: usize>(parts: lean::Parts<N>, pc: usize) -> bool {
    let Some((thread, rest)) = at_hand(pc) else { return false };
    tls::set_depth(1);
    let done = lean::step(thread, parts, rest);
    tls::set_depth(0);
    if thread.signals.any() {
        deliver_now(thread);
    }
    done
}

/// The thread, and what its cells say of locks and site, when nothing about it is unusual and the site is at
/// hand. It is not inside the runtime yet.
#[inline(always)]
fn at_hand(pc: usize) -> Option<(&'static mut Thread, u64)> {
    if tls::now() == 0 || tls::depth() != 0 {
        return None;
    }
    // SAFETY: a thread that has an epoch has a state, and as in `enter` nobody else refers to it.
    let thread = unsafe { &mut *(tls::state() as *mut Thread) };
    let site = if thread.is_special() { None } else { thread.known_site(pc) };
    let rest = thread.now & cell::LEVEL | cell::site_bits(site?)?;
    Some((thread, rest))
}

#[cold]
#[inline(never)]
fn deliver_now(thread: &mut Thread) {
    signals::deliver_pending(thread);
}

/// A plain access to a granule that exists, in other ways than the short one.
#[inline(never)]
fn access_more(granule: Granule, address: usize, new: u64, pc: usize) {
    // Where random accesses go, all of these are far away: fetched together, they are waited for once.
    granule.fetch();
    let Some(mut thread) = enter() else { return };
    if new & cell::EPOCH != 0
        && !thread.is_special()
        && let Some(site) = cell::site_bits(thread.site(pc))
    {
        let new = new | thread.now & cell::LEVEL | site;
        if access::remember(&mut thread, granule, new) {
            return;
        }
    }
    access_odd(thread, address, new, pc);
}

/// An access where several threads have been, and which this one may have made already: to find that out takes
/// no lock.
#[inline(never)]
fn access_among_others(granule: Granule, address: usize, new: u64, pc: usize) {
    if new & cell::EPOCH == 0 || !is_among_more(granule, new) {
        access_more(granule, address, new, pc);
    }
}

/// Whether a thread that has an epoch has said as much, where there are more than two cells, as far as it
/// pays to look.
#[inline(always)]
fn is_among_more(granule: Granule, new: u64) -> bool {
    // SAFETY: a thread that has an epoch has a state, and this only reads what the thread itself writes.
    let (seen, looks) = unsafe {
        let thread = tls::state() as *const Thread;
        (&(*thread).seen, &(*thread).looks)
    };
    if !looks.pays() {
        return false;
    }
    if seen.has(granule, new) {
        return true;
    }
    if !step::is_said(&granule, new) {
        looks.failed();
        return false;
    }
    looks.paid();
    // Cells beside are found as soon as what is noted.
    if granule.has_node() {
        note_seen(granule, new);
    }
    true
}

#[inline(never)]
fn note_seen(granule: Granule, new: u64) {
    if let Some(mut thread) = enter() {
        thread.seen.note(granule, new);
    }
}

/// An access that needs the full check.
#[cold]
#[inline(never)]
fn access_odd(mut thread: Guard, address: usize, new: u64, pc: usize) {
    let size = (new & cell::BYTES).count_ones() as usize;
    let kind = if new & cell::WRITE != 0 { Kind::WRITE } else { Kind::READ };
    check_range(&mut thread, address, size, kind, pc);
}
