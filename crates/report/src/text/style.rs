//! Colour, and only where it is wanted.

use racewarden_finding::Verdict;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    Bold,
    Dim,
    Red,
    Yellow,
    Green,
    Cyan,
}

impl Paint {
    fn code(self) -> &'static str {
        match self {
            Paint::Bold => "1",
            Paint::Dim => "2",
            Paint::Red => "1;31",
            Paint::Yellow => "1;33",
            Paint::Green => "32",
            Paint::Cyan => "36",
        }
    }

    pub fn of(verdict: Verdict) -> Paint {
        match verdict {
            Verdict::Harmful | Verdict::Confirmed | Verdict::Observed => Paint::Red,
            Verdict::Predicted | Verdict::Potential => Paint::Yellow,
            Verdict::Fixed => Paint::Green,
            Verdict::Suppressed | Verdict::LikelyFalse => Paint::Dim,
        }
    }
}

/// A run of text in one colour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    pub text: String,
    pub paint: Option<Paint>,
}

impl Span {
    pub fn plain(text: impl Into<String>) -> Self {
        Span { text: text.into(), paint: None }
    }

    pub fn painted(text: impl Into<String>, paint: Paint) -> Self {
        Span { text: text.into(), paint: Some(paint) }
    }
}

/// A line made of spans, whose width is known whatever its colours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line(pub Vec<Span>);

impl Line {
    pub fn plain(text: impl Into<String>) -> Self {
        Line(vec![Span::plain(text)])
    }

    pub fn write(&self, out: &mut String, colour: bool) {
        for span in &self.0 {
            match span.paint.filter(|_| colour && !span.text.is_empty()) {
                Some(paint) => {
                    out.push_str(&format!("\x1b[{}m{}\x1b[0m", paint.code(), span.text));
                }
                None => out.push_str(&span.text),
            }
        }
    }

    pub fn width(&self) -> usize {
        self.0.iter().map(|span| super::layout::width(&span.text)).sum()
    }
}
