//! The report contract: `docs/report-schema.json`.

use racewarden_finding::Report;

/// The report as pretty JSON with a final newline.
pub fn render(report: &Report) -> String {
    let mut text = serde_json::to_string_pretty(report).expect("a report is always valid JSON");
    text.push('\n');
    text
}
