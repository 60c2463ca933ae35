//! Wrapping, shortening and columns.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::style::{Line, Span};

pub fn width(text: &str) -> usize {
    text.width()
}

/// Shortens a path from its middle, keeping the file's name: `/usr/…/include/counters.h`.
pub fn shorten_path(path: &str, room: usize) -> String {
    if width(path) <= room {
        return path.to_owned();
    }
    let parts: Vec<&str> = path.split('/').collect();
    let name = parts[parts.len() - 1];
    let mut tail = name.to_owned();
    for part in parts[..parts.len() - 1].iter().rev() {
        let longer = format!("{part}/{tail}");
        if width(&longer) + 2 > room {
            break;
        }
        tail = longer;
    }
    format!("…/{tail}")
}

/// Breaks text at spaces so that no line is wider than `room`; a longer word stands alone.
pub fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("never empty");
        if last.is_empty() {
            last.push_str(word);
        } else if width(last) + 1 + width(word) <= room {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// Cuts a line to `room` columns, with an ellipsis where something was lost.
pub fn cut(line: &Line, room: usize) -> Line {
    if line.width() <= room {
        return line.clone();
    }
    let mut left = room.saturating_sub(1);
    let mut spans = Vec::new();
    for span in &line.0 {
        let mut text = String::new();
        for c in span.text.chars() {
            let columns = c.width().unwrap_or(0);
            if columns > left {
                left = 0;
                break;
            }
            left -= columns;
            text.push(c);
        }
        spans.push(Span { text, paint: span.paint });
        if left == 0 {
            break;
        }
    }
    spans.push(Span::plain("…"));
    Line(spans)
}

/// Puts two blocks side by side, each `room` wide.
pub fn beside(left: &[Line], right: &[Line], room: usize) -> Vec<Line> {
    let blank = Line::default();
    (0..left.len().max(right.len()))
        .map(|row| {
            let mut line = cut(left.get(row).unwrap_or(&blank), room);
            let gap = room - line.width().min(room);
            line.0.push(Span::plain(" ".repeat(gap)));
            line.0.push(Span::painted(" │ ", super::style::Paint::Dim));
            line.0.extend(cut(right.get(row).unwrap_or(&blank), room).0);
            line
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lose_their_middle_and_keep_their_name() {
        assert_eq!(shorten_path("a/b.c", 20), "a/b.c");
        assert_eq!(shorten_path("/usr/share/deep/inc/x.h", 14), "…/deep/inc/x.h");
        assert_eq!(shorten_path("averyverylongname.c", 5), "…/averyverylongname.c");
    }

    #[test]
    fn wide_characters_count_double() {
        let line = Line::plain("数据竞争");
        assert_eq!(line.width(), 8);
        assert_eq!(cut(&line, 5).width(), 5);
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
    }
}
