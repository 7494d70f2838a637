//! Personal profiles: preferred pages come first among the best matches.
//!
//! A profile is a list of preferences, such as `lang:de site:ox.ac.uk^40 place:cs.ox.ac.uk`. Each
//! raises the score of the pages it matches by a percentage (20, unless `^` gives another). The
//! percentages of a page add up. Only the first [`RANKED`] matches are reordered: matches after
//! them have little to do with the query, whatever the profile.

mod gains;
mod order;

use std::fmt;
use std::str::FromStr;

pub(crate) use gains::Gains;
pub(crate) use order::rerank;

use crate::dates;

/// Number of matches that are reordered. The same number as in Bizosys (HSearch), and more than
/// anyone reads.
pub(crate) const RANKED: usize = 1000;

/// Maximum number of preferences in a profile.
const PREFERENCES_MAX: usize = 64;

/// Default percentage by which a preference raises a score.
const PERCENT: u32 = 20;

/// Maximum percentage of a preference: ten times the score is added.
const PERCENT_MAX: u32 = 1000;

/// The preferences of a user; none by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Profile {
    preferences: Vec<Preference>,
}

/// One preference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Preference {
    pub(crate) what: Preferred,
    /// As written, without the percentage.
    text: String,
    pub(crate) percent: u32,
}

/// Which pages are preferred.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Preferred {
    /// Pages in a language, by its primary subtag.
    Language(String),
    /// Pages of a host or domain and everything below it.
    Site(String),
    /// Pages of hosts in the same organisation. The more labels of this host's name they share, the
    /// more they are preferred.
    Organisation(String),
    /// Pages with a label.
    Collection(String),
    /// Pages of a media type, or of a group of types.
    Type(String),
    /// Pages captured from one date to another, both of 14 digits.
    Dates(u64, u64),
}

/// Why a profile could not be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// A preference does not have the form `name:value`, or its name is unknown.
    #[error(
        "{0:?} is not a preference: expected lang:, site:, place:, collection:, type:, from: or to:, and \
         optionally ^ and a weight in per cent, as in site:example.org^40"
    )]
    Unknown(String),
    /// A percentage is invalid.
    #[error("{0:?}: expected a percentage from 1 to 1000 after ^")]
    Percent(String),
    /// A date is invalid.
    #[error("{0:?}: expected a date (digits of year, month, day and time), as in from:2014-01")]
    Date(String),
    /// A host is invalid.
    #[error("{0:?}: expected a host name, as in site:example.org")]
    Host(String),
    /// There are too many preferences.
    #[error("{found} preferences, expected at most 64")]
    TooMany {
        /// Number of preferences found.
        found: usize,
    },
}

impl Profile {
    /// Returns whether there are no preferences.
    pub fn is_empty(&self) -> bool {
        self.preferences.is_empty()
    }

    pub(crate) fn preferences(&self) -> &[Preference] {
        &self.preferences
    }
}

impl FromStr for Profile {
    type Err = ProfileError;

    fn from_str(text: &str) -> Result<Profile, ProfileError> {
        let written: Vec<&str> = text.split_whitespace().collect();
        if written.len() > PREFERENCES_MAX {
            return Err(ProfileError::TooMany { found: written.len() });
        }
        let preferences = written.into_iter().map(preference).collect::<Result<_, _>>()?;
        Ok(Profile { preferences })
    }
}

fn preference(written: &str) -> Result<Preference, ProfileError> {
    let (text, percent) = match written.rsplit_once('^') {
        None => (written, PERCENT),
        Some((text, percent)) => {
            let percent = percent
                .parse()
                .ok()
                .filter(|percent| (1..=PERCENT_MAX).contains(percent));
            (
                text,
                percent.ok_or_else(|| ProfileError::Percent(written.to_owned()))?,
            )
        }
    };
    let unknown = || ProfileError::Unknown(written.to_owned());
    let (name, value) = text.split_once(':').ok_or_else(unknown)?;
    let value = value.trim_matches('"');
    if value.is_empty() {
        return Err(unknown());
    }
    let host = || match urlkey::domain_ranges(value) {
        Ok(_) => Ok(value.to_lowercase()),
        Err(_) => Err(ProfileError::Host(written.to_owned())),
    };
    let date = || dates::range_of(value).ok_or_else(|| ProfileError::Date(written.to_owned()));
    let what = match name {
        "lang" => Preferred::Language(crate::words::primary_language(&value.to_lowercase()).to_owned()),
        "site" => Preferred::Site(host()?),
        "place" => Preferred::Organisation(host()?),
        "collection" => Preferred::Collection(value.to_owned()),
        "type" => Preferred::Type(value.to_lowercase()),
        "from" => Preferred::Dates(date()?.0, u64::MAX),
        "to" => Preferred::Dates(0, date()?.1),
        _ => return Err(unknown()),
    };
    Ok(Preference {
        what,
        text: text.to_owned(),
        percent,
    })
}

impl fmt::Display for Preference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formats a profile in full, with all percentages.
    fn shown(profile: &Profile) -> String {
        let preferences = profile.preferences.iter();
        let shown = preferences.map(|preference| format!("{preference}^{}", preference.percent));
        shown.collect::<Vec<_>>().join(" ")
    }

    #[track_caller]
    fn check(text: &str, expected: Result<&str, &str>) {
        let read = text.parse::<Profile>();
        let found = read.as_ref().map(shown).map_err(ProfileError::to_string);
        match expected {
            Ok(expected) => assert_eq!(found.as_deref(), Ok(expected)),
            Err(expected) => assert!(found.is_err_and(|error| error.contains(expected)), "{text}"),
        }
        if let Ok(profile) = read {
            assert_eq!(shown(&profile).parse(), Ok(profile));
        }
    }

    #[test]
    fn profiles_are_read_and_what_means_nothing_is_refused() {
        check("", Ok(""));
        check(
            " lang:de-CH   site:Ox.ac.uk^40 ",
            Ok("lang:de-CH^20 site:Ox.ac.uk^40"),
        );
        check(
            "place:cs.ox.ac.uk type:pdf from:2010 to:2015-03",
            Ok("place:cs.ox.ac.uk^20 type:pdf^20 from:2010^20 to:2015-03^20"),
        );
        check("german", Err("lang:, site:"));
        check("colour:red", Err("lang:, site:"));
        check("lang:", Err("lang:, site:"));
        check("lang:de^0", Err("from 1 to 1000"));
        check("lang:de^much", Err("from 1 to 1000"));
        check("from:soon", Err("from:2014-01"));
        check("site:", Err("lang:, site:"));
        check(&"lang:de ".repeat(65), Err("65 preferences"));
    }
}
