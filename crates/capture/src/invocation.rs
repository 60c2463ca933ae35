//! One compiler command line, read as gcc and clang read theirs.
//!
//! May miss: languages other than C and C++ (told as remarks when they produce objects), and
//! `-Wl,` words that name inputs other than objects and archives.

use std::path::{Path, PathBuf};

use crate::Language;
use crate::flags::{Use, is_linker_side_output, takes_next, use_of};
use crate::response;
use crate::store::absolute;

/// How far the command goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Asks for a version, preprocesses, checks syntax: nothing to capture.
    Other,
    /// `-c`
    Compile,
    Link,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    pub path: PathBuf,
    pub language: Language,
    /// Already preprocessed (`.i`, `-x cpp-output`).
    pub preprocessed: bool,
}

/// One word of the link, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LinkWord {
    /// Index into [`Invocation::sources`].
    Source(usize),
    File(PathBuf),
    Flag(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Invocation {
    pub phase: Phase,
    pub cxx: bool,
    pub output: Option<PathBuf>,
    pub sources: Vec<Source>,
    /// Clang's flags for every source, inputs and outputs left out.
    pub compile: Vec<String>,
    pub link: Vec<LinkWord>,
    pub shared: bool,
    /// `-r`: the output is an object again.
    pub relocatable: bool,
    /// What the capture leaves out: `incomplete` says whether code is missing because of it.
    pub remarks: Vec<Remark>,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Remark {
    /// Whether code is missing because of it.
    pub incomplete: bool,
    pub text: String,
    /// The missing code is in an object, and whichever target links that will say so itself.
    #[serde(default)]
    pub in_object: bool,
}

impl Invocation {
    /// Reads `words` (without the program's own name) as run in `directory` by a C or C++ driver.
    pub fn parse(words: &[String], directory: &Path, cxx: bool) -> Invocation {
        let words = response::expand(words, directory);
        let mut parser = Parser::new(cxx);
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            if !word.starts_with('-') || word == "-" {
                parser.input(word);
            } else if takes_next(word) {
                parser.flag(word, rest.next());
            } else {
                parser.flag(word, None);
            }
        }
        parser.finish()
    }

    /// Where source number `index` leaves its object, absolute; `None` when it links at once.
    pub fn object_of(&self, index: usize, directory: &Path) -> Option<PathBuf> {
        if self.phase != Phase::Compile {
            return None;
        }
        let name = match &self.output {
            Some(output) => output.clone(),
            None => Path::new(self.sources[index].path.file_name()?).with_extension("o"),
        };
        Some(absolute(directory, &name))
    }

    pub fn linked_output(&self, directory: &Path) -> PathBuf {
        absolute(directory, self.output.as_deref().unwrap_or(Path::new("a.out")))
    }
}

struct Parser {
    invocation: Invocation,
    /// `-x`, until `-x none`.
    forced: Option<String>,
    links: bool,
    stops: bool,
}

impl Parser {
    fn new(cxx: bool) -> Self {
        let invocation = Invocation {
            phase: Phase::Other,
            cxx,
            output: None,
            sources: Vec::new(),
            compile: Vec::new(),
            link: Vec::new(),
            shared: false,
            relocatable: false,
            remarks: Vec::new(),
        };
        Parser { invocation, forced: None, links: true, stops: false }
    }

    fn remark(&mut self, incomplete: bool, text: String) {
        self.invocation.remarks.push(Remark { incomplete, text, in_object: false });
    }

    fn input(&mut self, word: &str) {
        let kind = match &self.forced {
            Some(language) => kind_of_language(language),
            None => kind_of_extension(Path::new(word), self.invocation.cxx),
        };
        let path = PathBuf::from(word);
        match kind {
            Kind::Source { .. } if word == "-" => {
                self.remark(true, "a source read from standard input is not captured".into());
            }
            Kind::Source { language, preprocessed } => {
                let index = self.invocation.sources.len();
                self.invocation.sources.push(Source { path, language, preprocessed });
                self.invocation.link.push(LinkWord::Source(index));
            }
            Kind::Header => self.stops = true,
            Kind::Assembly => {
                self.remark(true, format!("{word}: assembly is not captured"));
                // On a link line it stays a word of the recipe: clang assembles it too.
                self.invocation.link.push(LinkWord::File(path));
            }
            Kind::Module => {
                self.remark(true, format!("{word}: a C++20 module interface is not captured"));
            }
            Kind::Foreign => {
                self.remark(true, format!("{word}: neither C nor C++, and not captured"));
            }
            Kind::LinkInput => self.invocation.link.push(LinkWord::File(path)),
        }
    }

    fn flag(&mut self, flag: &str, value: Option<&String>) {
        match flag {
            "-o" => self.invocation.output = value.map(PathBuf::from),
            "-x" => self.forced = value.filter(|language| *language != "none").cloned(),
            "-c" => self.links = false,
            "-E" | "-S" | "-M" | "-MM" | "-fsyntax-only" | "--version" | "--help" | "-###" => {
                self.stops = true;
            }
            "-shared" => self.invocation.shared = true,
            "-r" => self.invocation.relocatable = true,
            "-nostdinc" | "-nostdinc++" => {}
            _ if flag.starts_with("-print-") || flag.starts_with("--print-") => self.stops = true,
            _ if flag.starts_with("-dump") && value.is_none() => self.stops = true,
            _ if flag.starts_with("-o") => self.invocation.output = Some(flag[2..].into()),
            _ if flag.starts_with("-x") => {
                self.forced = Some(flag[2..].to_owned()).filter(|language| language != "none");
            }
            _ => {}
        }
        if matches!(flag, "-o" | "-x" | "-c") || flag.starts_with("-o") || flag.starts_with("-x") {
            return;
        }
        self.place(flag, value);
    }

    fn place(&mut self, flag: &str, value: Option<&String>) {
        let place = if flag == "-D" && value.is_some_and(|v| v.starts_with("_FORTIFY_SOURCE")) {
            Use::Drop
        } else {
            use_of(flag)
        };
        if matches!(place, Use::Compile | Use::Both) {
            self.invocation.compile.push(flag.to_owned());
            self.invocation.compile.extend(value.cloned());
        }
        if matches!(place, Use::Link | Use::Both) {
            self.link_flag(flag, value);
        }
        if place == Use::DropTelling {
            self.remark(false, format!("{flag} has no counterpart in a capture and is left out"));
        }
    }

    fn link_flag(&mut self, flag: &str, value: Option<&String>) {
        let link = &mut self.invocation.link;
        if let Some(options) = flag.strip_prefix("-Wl,") {
            return wl_words(options, link);
        }
        match (flag, value) {
            ("-Xlinker", Some(value)) if is_linker_side_output(value) => {}
            // Joined, so that nothing can come between a flag and its value.
            ("-l" | "-L", Some(value)) => link.push(LinkWord::Flag(format!("{flag}{value}"))),
            (_, value) => {
                link.push(LinkWord::Flag(flag.to_owned()));
                link.extend(value.cloned().map(LinkWord::Flag));
            }
        }
    }

    fn finish(self) -> Invocation {
        let mut invocation = self.invocation;
        let files = invocation.link.iter().any(|word| !matches!(word, LinkWord::Flag(_)));
        invocation.phase = if self.stops {
            Phase::Other
        } else if !self.links {
            Phase::Compile
        } else if files {
            Phase::Link
        } else {
            Phase::Other
        };
        invocation
    }
}

/// `-Wl,a,b`: kept whole, unless it names objects or archives, which the recipe must know.
fn wl_words(options: &str, link: &mut Vec<LinkWord>) {
    let parts: Vec<&str> = options.split(',').collect();
    let names_input = |part: &str| {
        part.starts_with("-l")
            || (!part.starts_with('-') && (part.ends_with(".a") || part.ends_with(".o")))
    };
    if !parts.iter().any(|part| names_input(part) || is_linker_side_output(part)) {
        link.push(LinkWord::Flag(format!("-Wl,{options}")));
        return;
    }
    let mut parts = parts.into_iter();
    while let Some(part) = parts.next() {
        if is_linker_side_output(part) {
            if !part.contains('=') && matches!(part.trim_start_matches('-'), "Map" | "plugin") {
                parts.next();
            }
        } else if part.starts_with("-l") {
            link.push(LinkWord::Flag(part.to_owned()));
        } else if names_input(part) {
            link.push(LinkWord::File(part.into()));
        } else {
            link.push(LinkWord::Flag(format!("-Wl,{part}")));
        }
    }
}

enum Kind {
    Source {
        language: Language,
        preprocessed: bool,
    },
    Header,
    Assembly,
    Module,
    /// Some other language's source.
    Foreign,
    LinkInput,
}

fn kind_of_language(language: &str) -> Kind {
    let source = |language, preprocessed| Kind::Source { language, preprocessed };
    match language {
        "c" => source(Language::C, false),
        "c++" => source(Language::Cxx, false),
        "cpp-output" => source(Language::C, true),
        "c++-cpp-output" => source(Language::Cxx, true),
        "c++-module" => Kind::Module,
        "assembler" | "assembler-with-cpp" => Kind::Assembly,
        _ if language.ends_with("-header") => Kind::Header,
        _ => Kind::Foreign,
    }
}

fn kind_of_extension(path: &Path, cxx_driver: bool) -> Kind {
    let source = |language, preprocessed| Kind::Source { language, preprocessed };
    let Some(extension) = path.extension().and_then(|extension| extension.to_str()) else {
        return Kind::LinkInput;
    };
    match extension {
        "c" if cxx_driver => source(Language::Cxx, false),
        "c" => source(Language::C, false),
        "i" if !cxx_driver => source(Language::C, true),
        "i" | "ii" => source(Language::Cxx, true),
        "cc" | "cpp" | "cxx" | "C" | "c++" | "CPP" | "cp" => source(Language::Cxx, false),
        "cppm" | "ccm" | "cxxm" | "c++m" | "ixx" => Kind::Module,
        "s" | "S" | "sx" | "asm" => Kind::Assembly,
        "h" | "hh" | "hpp" | "hxx" | "H" | "tcc" => Kind::Header,
        "m" | "mm" | "f" | "F" | "f90" | "F90" | "d" | "go" | "adb" => Kind::Foreign,
        _ => Kind::LinkInput,
    }
}

/// The language of a source by its name, as a C driver takes it.
pub(crate) fn source_language(path: &Path) -> Option<Language> {
    match kind_of_extension(path, false) {
        Kind::Source { language, .. } => Some(language),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Invocation {
        let words = shlex::split(line).unwrap();
        Invocation::parse(&words, Path::new("/build"), false)
    }

    fn link_text(invocation: &Invocation) -> String {
        let words = invocation.link.iter().map(|word| match word {
            LinkWord::Source(index) => format!("<{index}>"),
            LinkWord::File(path) => path.display().to_string(),
            LinkWord::Flag(flag) => flag.clone(),
        });
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_compilation() {
        let it = parse("-O3 -g -Wall -DX='a b' -I inc -MD -MF x.d -c src/x.c -o out/x.o");
        assert_eq!(it.phase, Phase::Compile);
        assert_eq!(it.compile, ["-O3", "-DX=a b", "-I", "inc"]);
        assert_eq!(it.sources[0].path, Path::new("src/x.c"));
        assert_eq!(it.object_of(0, Path::new("/build")).unwrap(), Path::new("/build/out/x.o"));
    }

    #[test]
    fn several_sources_leave_objects_in_the_current_directory() {
        let it = parse("-c a/one.c b/two.cc");
        let object = |index| it.object_of(index, Path::new("/b")).unwrap();
        assert_eq!((object(0), object(1)), ("/b/one.o".into(), "/b/two.o".into()));
        assert_eq!(it.sources[1].language, Language::Cxx);
    }

    #[test]
    fn a_link_keeps_its_order() {
        let it = parse(
            "-o prog main.c x.o -Wl,--whole-archive,libw.a,--no-whole-archive -L. -l a -Wl,-Map,m -Wl,-Map=m,-z,now -Xlinker -z -Xlinker now -lm",
        );
        assert_eq!(it.phase, Phase::Link);
        assert_eq!(
            link_text(&it),
            "<0> x.o -Wl,--whole-archive libw.a -Wl,--no-whole-archive -L. -la -Wl,-z -Wl,now -Xlinker -z -Xlinker now -lm"
        );
    }

    #[test]
    fn x_forces_the_language_until_none() {
        let it = parse("-c -x c++ a.txt -x none b.c");
        assert_eq!(it.sources[0].language, Language::Cxx);
        assert_eq!(it.sources[1].language, Language::C);
    }

    #[test]
    fn questions_are_not_compilations() {
        for line in
            ["--version", "-v", "-E a.c", "-print-search-dirs", "-dumpversion", "-MM a.c", "pch.h"]
        {
            assert_eq!(parse(line).phase, Phase::Other, "{line}");
        }
    }

    #[test]
    fn what_is_left_out_is_told() {
        let it = parse("-c fast.S mod.cppm -fsanitize=thread");
        let told: Vec<bool> = it.remarks.iter().map(|remark| remark.incomplete).collect();
        assert_eq!(told, [true, true, false]);
    }
}
