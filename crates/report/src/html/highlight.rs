//! Colours for C and C++ source: just enough to find one's way, and never wrong about where a
//! string or a comment ends within the line. A comment opened on an earlier line is not known.

use maud::{Markup, html};

const KEYWORDS: &[&str] = &[
    "alignas",
    "alignof",
    "asm",
    "auto",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "const",
    "constexpr",
    "continue",
    "default",
    "delete",
    "do",
    "double",
    "else",
    "enum",
    "explicit",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "nullptr",
    "operator",
    "private",
    "protected",
    "public",
    "register",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "template",
    "this",
    "throw",
    "true",
    "try",
    "typedef",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "while",
    "_Atomic",
    "_Bool",
    "thread_local",
    "static_assert",
    "override",
    "final",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Keyword,
    Number,
    Text,
    Comment,
    Directive,
    Plain,
}

impl Token {
    fn class(self) -> Option<&'static str> {
        match self {
            Token::Keyword => Some("k"),
            Token::Number => Some("n"),
            Token::Text => Some("s"),
            Token::Comment => Some("c"),
            Token::Directive => Some("d"),
            Token::Plain => None,
        }
    }
}

/// One line of source, with `mark` (a range of character positions) as the access itself.
pub fn line(text: &str, mark: Option<std::ops::Range<usize>>) -> Markup {
    let tokens = tokens(text);
    let mut pieces: Vec<(String, Token, bool)> = Vec::new();
    let mut position = 0;
    for (token, piece) in tokens {
        for c in piece.chars() {
            let marked = mark.as_ref().is_some_and(|range| range.contains(&position));
            position += 1;
            match pieces.last_mut() {
                Some((text, kind, is_marked)) if *kind == token && *is_marked == marked => {
                    text.push(c);
                }
                _ => pieces.push((c.to_string(), token, marked)),
            }
        }
    }
    html! {
        @for (text, token, marked) in &pieces {
            @let inner = html! {
                @match token.class() {
                    Some(class) => span class=(class) { (text) },
                    None => (text),
                }
            };
            @if *marked { mark { (inner) } } @else { (inner) }
        }
    }
}

fn tokens(text: &str) -> Vec<(Token, String)> {
    let characters: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    if text.trim_start().starts_with('#') {
        return vec![(Token::Directive, text.to_owned())];
    }
    while at < characters.len() {
        let start = at;
        let c = characters[at];
        let next = characters.get(at + 1).copied();
        let token = if c == '/' && next == Some('/') {
            at = characters.len();
            Token::Comment
        } else if c == '/' && next == Some('*') {
            at += 2;
            while at < characters.len() && !characters[..at].ends_with(&['*', '/']) {
                at += 1;
            }
            Token::Comment
        } else if c == '"' || c == '\'' {
            at += 1;
            while at < characters.len() && characters[at] != c {
                at += if characters[at] == '\\' { 2 } else { 1 };
            }
            at = (at + 1).min(characters.len());
            Token::Text
        } else if c.is_alphanumeric() || c == '_' {
            while characters.get(at).is_some_and(|c| c.is_alphanumeric() || *c == '_') {
                at += 1;
            }
            let word: String = characters[start..at].iter().collect();
            if c.is_ascii_digit() {
                Token::Number
            } else if KEYWORDS.contains(&word.as_str()) {
                Token::Keyword
            } else {
                Token::Plain
            }
        } else {
            at += 1;
            Token::Plain
        };
        tokens.push((token, characters[start..at].iter().collect()));
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loses_no_character_whatever_the_line() {
        for text in
            ["x = \"a\\", "'", "/*", "/* a */ b", "a // \"b", "\\", "#if 1 // x", "ü\"ß\\\""]
        {
            let joined: String = tokens(text).into_iter().map(|(_, piece)| piece).collect();
            assert_eq!(joined, text);
        }
    }

    #[test]
    fn escapes_and_marks() {
        let markup = line("if (a<b) x = 1; // <i>", Some(4..7)).into_string();
        assert_eq!(
            markup,
            "<span class=\"k\">if</span> (<mark>a&lt;b</mark>) x = <span class=\"n\">1</span>; \
             <span class=\"c\">// &lt;i&gt;</span>"
        );
    }
}
