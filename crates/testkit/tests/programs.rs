//! The annotated programs themselves: readable, plentiful, in pairs.

use std::collections::BTreeMap;
use std::path::Path;

use racewarden_testkit::marks::programs;

#[test]
fn the_dynamic_programs_are_many_and_paired() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/dynamic");
    let programs = programs(&root).unwrap();
    assert!(programs.len() >= 120, "{} programs", programs.len());
    let mut kinds: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for program in &programs {
        let says_racy = program.name.contains("_racy.");
        assert!(says_racy || program.name.contains("_safe."), "{}", program.name);
        assert_eq!(program.is_racy(), says_racy, "{}: name and marks differ", program.name);
        kinds.entry(&program.topic).or_default()[usize::from(says_racy)] += 1;
    }
    for (topic, [safe, racy]) in kinds {
        assert!(safe > 0 || topic == "history", "{topic}: no safe program");
        assert!(racy > 0, "{topic}: no racy program");
    }
}
