//! Typed indices for everything in the model. `Display` is the text form that the parser reads.

macro_rules! entity {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub struct $name(pub u32);

        impl $name {
            pub fn index(self) -> usize {
                self.0 as usize
            }

            pub fn new(index: usize) -> Self {
                Self(u32::try_from(index).expect("more than 2^32 entities of one kind"))
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    };
}

entity!(/// A function of a module or program.
    FunctionId, "fn");
entity!(/// A global variable.
    GlobalId, "@g");
entity!(/// A basic block within one function.
    BlockId, "bb");
entity!(/// An instruction within one function: its ordinal in the prepared LLVM function.
    InstId, "%");
entity!(/// A formal parameter within one function.
    ArgId, "arg");
entity!(/// A type in the module's table.
    TypeId, "ty");
entity!(/// An interned string (symbol, file, field or variable name).
    NameId, "n");
entity!(/// A source location in the function's table.
    SourceId, "loc");
entity!(/// A field path as the programmer wrote it, in the function's table.
    FieldPathId, "path");
