//! Text up to a limit.

use std::fmt;

/// Raw text that is kept, in bytes. Search keeps 1 MiB of it after white space is collapsed, which is most of some texts.
pub(crate) const RAW_BYTES_MAX: usize = 4 << 20;

/// Collects text. Writing beyond the limit is an error, which ends whatever produces the text.
#[derive(Debug, Default)]
pub(crate) struct Bounded {
    text: String,
    is_full: bool,
}

impl Bounded {
    /// Adds text; nothing more where the limit is reached.
    pub(crate) fn push(&mut self, text: &str) {
        // The flag says all that the error would.
        let _ = fmt::Write::write_str(self, text);
    }

    /// Whether something was left out.
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
