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
    pub(crate) after: After,
}

impl Cursor {
    /// Text for the caller to give back as `after`.
    pub(crate) fn encode(mode: Mode, score: rank::Units, key: &str) -> String {
        let mode = match mode {
            Mode::All => 'a',
            Mode::Most => 'm',
            Mode::Any => 'o',
        };
        format!("{mode}{score:x}.{key}")
    }

    /// Reads what [`Cursor::encode`] wrote; `None` for any other text.
    pub(crate) fn decode(text: &str) -> Option<Cursor> {
        let (head, key) = text.split_once('.')?;
        let mode = match head.chars().next()? {
            'a' => Mode::All,
            'm' => Mode::Most,
            'o' => Mode::Any,
            _ => return None,
        };
        let score = rank::Units::from_str_radix(&head[1..], 16).ok()?;
        Some(Cursor {
            mode,
            after: After {
                score,
                key: key.to_owned(),
            },
        })
    }
}
