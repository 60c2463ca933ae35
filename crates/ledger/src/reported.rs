//! A report as it is taken in: each pair of accesses once, with what names it.

use std::borrow::Cow;

use racewarden_finding::{Engine, Race, Report};

use crate::memo::Digester;
use crate::places::{Pair, PlaceIndex};

pub(crate) struct Reported<'a> {
    /// Each pair of accesses once.
    pub races: Vec<Cow<'a, Race>>,
    pub pairs: Vec<Pair>,
    /// What each says in all, for [`crate::memo`].
    pub contents: Vec<u128>,
    /// For each race of the report, which of `races` it is.
    pub groups: Vec<usize>,
}

impl<'a> Reported<'a> {
    pub fn of(report: &'a Report, engine: Engine) -> Reported<'a> {
        let mut races: Vec<Cow<'a, Race>> = Vec::with_capacity(report.races.len());
        let mut index = PlaceIndex::with_capacity(report.races.len());
        let mut groups = Vec::with_capacity(report.races.len());
        for race in &report.races {
            let pair = Pair::of(race);
            match index.find(&pair) {
                Some(position) => {
                    let known = races[position].to_mut();
                    known.absorb(race.clone());
                    index.set_columns(position, Pair::of(known).columns);
                    groups.push(position);
                }
                None => {
                    index.push(pair);
                    races.push(Cow::Borrowed(race));
                    groups.push(races.len() - 1);
                }
            }
        }
        let mut digester = Digester::new(engine);
        let contents = races.iter().map(|race| digester.digest(race)).collect();
        Reported { races, pairs: index.into_pairs(), contents, groups }
    }
}
