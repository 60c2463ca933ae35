//! Lines to tokens.

use super::ParseError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token<'t> {
    /// A word or an entity (`load`, `%3`, `@g1`, `bb2`).
    Word(&'t str),
    Number(i128),
    Text(String),
    Mark(char),
}

/// One line's tokens, read from left to right.
pub(super) struct Line<'t> {
    pub number: usize,
    tokens: std::iter::Peekable<std::vec::IntoIter<Token<'t>>>,
}

pub(super) type Result<T> = std::result::Result<T, ParseError>;

impl<'t> Line<'t> {
    pub fn new(number: usize, text: &'t str) -> Result<Self> {
        let fail = |message: String| ParseError { line: number, message };
        let mut tokens = Vec::new();
        let mut rest = text.trim_start();
        while let Some(c) = rest.chars().next() {
            let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '%' | '@');
            if c == ';' {
                break;
            } else if c == '"' {
                let (string, after) =
                    quoted(&rest[1..]).ok_or_else(|| fail("unfinished string".into()))?;
                tokens.push(Token::Text(string));
                rest = after;
            } else if c.is_ascii_digit() || c == '-' {
                let end =
                    rest[1..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |i| i + 1);
                let number = rest[..end].parse();
                tokens.push(Token::Number(
                    number.map_err(|_| fail(format!("not a number: {}", &rest[..end])))?,
                ));
                rest = &rest[end..];
            } else if is_word(c) {
                let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
                tokens.push(Token::Word(&rest[..end]));
                rest = &rest[end..];
            } else {
                tokens.push(Token::Mark(c));
                rest = &rest[c.len_utf8()..];
            }
            rest = rest.trim_start();
        }
        Ok(Self { number, tokens: tokens.into_iter().peekable() })
    }

    pub fn fail<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(ParseError { line: self.number, message: message.into() })
    }

    pub fn is_empty(&mut self) -> bool {
        self.tokens.peek().is_none()
    }

    pub fn next(&mut self) -> Option<Token<'t>> {
        self.tokens.next()
    }

    pub fn expect_end(&mut self) -> Result<()> {
        match self.tokens.next() {
            None => Ok(()),
            Some(token) => self.fail(format!("{token:?} is too much")),
        }
    }

    pub fn word(&mut self) -> Result<&'t str> {
        match self.tokens.next() {
            Some(Token::Word(word)) => Ok(word),
            other => self.fail(format!("a word is missing, not {other:?}")),
        }
    }

    pub fn text(&mut self) -> Result<String> {
        match self.tokens.next() {
            Some(Token::Text(text)) => Ok(text),
            other => self.fail(format!("a quoted text is missing, not {other:?}")),
        }
    }

    pub fn number<T: TryFrom<i128>>(&mut self) -> Result<T> {
        match self.tokens.next() {
            Some(Token::Number(number)) => match T::try_from(number) {
                Ok(number) => Ok(number),
                Err(_) => self.fail(format!("{number} is out of range")),
            },
            other => self.fail(format!("a number is missing, not {other:?}")),
        }
    }

    pub fn mark(&mut self, mark: char) -> Result<()> {
        match self.tokens.next() {
            Some(Token::Mark(found)) if found == mark => Ok(()),
            other => self.fail(format!("`{mark}` is missing, not {other:?}")),
        }
    }

    pub fn comma(&mut self) -> Result<()> {
        self.mark(',')
    }

    /// Takes the word if it comes next.
    pub fn take_word(&mut self, word: &str) -> bool {
        self.tokens.next_if(|token| matches!(token, Token::Word(found) if *found == word)).is_some()
    }

    pub fn take_mark(&mut self, mark: char) -> bool {
        self.tokens.next_if(|token| matches!(token, Token::Mark(found) if *found == mark)).is_some()
    }

    pub fn peek(&mut self) -> Option<&Token<'t>> {
        self.tokens.peek()
    }

    /// An entity by its prefix: `%12`, `bb3`.
    pub fn entity(&mut self, prefix: &str) -> Result<u32> {
        let word = self.word()?;
        match word.strip_prefix(prefix).and_then(|digits| digits.parse().ok()) {
            Some(index) => Ok(index),
            None => self.fail(format!("{prefix}N is missing, not {word}")),
        }
    }

    /// `(item, item, …)`.
    pub fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.mark('(')?;
        self.items(')', &mut item)
    }

    /// Items up to a closing mark, the opening one read already.
    pub fn items<T>(
        &mut self,
        close: char,
        item: &mut impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut items = Vec::new();
        if self.take_mark(close) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.take_mark(close) {
                return Ok(items);
            }
            self.comma()?;
        }
    }
}

/// The text up to the closing quote, and what follows it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut string = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((string, &text[at + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => string.push('\n'),
                'u' => {
                    let from = chars.next()?.0 + 1;
                    let to = from + text[from..].find('}')?;
                    let code = u32::from_str_radix(&text[from..to], 16).ok()?;
                    string.push(char::from_u32(code)?);
                    while chars.next()?.0 < to {}
                }
                escaped => string.push(escaped),
            },
            c => string.push(c),
        }
    }
    None
}
