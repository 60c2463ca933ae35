//! The report as a person reads it in a terminal: one block a race, what each thread did side by
//! side, then why nothing orders them, what the forced orders did, a hint and how to replay.

mod layout;
mod style;

use racewarden_finding::{NoteKind, Race, Report, Site, Verdict};

use crate::source::{printable, underline};
use crate::{Sources, words};
use layout::{beside, shorten_path, wrap};
use style::{Line, Paint, Span};

/// Narrower than this, the two threads stand one above the other.
const TWO_COLUMNS_FROM: usize = 100;
const INDENT: &str = "    ";
/// `evidence` is the longest label.
const LABEL: usize = 9;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextOptions {
    /// Columns of the terminal.
    pub width: usize,
    pub colour: bool,
    /// So many open races get a block of their own, the strongest first; the others, and those that
    /// are set aside, get a line each. `None` gives every race its block.
    pub blocks: Option<usize>,
}

impl Default for TextOptions {
    fn default() -> Self {
        TextOptions { width: TWO_COLUMNS_FROM, colour: false, blocks: None }
    }
}

/// Mere candidates get one block in so many of a report in brief.
const CANDIDATES_PART: usize = 5;
/// Most notes that a report in brief shows; those that weaken come first within each engine.
const MOST_NOTES: usize = 12;
/// Most lines for races without a block of their own, for each verdict.
const MOST_LINES: usize = 12;

/// The report as plain text, without colour and without source lines.
pub fn render(report: &Report) -> String {
    render_with(report, TextOptions::default(), &mut Sources::none())
}

pub fn render_with(report: &Report, options: TextOptions, sources: &mut Sources) -> String {
    let mut out = Writer { out: String::new(), options };
    let mut blocks = options.blocks.unwrap_or(usize::MAX);
    let mut candidates = blocks.div_ceil(CANDIDATES_PART);
    let mut rest = Vec::new();
    for race in &report.races {
        let room = match race.verdict {
            _ if options.blocks.is_none() => true,
            Verdict::Potential => blocks > 0 && candidates > 0,
            verdict => blocks > 0 && verdict.is_open(),
        };
        if room {
            blocks -= 1;
            candidates -=
                usize::from(options.blocks.is_some() && race.verdict == Verdict::Potential);
            out.race(race, sources);
        } else {
            rest.push(race);
        }
    }
    out.in_brief(&rest);
    out.summary(report);
    out.out
}

/// One race alone, as `racewarden show` prints it.
pub fn render_race(race: &Race, options: TextOptions, sources: &mut Sources) -> String {
    let mut out = Writer { out: String::new(), options };
    out.race(race, sources);
    out.out
}

struct Writer {
    out: String,
    options: TextOptions,
}

impl Writer {
    fn line(&mut self, line: &Line) {
        let start = self.out.len();
        line.write(&mut self.out, self.options.colour);
        let trimmed = self.out[start..].trim_end_matches(' ').len();
        self.out.truncate(start + trimmed);
        self.out.push('\n');
    }

    fn race(&mut self, race: &Race, sources: &mut Sources) {
        self.title(race);
        self.out.push('\n');
        let [a, b] = &race.sites;
        if self.options.width >= TWO_COLUMNS_FROM {
            let room = (self.options.width - INDENT.len() - 3) / 2;
            let rows = beside(&side(a, sources, room), &side(b, sources, room), room);
            for row in rows {
                self.indented(row);
            }
        } else {
            let room = self.options.width.saturating_sub(INDENT.len()).max(20);
            for (index, site) in [a, b].into_iter().enumerate() {
                for row in side(site, sources, room) {
                    self.indented(layout::cut(&row, room));
                }
                if index == 0 {
                    self.out.push('\n');
                }
            }
        }
        self.out.push('\n');
        self.conclusions(race);
        self.out.push('\n');
    }

    /// A line a race, and how to see what is left out.
    fn in_brief(&mut self, races: &[&Race]) {
        if races.is_empty() {
            return;
        }
        let mut left_out = 0;
        for group in races.chunk_by(|a, b| a.verdict == b.verdict) {
            for race in group.iter().take(MOST_LINES) {
                self.title(race);
            }
            left_out += group.len().saturating_sub(MOST_LINES);
        }
        if left_out > 0 {
            self.line(&Line::plain(format!("… and {left_out} more")));
        }
        let text = "each in full: racewarden show R1; all: racewarden races --all";
        self.line(&Line(vec![Span::painted(text, Paint::Dim)]));
        self.out.push('\n');
    }

    fn indented(&mut self, mut line: Line) {
        line.0.insert(0, Span::plain(INDENT));
        self.line(&line);
    }

