//! Ways of building.

use racewarden_capture::{LinkItem, TargetKind};

use crate::project::{Project, said, succeed};

const MAIN: &str = "int one(void), two(void);\nint main(void) { return one() + two(); }\n";
const ONE: &str = "int one(void) { return 1; }\n";
const TWO: &str = "int two(void) { return 2; }\n";

fn archived() -> Project {
    Project::new(&[
        ("main.c", MAIN),
        ("one.c", ONE),
        ("two.c", TWO),
        (
            "Makefile",
            "prog: main.o libboth.a\n\t$(CC) -o $@ main.o -L. -lboth -lpthread\n\
             libboth.a: one.o two.o\n\tar rcs $@ $^\n",
        ),
    ])
}

#[test]
fn make_in_parallel_with_an_archive() {
    let project = archived();
    let told = project.capture("make -j3");
    assert!(told.contains("3 units captured, 0 failed"), "{told}");
    assert_eq!(project.sources(), ["main.c", "one.c", "two.c"]);
    assert_eq!(project.relinked_status("prog"), 3);
    let (_, target) = project.target("prog");
    assert!(
        matches!(&target.link[..], [
        LinkItem::Unit(_),
        LinkItem::Flag(folder),
        LinkItem::Archive { members, .. },
        LinkItem::Flag(threads),
    ] if folder == "-L." && members.len() == 2 && threads == "-lpthread"),
        "{:?}",
        target.link
    );
}

#[test]
fn the_users_outputs_are_what_they_would_have_been() {
    let project = archived();
    succeed(std::process::Command::new("make").current_dir(project.root()).env_remove("MAKEFLAGS"));
    let read = |name: &str| std::fs::read(project.root().join(name)).unwrap();
    let plain: Vec<Vec<u8>> = ["main.o", "prog"].map(read).to_vec();
    project.capture("rm -f *.o *.a prog; make");
    let captured: Vec<Vec<u8>> = ["main.o", "prog"].map(read).to_vec();
    assert!(plain == captured, "the captured build's files differ");
}

#[test]
fn cmake_and_ninja() {
    let project = Project::new(&[
        (
            "CMakeLists.txt",
            "cmake_minimum_required(VERSION 3.13)\nproject(demo C CXX)\n\
             add_library(part STATIC part.cpp)\nadd_library(dyn SHARED dyn.c)\n\
             add_executable(app app.cpp)\ntarget_link_libraries(app part)\n",
        ),
        ("part.cpp", "int part() { return 4; }\n"),
        ("dyn.c", "int dyn(void) { return 0; }\n"),
        ("app.cpp", "int part();\nint main() { return part(); }\n"),
    ]);
    project.capture("cmake -GNinja -B build . && ninja -C build");
    // Neither the configuration's probes nor anything else of the capture shows.
    assert_eq!(project.sources(), ["app.cpp", "dyn.c", "part.cpp"]);
    let cache = std::fs::read_to_string(project.root().join("build/CMakeCache.txt")).unwrap();
    assert!(!cache.contains("racewarden/sessions"), "the build remembers a shim");
    assert_eq!(project.target("libdyn.so").1.kind, TargetKind::SharedLibrary);
    assert_eq!(project.relinked_status("app"), 4);
}

#[test]
fn libtools_way() {
    // What libtool runs: each source twice, objects moved, a convenience archive opened again, a
    // shared library with a version script.
    let project = Project::new(&[
        ("one.c", ONE),
        ("two.c", TWO),
        ("main.c", MAIN),
        ("exports", "V1 { global: one; two; local: *; };\n"),
    ]);
    project.capture(
        "mkdir .libs tmp
         for f in one two; do
           gcc -c $f.c -fPIC -DPIC -o .libs/$f.tmp && mv .libs/$f.tmp .libs/$f.o
           gcc -c $f.c -o $f.o >/dev/null 2>&1
         done
         ar cru .libs/libconv.a .libs/one.o .libs/two.o && ranlib .libs/libconv.a
         (cd tmp && ar x ../.libs/libconv.a)
         gcc -shared tmp/one.o tmp/two.o -Wl,-soname -Wl,libboth.so.1 -Wl,--version-script=exports -o .libs/libboth.so
         gcc -o prog main.c one.o two.o",
    );
    assert_eq!(project.relinked_status("prog"), 3);
    let (capture, target) = project.target("libboth.so");
    assert_eq!(capture.units.len(), 2);
    assert!(capture.units.iter().all(|unit| unit.arguments.contains(&"-fPIC".to_owned())));
    let script = LinkItem::Flag("-Wl,--version-script=exports".into());
    assert!(target.link.contains(&script), "{:?}", target.link);
}

