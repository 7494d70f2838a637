//! What somebody prefers: of the best matches, those that they prefer come first.
//!
//! A profile is a text of preferences, `lang:de site:ox.ac.uk^40 place:cs.ox.ac.uk`. Each raises the score of the pages that it holds for by so
//! many per cent (20, unless `^` says how many); those of a page add up. The first [`RANKED`] matches are put in order by that: what comes
//! behind them has little to do with the query, whoever asks.

mod gains;
mod order;

use std::fmt;
use std::str::FromStr;

pub(crate) use gains::Gains;
pub(crate) use order::reorder;

use crate::dates;

/// Matches that are put in order anew: what Bizosys (HSearch) does, and more than anybody looks through.
pub(crate) const RANKED: usize = 1000;

/// Preferences of a profile, at most.
const PREFERENCES_MAX: usize = 64;

/// By how much a preference raises a score, in per cent, where it does not say.
const PERCENT: u32 = 20;

/// The most that it may say: ten times the score.
const PERCENT_MAX: u32 = 1000;

/// What somebody prefers; nothing by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Profile {
    preferences: Vec<Preference>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Preference {
    pub(crate) what: Preferred,
    /// As written, without the per cent.
    text: String,
    pub(crate) percent: u32,
}

/// What pages are preferred.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Preferred {
    /// In a language, by its primary subtag.
    Language(String),
    /// Of a host or domain, with all below it.
    Site(String),
    /// From somewhere near in an organisation: the more so, the more of this host's name they share.
    Place(String),
    /// With a label.
    Collection(String),
    /// Of a media type, or a kind of them.
    Type(String),
    /// Captured from a date on, or up to one: first and last 14 digits.
    Dates(u64, u64),
}

/// A preference that means nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// It is not of the form `name:value`, or has a name that there is not.
    #[error(
        "{0:?} is no preference: one of lang:, site:, place:, collection:, type:, from: and to: is expected, with ^ and per cent \
         behind it where it is to count more or less, as in site:example.org^40"
    )]
    Unknown(String),
    /// Its per cent are none.
    #[error("{0:?}: behind ^ a number of per cent from 1 to 1000 is expected")]
    Percent(String),
    /// Its date is none.
    #[error("{0:?}: digits of a year, month, day and time are expected, as in from:2014-01")]
    Date(String),
    /// Its host is none.
    #[error("{0:?}: the name of a host is expected, as in site:example.org")]
    Host(String),
    /// There are too many.
    #[error("{found} preferences, and at most 64 are taken")]
    TooMany {
        /// How many there are.
        found: usize,
    },
}

impl Profile {
    /// Whether nothing is preferred.
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
        "lang" => Preferred::Language(crate::schema::primary_language(&value.to_lowercase()).to_owned()),
        "site" => Preferred::Site(host()?),
        "place" => Preferred::Place(host()?),
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

    /// As it could have been written, with all per cents.
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
