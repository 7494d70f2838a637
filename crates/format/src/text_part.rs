//! A part of a text, counted in characters: no part splits one.

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub struct TextPart {
    /// The characters of the part.
    pub text: String,
    /// Number of characters before the part; at most `chars`.
    pub start: u64,
    /// Number of characters of the whole text.
    pub chars: u64,
    /// Start of the next part; `None` at the end of the text.
    pub next: Option<u64>,
}

impl TextPart {
    /// Returns at most `chars_max` characters of a text, from number `start` on.
    pub fn of(text: &str, start: u64, chars_max: usize) -> TextPart {
        let chars = text.chars().count() as u64;
        let start = start.min(chars);
        let end = start.saturating_add(chars_max as u64);
        TextPart {
            // A text in memory has fewer characters than `usize` counts.
            text: text.chars().skip(start as usize).take(chars_max).collect(),
            start,
            chars,
            next: (end < chars).then_some(end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_counted_in_characters_and_follow_each_other() {
        for (start, chars_max, text, next) in [
            (0, 5, "grüße", Some(5)),
            (5, 5, " an a", Some(10)),
            (10, 5, "lle", None),
            (8, 5, " alle", None),
            (13, 5, "", None),
            (u64::MAX, usize::MAX, "", None),
        ] {
            let found = TextPart::of("grüße an alle", start, chars_max);
            assert_eq!((found.text.as_str(), found.next, found.chars), (text, next, 13));
        }
    }
}