    fn title(&mut self, race: &Race) {
        let head = format!("{}  ", race.id);
        let verdict = format!("{:<10} ", race.verdict.as_str());
        let used = layout::width(&head) + layout::width(&verdict);
        let titles = race.sites.each_ref().map(|site| site_title(site, self.options.width / 3));
        let both = format!("{}  ×  {}", titles[0], titles[1]);
        let start =
            vec![Span::painted(head, Paint::Bold), Span::painted(verdict, Paint::of(race.verdict))];
        if used + layout::width(&both) <= self.options.width {
            self.line(&Line([start, vec![Span::plain(both)]].concat()));
        } else {
            self.line(&Line([start, vec![Span::plain(titles[0].clone())]].concat()));
            let second = format!("{}×  {}", " ".repeat(used.saturating_sub(3)), titles[1]);
            self.line(&Line::plain(second));
        }
    }

    /// What is known of the pair as a whole, each under its label.
    fn conclusions(&mut self, race: &Race) {
        for (index, reason) in words::why_unordered(race).iter().enumerate() {
            self.labelled(if index == 0 { "why" } else { "" }, reason, None);
        }
        for order in words::forced_orders(race) {
            let site = &race.sites[order.first];
            let text = format!("{} first: {}", site.location(), order.result());
            self.labelled("forced", &text, None);
        }
        if let Some(harm) = words::harm(race) {
            self.labelled("harm", harm, Some(Paint::Red));
        }
        for (index, evidence) in race.evidence.iter().enumerate() {
            let text = format!("{}: {}", evidence.engine.as_str(), words::evidence_line(evidence));
            self.labelled(if index == 0 { "evidence" } else { "" }, &text, None);
        }
        if race.verdict.is_open()
            && let Some(hint) = words::fix_hint(race)
        {
            self.labelled("fix", &hint, Some(Paint::Green));
        }
        if let Some(command) = words::replay_command(race) {
            self.labelled("replay", &command, Some(Paint::Cyan));
        }
    }

    fn labelled(&mut self, label: &str, text: &str, paint: Option<Paint>) {
        let room = self.options.width.saturating_sub(INDENT.len() + LABEL).max(20);
        for (index, row) in wrap(&printable(text), room).into_iter().enumerate() {
            let label = if index == 0 { label } else { "" };
            self.indented(Line(vec![
                Span::painted(format!("{label:<LABEL$}"), Paint::Dim),
                Span { text: row, paint },
            ]));
        }
    }

    fn summary(&mut self, report: &Report) {
        let most = if self.options.blocks.is_some() { MOST_NOTES } else { usize::MAX };
        for note in report.notes.iter().take(most) {
            let (word, paint) = match note.kind {
                NoteKind::Weakens => ("weakened", Paint::Yellow),
                NoteKind::Info => ("note", Paint::Dim),
            };
            self.line(&Line(vec![
                Span::painted(format!("{word} ({}): ", note.engine.as_str()), paint),
                Span::plain(printable(&note.text)),
            ]));
        }
        let left_out = report.notes.len().saturating_sub(most);
        if left_out > 0 {
            self.line(&Line(vec![Span::painted(
                format!("… and {left_out} more notes"),
                Paint::Dim,
            )]));
        }
        if !report.races.is_empty() {
            let counts: Vec<String> = report
                .verdict_counts()
                .into_iter()
                .map(|(verdict, count)| format!("{count} {verdict}"))
                .collect();
            let noun = if report.races.len() == 1 { "race" } else { "races" };
            self.line(&Line::plain(format!(
                "{} {noun}: {}",
                report.races.len(),
                counts.join(", ")
            )));
        }
        if !report.excluded.is_empty() {
            let total: u64 = report.excluded.values().sum();
            let mut reasons: Vec<_> = report.excluded.iter().collect();
            reasons.sort_by_key(|(reason, count)| (std::cmp::Reverse(**count), *reason));
            let list: Vec<String> =
                reasons.into_iter().map(|(reason, count)| format!("{reason} {count}")).collect();
            self.line(&Line::plain(format!("{total} pairs excluded ({})", list.join(", "))));
        }
        self.line(&Line::plain(format!("conclusion: {}", report.conclusion)));
    }
}

fn site_title(site: &Site, room: usize) -> String {
    let mut short = site.clone();
    short.file = shorten_path(&site.file, room);
    printable(&words::site_title(&short))
}

