//! The views that can be dumped, the details that `weft verify` compares in addition to them, and the
//! rows of serving tables.

use std::fmt;
use std::str::FromStr;

pub use index::{Details, DumpFormat, DumpNameError, DumpRange, ServingRows, View};
use serde::{Deserialize, Serialize};

use crate::as_text;

/// Rows that an archive can dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dump {
    /// A view, in either format.
    View(View),
    /// Details for which no view has a column. They are always written tab-separated, even if
    /// another format is requested.
    Details(Details),
    /// A serving table. It is always written completely, as JSON lines.
    Serving(ServingRows),
}

impl Dump {
    /// Returns the name that the command line and the socket use.
    pub fn name(self) -> &'static str {
        match self {
            Dump::View(view) => view.name(),
            Dump::Details(details) => details.name(),
            Dump::Serving(rows) => rows.name(),
        }
    }
}

/// A request for rows of a dump.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct DumpRequest {
    #[serde(with = "as_text")]
    pub(crate) view: Dump,
    #[serde(with = "as_text")]
    pub(crate) format: DumpFormat,
    /// The part of the view to dump. Details are always dumped completely.
    #[serde(default)]
    pub(crate) range: DumpRange,
    /// A cut that the owner holds; the newest one if absent.
    #[serde(default)]
    pub(crate) cut: Option<u64>,
}

impl fmt::Display for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An archive has no dump of this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown view {0:?}")]
pub struct ParseDumpError(String);

impl FromStr for Dump {
    type Err = ParseDumpError;

    fn from_str(name: &str) -> Result<Dump, ParseDumpError> {
        let details = |_| name.parse().map(Dump::Details);
        let serving = |_| name.parse().map(Dump::Serving);
        let view = name.parse().map(Dump::View);
        view.or_else(details)
            .or_else(serving)
            .map_err(|_: DumpNameError| ParseDumpError(name.to_owned()))
    }
}

impl From<View> for Dump {
    fn from(view: View) -> Dump {
        Dump::View(view)
    }
}

impl From<Details> for Dump {
    fn from(details: Details) -> Dump {
        Dump::Details(details)
    }
}

impl From<ServingRows> for Dump {
    fn from(rows: ServingRows) -> Dump {
        Dump::Serving(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        let views = View::ALL.map(Dump::View);
        let details = Details::ALL.map(Dump::Details);
        let serving = ServingRows::ALL.map(Dump::Serving);
        for dump in views.into_iter().chain(details).chain(serving) {
            assert_eq!(dump.name().parse(), Ok(dump));
        }
        assert!("no such view".parse::<Dump>().is_err());
    }
}
