//! The report as a person reads it.

use std::fmt::Write;

use racewarden_finding::{Race, Report, Site};

/// The report as plain text, without colour.
pub fn render(report: &Report) -> String {
    let mut out = String::new();
    for race in &report.races {
        render_race(&mut out, race);
    }
    for note in &report.notes {
        let _ = writeln!(out, "note ({}): {}", note.engine.as_str(), note.text);
    }
    let _ = writeln!(out, "conclusion: {}", report.conclusion);
    out
}

fn render_race(out: &mut String, race: &Race) {
    let _ = writeln!(out, "{}  {}  {}", race.id, race.verdict, race.object);
    for site in &race.sites {
        let _ = writeln!(out, "    {}", site_line(site));
        for lock in &site.locks {
            let _ = writeln!(out, "        holds {} ({})", lock.name, lock.acquired_at);
        }
    }
    for reason in &race.reasons {
        let _ = writeln!(out, "    {reason}");
    }
    out.push('\n');
}

fn site_line(site: &Site) -> String {
    format!(
        "{}:{}:{} {} {} in {} [{}]",
        site.file, site.line, site.column, site.access, site.lvalue, site.function, site.thread
    )
}
