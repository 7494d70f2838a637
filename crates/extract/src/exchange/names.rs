//! What identifies a record for the other records of its exchange.

use warc::Record;

/// Maximum number of concurrent ids kept per record. Writers name one or two.
const NAMES_MAX: usize = 16;

/// The identification of a record for the other records of its exchange.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExchangeNames {
    /// Its own id; empty if it has none.
    pub(crate) id: String,
    /// Ids that it names as concurrent.
    pub(crate) concurrent: Vec<String>,
    pub(crate) url: String,
    /// Milliseconds since 1970.
    pub(crate) time_ms: Option<i64>,
}

impl ExchangeNames {
    pub(super) fn of(record: &Record) -> ExchangeNames {
        let concurrent = record
            .headers
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case("WARC-Concurrent-To"));
        ExchangeNames {
            id: record
                .headers
                .get("WARC-Record-ID")
                .unwrap_or_default()
                .trim()
                .to_owned(),
            concurrent: concurrent
                .take(NAMES_MAX)
                .map(|(_, value)| value.trim().to_owned())
                .collect(),
            url: record.target().unwrap_or_default().to_owned(),
            time_ms: record
                .headers
                .get("WARC-Date")
                .and_then(warc::parse_date)
                .map(|date| date.ms),
        }
    }

    /// Returns whether either names the other and both have one URL. The URL is checked because ids
    /// are not always unique in practice.
    pub(super) fn is_linked(&self, other: &ExchangeNames) -> bool {
        // Some writers omit the angle brackets of ids.
        let names = |of: &ExchangeNames, id: &str| {
            !bare(id).is_empty() && of.concurrent.iter().any(|named| bare(named) == bare(id))
        };
        let is_of_one_url = self.url.is_empty() || other.url.is_empty() || self.url == other.url;
        is_of_one_url && (names(self, &other.id) || names(other, &self.id))
    }

    pub(super) fn is_alike(&self, other: &ExchangeNames) -> bool {
        !self.url.is_empty()
            && self.url == other.url
            && self.time_ms.is_some()
            && self.time_ms == other.time_ms
    }
}

/// Returns an id without blanks and angle brackets.
fn bare(id: &str) -> &str {
    id.trim().trim_start_matches('<').trim_end_matches('>')
}