/// One thread's half of the block.
fn side(site: &Site, sources: &mut Sources, room: usize) -> Vec<Line> {
    let thread = if site.thread.is_empty() { "some thread" } else { site.thread.as_str() };
    let mut lines = Vec::new();
    for row in wrap(&printable(thread), room) {
        lines.push(Line(vec![Span::painted(row, Paint::Bold)]));
    }
    let place = format!("{}:{}:{}", shorten_path(&site.file, room / 2), site.line, site.column);
    let what = format!(
        "{}s {} in {}",
        site.access,
        site.lvalue,
        if site.function.is_empty() { "?" } else { &site.function }
    );
    lines.push(Line::plain(printable(&what)));
    lines.push(Line(vec![Span::painted(printable(&place), Paint::Cyan)]));
    lines.extend(quote(site, sources));
    if site.locks.is_empty() {
        lines.push(Line::plain("holds no lock"));
    }
    for lock in &site.locks {
        let mode = match lock.mode {
            racewarden_finding::LockMode::Read => " for reading",
            racewarden_finding::LockMode::Write => "",
        };
        let since = match lock.acquired_at.as_str() {
            "" => String::new(),
            place => format!(" since {}", shorten_path(place, room / 2)),
        };
        lines.push(Line::plain(printable(&format!("holds {}{mode}{since}", lock.name))));
    }
    // The innermost frame is the access itself, which stands above already.
    for frame in site.stack.iter().skip(1) {
        let file = shorten_path(&frame.file, room / 2);
        let text = format!("called from {} at {file}:{}", frame.function, frame.line);
        lines.push(Line(vec![Span::painted(printable(&text), Paint::Dim)]));
    }
    lines
}

/// The source line with carets under the access.
fn quote(site: &Site, sources: &mut Sources) -> Vec<Line> {
    let Some(text) = sources.line(&site.file, site.line).map(str::to_owned) else {
        return Vec::new();
    };
    let start = text.chars().take_while(|c| c.is_whitespace()).count();
    let gutter = format!("{:>5} │ ", site.line);
    let code: String = text.chars().skip(start).collect();
    let mut lines =
        vec![Line(vec![Span::painted(gutter.clone(), Paint::Dim), Span::plain(printable(&code))])];
    if let Some(range) = underline(&text, site).filter(|range| range.start >= start) {
        let before: String = text.chars().skip(start).take(range.start - start).collect();
        let marked: String = text.chars().skip(range.start).take(range.len()).collect();
        let pad = layout::width(&gutter) + layout::width(&printable(&before));
        lines.push(Line(vec![
            Span::plain(" ".repeat(pad)),
            Span::painted("^".repeat(layout::width(&printable(&marked)).max(1)), Paint::Red),
        ]));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn at(width: usize) -> String {
        let options = TextOptions { width, ..TextOptions::default() };
        render_with(&sample::report(), options, &mut sample::sources())
    }

    #[test]
    fn wide_terminal_has_two_columns() {
        insta::assert_snapshot!(at(120));
    }

    #[test]
    fn narrow_terminal_is_stacked() {
        insta::assert_snapshot!(at(72));
    }

    #[test]
    fn what_has_no_block_has_a_line() {
        let options = TextOptions { width: 120, blocks: Some(1), ..TextOptions::default() };
        let report = sample::report();
        let text = render_with(&report, options, &mut sample::sources());
        for race in &report.races {
            assert!(text.lines().any(|line| line.starts_with(&race.id)), "{}: {text}", race.id);
        }
        let full = at(120);
        assert!(text.lines().count() < full.lines().count(), "{text}");
        assert!(text.contains("racewarden races --all"), "{text}");
        assert_eq!(text.lines().last(), full.lines().last(), "the conclusion is the same");
    }

    #[test]
    fn empty_report_is_its_conclusion() {
        assert_eq!(render(&Report::default()), "conclusion: unknown\n");
    }

    #[test]
    fn colour_only_on_demand_and_layout_does_not_depend_on_it() {
        let plain = at(120);
        assert!(!plain.contains('\x1b'));
        let options = TextOptions { width: 120, colour: true, blocks: None };
        let coloured = render_with(&sample::report(), options, &mut sample::sources());
        assert!(coloured.contains("\x1b[1;31mharmful"));
        let mut stripped = String::new();
        let mut rest = coloured.as_str();
        while let Some(start) = rest.find('\x1b') {
            stripped.push_str(&rest[..start]);
            rest = &rest[start + rest[start..].find('m').unwrap() + 1..];
        }
        stripped.push_str(rest);
        let unpadded = |text: &str| -> Vec<String> {
            text.lines().map(|line| line.trim_end().to_owned()).collect()
        };
        assert_eq!(unpadded(&stripped), unpadded(&plain));
    }

    #[test]
    fn no_width_makes_it_fail() {
        for width in [0, 1, 5, 20, 99, 100, 101, 1000] {
            assert!(at(width).ends_with("conclusion: racy\n"));
        }
    }
}
