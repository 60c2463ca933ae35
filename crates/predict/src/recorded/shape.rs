//! What a walked recording consists of, and which of its lines are asked about.

use std::collections::BTreeSet;

use racewarden_finding::{AccessKind, Race, Report, Verdict};
use racewarden_ir::Program;
use rustc_hash::FxHashSet;

use super::expr::{ExprId, ExprKind};
use super::path::{EventKind, Spot, ThreadPath};

/// The trace columns of paper 3, Table III.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    pub reads: u64,
    pub writes: u64,
    /// Shared reads that addresses, or other values that must stay, depend on.
    pub bases: u64,
    /// Branches whose condition depends on shared reads.
    pub branches: u64,
    pub synchronisations: u64,
}

impl Shape {
    pub fn of(paths: &[ThreadPath]) -> Self {
        let mut shape = Shape::default();
        for path in paths {
            let mut pinned: Vec<ExprId> = Vec::new();
            for event in &path.events {
                match event.kind {
                    EventKind::Read { .. } => shape.reads += 1,
                    EventKind::Write { .. } => shape.writes += 1,
                    EventKind::Update { .. } => {
                        shape.reads += 1;
                        shape.writes += 1;
                    }
                    EventKind::Whole { writes: true, .. } => shape.writes += 1,
                    EventKind::Whole { writes: false, .. } => shape.reads += 1,
                    EventKind::Sync { .. } => shape.synchronisations += 1,
                    EventKind::Branch { .. } => shape.branches += 1,
                    EventKind::Pin { expr } => pinned.push(expr),
                    EventKind::Outside { .. } | EventKind::Free { .. } => {}
                }
            }
            shape.bases += reads_in(path, pinned);
        }
        shape
    }
}

/// How many reads the expressions depend on.
fn reads_in(path: &ThreadPath, mut work: Vec<ExprId>) -> u64 {
    let mut seen: FxHashSet<ExprId> = FxHashSet::default();
    let mut reads = 0;
    while let Some(expr) = work.pop() {
        if !seen.insert(expr) {
            continue;
        }
        match path.arena.get(expr).kind {
            ExprKind::Read(_) => reads += 1,
            kind => work.extend(kind.operands()),
        }
    }
    reads
}

/// Lines that both accesses of a pair must be on: those of another report, as a rule.
#[derive(Debug, Default, Clone)]
pub struct SiteFilter {
    lines: BTreeSet<(String, u32)>,
}

impl SiteFilter {
    /// The lines of all sites of the report.
    pub fn of_report(report: &Report) -> Self {
        let sites = report.races.iter().flat_map(|race| &race.sites);
        SiteFilter { lines: sites.map(|site| (site.file.clone(), site.line)).collect() }
    }

    /// Reads what [`SiteFilter::entries`] gave.
    pub fn from_entries<'e>(entries: impl Iterator<Item = &'e str>) -> Self {
        let line = |entry: &str| {
            let (file, line) = entry.rsplit_once(':')?;
            Some((file.to_owned(), line.parse().ok()?))
        };
        SiteFilter { lines: entries.filter_map(line).collect() }
    }

    pub fn entries(&self) -> impl Iterator<Item = String> {
        self.lines.iter().map(|(file, line)| format!("{file}:{line}"))
    }

    pub fn len(&self) -> usize {
        self.lines.len()
    }

    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub fn allows(&self, program: &Program, spot: Spot) -> bool {
        let module = &program.module;
        let source = module.function(spot.function).source_of(spot.inst);
        source.is_some_and(|source| {
            // Few lines, and asked once per access: no need for a key without a copy.
            self.lines.contains(&(module.name_text(source.file).to_owned(), source.line))
        })
    }
}

/// Pairs of lines that are known to race, which are not asked about again.
#[derive(Debug, Default, Clone)]
pub struct KnownPairs {
    pairs: BTreeSet<[SiteLine; 2]>,
}

type SiteLine = (String, u32, AccessKind);

impl KnownPairs {
    /// The proven ones among the races.
    pub fn of_races(races: &[Race]) -> Self {
        let proven = races.iter().filter(|race| race.verdict >= Verdict::Observed);
        let line = |race: &Race, side: usize| {
            let site = &race.sites[side];
            (site.file.clone(), site.line, site.access)
        };
        let pairs = proven.map(|race| in_order(line(race, 0), line(race, 1))).collect();
        KnownPairs { pairs }
    }

    pub fn has(&self, program: &Program, pair: [(Spot, AccessKind); 2]) -> bool {
        if self.pairs.is_empty() {
            return false;
        }
        let line = |(spot, access): (Spot, AccessKind)| {
            let source = program.module.function(spot.function).source_of(spot.inst)?;
            Some((program.module.name_text(source.file).to_owned(), source.line, access))
        };
        let [a, b] = pair.map(line);
        a.zip(b).is_some_and(|(a, b)| self.pairs.contains(&in_order(a, b)))
    }
}

fn in_order(a: SiteLine, b: SiteLine) -> [SiteLine; 2] {
    if b < a { [b, a] } else { [a, b] }
}