#[test]
fn response_files_several_sources_forced_languages_and_includes() {
    let project = Project::new(&[
        ("main.c", MAIN),
        ("one.text", "int one(void) { return ONE; }\n"),
        ("two.c", TWO),
        ("forced.h", "#define ONE 1\n"),
        ("words", "-DUNUSED=\"a b\" -include forced.h @more"),
        ("more", "main.c two.c -o prog"),
    ]);
    project.capture("gcc @words -x c one.text");
    assert_eq!(project.sources(), ["main.c", "one.text", "two.c"]);
    assert_eq!(project.relinked_status("prog"), 3);
}

#[test]
fn thin_archives_appended_to() {
    let project = archived();
    project.capture(
        "gcc -c main.c one.c two.c
         ar qT libthin.a one.o && ar qT libthin.a two.o
         gcc -o prog main.o libthin.a",
    );
    assert_eq!(project.relinked_status("prog"), 3);
}

#[test]
fn partial_links_and_whole_archives() {
    let project = archived();
    project.capture(
        "gcc -c main.c one.c two.c
         ld -r -o both.o one.o two.o
         ar rc libboth.a both.o
         ld -r -o start.o main.o
         gcc -o prog start.o -Wl,--whole-archive,libboth.a,--no-whole-archive",
    );
    assert_eq!(project.target("prog").0.units.len(), 3);
    assert_eq!(project.relinked_status("prog"), 3);
}

#[test]
fn assembly_is_linked_as_it_is_and_noted() {
    let project = Project::new(&[
        ("main.c", "int fast(void);\nint main(void) { return fast(); }\n"),
        (
            "fast.S",
            ".globl fast\nfast: mov $9, %eax\n ret\n.section .note.GNU-stack,\"\",@progbits\n",
        ),
    ]);
    let told = project.capture(
        "gcc -c main.c fast.S && ar rc libfast.a fast.o main.o && gcc -o prog -Wl,--whole-archive libfast.a -Wl,--no-whole-archive && rm *.o",
    );
    assert!(told.contains("fast.S: assembly is not captured"), "{told}");
    assert!(project.load().notes.iter().any(|note| note.incomplete));
    assert_eq!(project.relinked_status("prog"), 9);
}

#[test]
fn flags_only_gcc_knows_are_dropped_and_told() {
    let project = archived();
    let told = project.capture("gcc -fno-ira-share-spill-slots -Werror -c one.c two.c");
    assert!(told.contains("-fno-ira-share-spill-slots"), "{told}");
    assert_eq!(project.sources(), ["one.c", "two.c"]);
}

#[test]
fn compilers_by_absolute_path_and_shims_on_the_path() {
    for options in [&["capture"][..], &["capture", "--path-shims"]] {
        let project = archived();
        let mut command = project.racewarden(options);
        command.args(["--", "make", "-e"]).env("CC", "/usr/bin/gcc");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        assert_eq!(project.sources(), ["main.c", "one.c", "two.c"], "{options:?}");
        assert_eq!(project.relinked_status("prog"), 3);
    }
}

#[test]
fn a_build_that_cleans_its_environment() {
    let project = archived();
    project.capture("env -i PATH=/usr/bin:/bin sh -ec 'make'");
    assert_eq!(project.sources(), ["main.c", "one.c", "two.c"]);
}

