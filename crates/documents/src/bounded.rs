//! Text up to a limit.

use std::fmt;

/// Maximum size of raw text, in bytes. Search keeps 1 MiB of it after white space is collapsed, and
/// some texts are mostly white space.
pub(crate) const RAW_BYTES_MAX: usize = 4 << 20;

/// Collects text. Writing beyond the limit is an error, which stops the producer of the text.
#[derive(Debug, Default)]
pub(crate) struct Bounded {
    text: String,
    is_full: bool,
}

impl Bounded {
    /// Adds text; ignores it once the limit is reached.
    pub(crate) fn push(&mut self, text: &str) {
        // The flag already records the error.
        let _ = fmt::Write::write_str(self, text);
    }

    /// Returns whether text was left out.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = RAW_BYTES_MAX - self.text.len();
        if text.len() <= room && !self.is_full {
            self.text.push_str(text);
            return Ok(());
        }
        if !self.is_full {
            self.text.push_str(&text[..text.floor_char_boundary(room)]);
        }
        self.is_full = true;
        Err(fmt::Error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_at_a_character() {
        let mut text = Bounded::default();
        text.push(&"x".repeat(RAW_BYTES_MAX - 1));
        assert!(!text.is_full());
        text.push("\u{e9}");
        text.push("y");
        assert!(text.is_full());
        assert_eq!(text.into_text().len(), RAW_BYTES_MAX - 1);
    }
}
