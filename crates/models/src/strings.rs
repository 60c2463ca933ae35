//! `std::basic_string` of other one-byte characters, in the words of `std::string`.
//!
//! The table of strings (`data/string.toml`) names the members of `std::string`. A string of `unsigned
//! char` or `char8_t` has the same members, laid out alike; only the letter of its character differs
//! in their symbols. Strings of wider characters are left to their bodies: lengths in the table are
//! bytes.

use std::iter;

/// Letters of one-byte character types in symbols, other than `char`'s own.
const CHARACTERS: [&str; 2] = ["h", "Du"];

/// The member of `std::string` that is like this member of another string.
pub(crate) fn of_plain_characters(symbol: &str) -> Option<String> {
    let (constant, rest) = match symbol.strip_prefix("_ZNK") {
        Some(rest) => ("K", rest),
        None => ("", symbol.strip_prefix("_ZN")?),
    };
    let rest = rest.strip_prefix("St7__cxx1112basic_stringI")?;
    let of = |letter: &'static str| {
        let class = format!("{letter}St11char_traitsI{letter}ESaI{letter}EE");
        rest.strip_prefix(&class).map(|member| (letter, member))
    };
    let (letter, member) = CHARACTERS.into_iter().find_map(of)?;
    let member = with_letter(member, letter);
    Some(format!("_ZN{constant}St7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE{member}"))
}

/// A member's symbol with `char` for the letter, which may also stand in names: those are skipped by
/// the length before them.
fn with_letter(member: &str, letter: &str) -> String {
    let mut rest = member;
    iter::from_fn(|| {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (piece, next) = if digits > 0 {
            let length = rest[..digits].parse().unwrap_or(0usize).saturating_add(digits);
            rest.split_at_checked(length).unwrap_or((rest, ""))
        } else if let Some(next) = rest.strip_prefix(letter) {
            ("c", next)
        } else {
            rest.split_at_checked(rest.chars().next()?.len_utf8())?
        };
        rest = next;
        Some(piece)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::of_plain_characters;

    #[test]
    fn only_the_character_changes() {
        let bytes = "St7__cxx1112basic_stringIhSt11char_traitsIhESaIhEE";
        let plain = "St7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE";
        for (other, own) in
            [("9push_backEh", "9push_backEc"), ("5whichEPKhmh", "5whichEPKcmc"), ("ixEm", "ixEm")]
        {
            let member = of_plain_characters(&format!("_ZNK{bytes}{other}"));
            assert_eq!(member, Some(format!("_ZNK{plain}{own}")));
        }
        assert_eq!(of_plain_characters(&format!("_ZN{plain}ixEm")), None);
        assert_eq!(of_plain_characters("_ZN3appE"), None);
        assert!(of_plain_characters(&format!("_ZN{bytes}99x")).is_some(), "cut short");
    }
}
