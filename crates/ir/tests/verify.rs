//! The verifier finds each broken invariant, by its number in `verify.rs`.

use racewarden_ir::{link, parse, verify, verify_program};

/// A module with one function of the given body, and what the verifier says of it.
fn errors(body: &str) -> Vec<String> {
    let text = format!(
        "type ty0 = void\ntype ty1 = int 32\ntype ty2 = pointer\n\
         global @g0 \"x\" external ty1 size 4 = [] bytes \"00000000\"\n\
         function fn0 \"f\" external ty1 (ty1 \"a\") {{\n{body}\n}}\n"
    );
    errors_of(&text)
}

fn errors_of(text: &str) -> Vec<String> {
    let module = parse(text).expect("the text is well formed");
    let errors = verify(&module).err().unwrap_or_default();
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn a_good_function_has_no_errors() {
    assert_eq!(errors("bb0:\n %0: ty1 = load @g0, 4\n %1: ty0 = return %0"), [""; 0]);
}

#[test]
fn invariant_1_ids_are_in_their_tables() {
    let missing = ["fn0 %0: uses a value that does not exist"];
    assert_eq!(errors("bb0:\n %0: ty0 = return @g9"), missing);
    assert_eq!(errors("bb0:\n %0: ty0 = return %9"), missing);
    assert_eq!(errors("bb0:\n %0: ty0 = return arg9"), missing);
    assert_eq!(errors("bb0:\n %0: ty0 = return 1:ty9"), missing);
    assert_eq!(errors("bb0:\n %0: ty9 = unreachable"), ["fn0 %0: has no type"]);
    let call = "bb0:\n %0: ty1 = call fn7 ()\n %1: ty0 = unreachable";
    assert_eq!(errors(call), ["fn0 %0: calls no function"]);
}

#[test]
fn invariant_2_types_are_made_of_earlier_types() {
    assert_eq!(errors_of("type ty0 = array 2 ty0"), ["ty0: is made of types with larger ids"]);
}

#[test]
fn invariant_3_initializers_fit() {
    let global = |rest: &str| {
        errors_of(&format!("type ty0 = int 32\nglobal @g0 \"x\" external ty0 size 4 = {rest}"))
    };
    assert_eq!(global("[] bytes \"00\""), ["@g0: has more or fewer bytes than its size"]);
    assert_eq!(global("[8 null] bytes \"\""), ["@g0: has a pointer past its end"]);
    assert!(global("[0 %1] bytes \"\"").contains(&"@g0: is not a constant".to_owned()));
}

#[test]
fn invariants_4_and_5_blocks_end_in_one_terminator() {
    assert_eq!(errors("bb0:"), ["fn0: has an empty block"]);
    let wrong = "ends its block in the wrong place";
    let errors = errors("bb0:\n %0: ty0 = unreachable\n %1: ty1 = add arg0, arg0");
    assert_eq!(errors, [format!("fn0 %0: {wrong}"), format!("fn0 %1: {wrong}")]);
}

#[test]
fn invariant_6_the_entry_has_no_predecessor() {
    assert_eq!(errors("bb0:\n %0: ty0 = jump bb0"), ["fn0 %0: leads to the entry block"]);
    assert_eq!(errors("bb0:\n %0: ty0 = jump bb5"), ["fn0 %0: leads to no block"]);
}

#[test]
fn invariant_7_phis_match_predecessors() {
    let body = "bb0:\n %0: ty0 = jump bb1\nbb1:\n %1: ty1 = phi [arg0, bb1]\n %2: ty0 = return %1";
    assert_eq!(errors(body), ["fn0 %1: does not name the block's predecessors"]);
    let body = "bb0:\n %0: ty0 = jump bb1\nbb1:\n %1: ty1 = add arg0, arg0\n \
                %2: ty1 = phi [arg0, bb0]\n %3: ty0 = return %1";
    assert_eq!(errors(body), ["fn0 %2: is a phi after other instructions"]);
}

#[test]
fn invariant_8_uses_follow_definitions() {
    let body = "bb0:\n %0: ty1 = add %1, arg0\n %1: ty1 = add arg0, arg0\n %2: ty0 = return %1";
    assert_eq!(errors(body), ["fn0 %0: uses a result before it is there"]);
    let body = "bb0:\n %0: ty0 = store @g0, arg0, 4\n %1: ty0 = return %0";
    assert_eq!(errors(body), ["fn0 %1: uses an instruction without a result"]);
}

#[test]
fn invariants_9_and_10_paths_and_orders() {
    let body = "bb0:\n %0: ty1 = add arg0, arg0 path \"x\" \"\"\n %1: ty0 = return %0";
    assert_eq!(errors(body), ["fn0 %0: has a path but touches no memory"]);
    let body = "bb0:\n %0: ty1 = load @g0, 4 release\n %1: ty0 = return %0";
    assert_eq!(errors(body), ["fn0 %0: has an order it cannot have"]);
}

#[test]
fn invariant_11_programs_know_their_units() {
    let module = parse("type ty0 = void\nfunction fn0 \"f\" external ty0 ()").expect("parses");
    let mut program = link(vec![module.clone(), module]);
    assert_eq!(program.module.functions.len(), 1);
    verify_program(&program).expect("a linked program is well formed");
    program.function_units.clear();
    assert!(verify_program(&program).is_err());
}
