//! Where the next page of results begins, as text: mode, score and key of the last result shown.
//!
//! It names a place in the order, not a number of results to skip: pages loaded in between move nothing.

use crate::collect::After;
use crate::compile::Mode;
use crate::rank;

/// Whether a text is a cursor of some answer.
pub fn is_cursor(text: &str) -> bool {
    Cursor::decode(text).is_some()
}

/// The last result of a page.
pub(crate) struct Cursor {
    pub(crate) mode: Mode,
    /// Whether it is a place in the order of a profile.
    pub(crate) personal: bool,
    pub(crate) after: After,
}

impl Cursor {
    /// Text for the caller to give back as `after`.
    pub(crate) fn encode(mode: Mode, personal: bool, score: rank::Units, key: &str) -> String {
        let mode = match (mode, personal) {
            (Mode::All, false) => 'a',
            (Mode::Most, false) => 'm',
            (Mode::Any, false) => 'o',
            (Mode::All, true) => 'A',
            (Mode::Most, true) => 'M',
            (Mode::Any, true) => 'O',
        };
        format!("{mode}{score:x}.{key}")
    }

    /// Reads what [`Cursor::encode`] wrote; `None` for any other text.
    pub(crate) fn decode(text: &str) -> Option<Cursor> {
        let (head, key) = text.split_once('.')?;
        let first = head.chars().next()?;
        let mode = match first.to_ascii_lowercase() {
            'a' => Mode::All,
            'm' => Mode::Most,
            'o' => Mode::Any,
            _ => return None,
        };
        let score = rank::Units::from_str_radix(&head[1..], 16).ok()?;
        Some(Cursor {
            mode,
            personal: first.is_ascii_uppercase(),
            after: After {
                score,
                key: key.to_owned(),
            },
        })
    }
}
