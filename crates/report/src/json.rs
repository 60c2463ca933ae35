//! The report contract: `docs/report-schema.json`.

use racewarden_finding::Report;

/// The report as pretty JSON with a final newline.
pub fn render(report: &Report) -> String {
    let mut text = serde_json::to_string_pretty(report).expect("a report is always valid JSON");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn validator(schema: &str) -> jsonschema::Validator {
        jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap()
    }

    fn complaints(validator: &jsonschema::Validator, text: &str) -> Vec<String> {
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        validator.iter_errors(&value).map(|e| format!("{e} at {}", e.instance_path())).collect()
    }

    #[test]
    fn snapshot() {
        insta::assert_snapshot!(render(&sample::report()));
    }

    #[test]
    fn json_is_valid_by_the_published_schema() {
        let validator = validator(include_str!("../../../docs/report-schema.json"));
        let report = render(&sample::report());
        assert_eq!(complaints(&validator, &report), Vec::<String>::new());
        assert_eq!(complaints(&validator, &render(&Report::default())), Vec::<String>::new());
        for (good, bad) in [("\"racy\"", "\"maybe\""), ("\"R1\"", "\"\""), ("95", "950")] {
            assert!(!complaints(&validator, &report.replace(good, bad)).is_empty(), "{bad}");
        }
    }

    #[test]
    fn reads_back_what_it_wrote() {
        let report = sample::report();
        assert_eq!(serde_json::from_str::<Report>(&render(&report)).unwrap(), report);
    }

    /// The structure of the OASIS schema for SARIF 2.1.0, without its descriptions.
    #[test]
    fn sarif_is_valid_by_its_schema() {
        let validator = validator(include_str!("../tests/sarif-2.1.0.schema.json"));
        let log = crate::sarif(&sample::report());
        assert_eq!(complaints(&validator, &log), Vec::<String>::new());
        let empty = crate::sarif(&Report::default());
        assert_eq!(complaints(&validator, &empty), Vec::<String>::new());
        assert!(!complaints(&validator, &log.replace("\"error\"", "\"fatal\"")).is_empty());
    }
}
