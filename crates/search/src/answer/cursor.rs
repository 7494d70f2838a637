//! The cursor of a page of results, as text: mode, score and key of the last result shown.
//!
//! A cursor is a position in the order, not a number of results to skip. Pages loaded in the
//! meantime therefore do not shift the list.

use crate::collect::SearchAfter;
use crate::scoring::rank;
use crate::scoring::wanted::Mode;

/// Returns whether a text is a cursor of some answer.
pub fn is_cursor(text: &str) -> bool {
    Cursor::decode(text).is_some()
}

/// The last result of a page.
pub(crate) struct Cursor {
    pub(crate) mode: Mode,
    /// Whether it is a position in the order of a profile.
    pub(crate) personal: bool,
    pub(crate) after: SearchAfter,
}

impl Cursor {
    /// Encodes a cursor as the text that the caller passes back as `after`.
    pub(crate) fn encode(mode: Mode, personal: bool, score: rank::Units, key: &str) -> String {
        let mode = match (mode, personal) {
            (Mode::Enough, false) => 'e',
            (Mode::Known, false) => 'k',
            (Mode::One, false) => 'o',
            (Mode::Enough, true) => 'E',
            (Mode::Known, true) => 'K',
            (Mode::One, true) => 'O',
        };
        format!("{mode}{score:x}.{key}")
    }

    /// Decodes the output of [`Cursor::encode`]; `None` for any other text.
    pub(crate) fn decode(text: &str) -> Option<Cursor> {
        let (head, key) = text.split_once('.')?;
        let first = head.chars().next()?;
        let mode = match first.to_ascii_lowercase() {
            'e' => Mode::Enough,
            'k' => Mode::Known,
            'o' => Mode::One,
            _ => return None,
        };
        let score = rank::Units::from_str_radix(&head[1..], 16).ok()?;
        Some(Cursor {
            mode,
            personal: first.is_ascii_uppercase(),
            after: SearchAfter {
                score,
                key: key.to_owned(),
            },
        })
    }
}
