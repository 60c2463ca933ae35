//! The configuration reference in the documents is what the commands' own definitions say.

use std::path::Path;
use std::process::Command;

#[test]
fn the_configuration_reference_is_current() {
    let output = Command::new(env!("CARGO_BIN_EXE_racewarden")).arg("reference").output().unwrap();
    assert!(output.status.success());
    let made = String::from_utf8(output.stdout).unwrap();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let kept = std::fs::read_to_string(page).unwrap();
    let differs = kept.lines().zip(made.lines()).find(|(kept, made)| kept != made);
    assert!(
        kept == made,
        "make it again: racewarden reference > docs/configuration.md; first difference: {differs:?}"
    );
}
