//! How a URL selects captures, and the names of the ways.

use std::fmt;
use std::str::FromStr;

/// Which captures a URL selects, as in CDX servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MatchType {
    /// Captures with exactly the URL's key.
    #[default]
    Exact,
    /// Captures whose keys begin with the URL's key.
    Prefix,
    /// Captures of the URL's host, with any path and any port.
    Host,
    /// Captures of the URL's host and of the hosts below it, at any port.
    Domain,
}

/// The text is not one of [`MatchType::NAMES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("unknown match type: expected exact, prefix, host or domain")]
pub struct UnknownMatchType;

impl MatchType {
    /// All match types.
    pub const ALL: [MatchType; 4] = [
        MatchType::Exact,
        MatchType::Prefix,
        MatchType::Host,
        MatchType::Domain,
    ];

    /// The names of [`MatchType::ALL`], used in query strings, on the command line and in JSON.
    pub const NAMES: [&'static str; 4] = ["exact", "prefix", "host", "domain"];

    /// Returns its name in [`MatchType::NAMES`].
    pub fn name(self) -> &'static str {
        // `ALL` and `NAMES` are in the order of the variants.
        MatchType::NAMES[self as usize]
    }

    /// Returns the match type with a [`MatchType::name`].
    pub fn named(name: &str) -> Option<MatchType> {
        MatchType::ALL.into_iter().find(|known| known.name() == name)
    }
}

impl fmt::Display for MatchType {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for MatchType {
    type Err = UnknownMatchType;

    fn from_str(name: &str) -> Result<MatchType, UnknownMatchType> {
        MatchType::named(name).ok_or(UnknownMatchType)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_match_type_has_its_own_name() {
        for kind in MatchType::ALL {
            assert_eq!(format!("{kind:?}").to_lowercase(), kind.name());
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        assert_eq!("Exact".parse::<MatchType>(), Err(UnknownMatchType));
    }
}