#[test]
fn a_compile_database() {
    let project = archived();
    let root = project.root();
    let root = root.display();
    project.write(
        "build/compile_commands.json",
        &format!(
            r#"[{{"directory":"{root}","file":"one.c","command":"gcc -DX=\"1 2\" -c one.c -o one.o"}},
                {{"directory":"{root}","file":"two.c","arguments":["cc","-c","two.c"]}}]"#
        ),
    );
    let output = project
        .racewarden(&["capture", "--compile-commands", "build/compile_commands.json"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(project.sources(), ["one.c", "two.c"]);
    assert_eq!(project.target("build").0.units.len(), 2);
}

#[test]
fn an_engine_takes_a_compile_database_and_leaves_nothing_behind() {
    let project = archived();
    let root = project.root();
    let root = root.display();
    project.write(
        "compile_commands.json",
        &format!(
            r#"[{{"directory":"{root}","file":"main.c","command":"gcc -c main.c"}},
                {{"directory":"{root}","file":"one.c","command":"gcc -c one.c"}},
                {{"directory":"{root}","file":"two.c","command":"gcc -c two.c"}}]"#
        ),
    );
    let database = ["--compile-commands", "compile_commands.json"];
    for (engine, status) in [("check", 0), ("run", 0)] {
        let words = [&[engine, "--no-ledger"][..], &database].concat();
        let output = project.racewarden(&words).output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{}", said(&output));
    }
    assert!(!project.root().join(".racewarden").exists());
}

#[test]
fn the_build_command_may_be_the_compiler_itself() {
    let project = archived();
    let words = ["capture", "--", "gcc", "main.c", "one.c", "two.c", "-o", "prog"];
    let output = project.racewarden(&words).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(project.sources(), ["main.c", "one.c", "two.c"]);
    assert_eq!(project.target("prog").0.units.len(), 3);
    assert_eq!(project.load().notes, []);
}

#[test]
fn sources_named_inside_a_project_become_a_target() {
    let project = archived();
    project.capture("make");
    succeed(
        std::process::Command::new("clang-22")
            .args(["-g", "-emit-llvm", "-c", "two.c", "-o", "two.bc"])
            .current_dir(project.root()),
    );
    let words = ["capture", "main.c", "one.c", "two.bc", "--cflags=-DX -lm"];
    let output = project.racewarden(&words).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    std::fs::remove_file(project.root().join("two.bc")).unwrap();
    let (capture, _) = project.target("main");
    assert_eq!(capture.units.len(), 3);
    assert_eq!(project.relinked_status("main"), project.relinked_status("prog"));
}

#[test]
fn an_unknown_target_is_answered_with_the_known_ones() {
    let project = archived();
    project.capture("make");
    let output = project.racewarden(&["capture", "nonesuch"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("nonesuch") && told.contains("captured targets: prog (prog)"), "{told}");
}

#[test]
fn sources_beside_no_project_leave_nothing_behind() {
    let project = archived();
    let output =
        project.racewarden(&["capture", "one.c", "two.c", "--cflags=-O2 -DX"]).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 2);
    assert!(!project.root().join(".racewarden").exists());
}

#[test]
fn bitcode_is_taken_as_it_is() {
    let project = archived();
    succeed(
        std::process::Command::new("clang-22")
            .args(["-g", "-emit-llvm", "-c", "one.c", "-o", "whole.bc"])
            .current_dir(project.root()),
    );
    let output = project.racewarden(&["capture", "whole.bc"]).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let whole = project.root().join("whole.bc");
    let expected = format!("whole.bc {}\n", whole.display());
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
}

#[test]
fn failures_name_what_is_wrong_and_leave_nothing_to_resume() {
    let project = archived();
    for (words, named) in [
        (&["capture", "--", "no-such-build-command"][..], "no-such-build-command"),
        (&["capture", "absent.c"], "absent.c: no such file"),
        (&["capture", "--compile-commands", "absent.json"], "absent.json"),
        (&["capture"], "nothing to capture"),
    ] {
        let output = project.racewarden(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.contains(named), "{words:?}: {told}");
    }
    let told = project.capture("true");
    assert!(!told.contains("interrupted"), "{told}");
    project.write(".racewarden/capture.json", "{ cut off");
    let output = project.racewarden(&["capture", "prog"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("capture.json"));
}
