//! Evaluates the preferences of a profile for the documents of one segment.

use std::ops::Range;

use tantivy::columnar::{Column, StrColumn, TermOrdHit};
use tantivy::{DocId, SegmentReader};

use super::{Preferred, Profile};
use crate::documents::schema;
use crate::query::Leaf;

/// The percentages by which the preferences raise the score of a document.
pub(crate) struct Gains {
    tests: Vec<(Test, u32)>,
}

/// The condition of a preference.
enum Test {
    /// The value of the document is one of these ordinals of the dictionary.
    Values(Option<StrColumn>, Vec<u64>),
    /// The key of the document is in these ranges of ordinals. There is one list for each name of a
    /// host, starting with the registered domain.
    Keys(Option<StrColumn>, Vec<Vec<Range<u64>>>),
    /// The date of the document is in this range.
    Dates(Column<u64>, u64, u64),
}

impl Gains {
    pub(crate) fn open(profile: &Profile, reader: &SegmentReader) -> tantivy::Result<Gains> {
        let test = |preferred: &Preferred| test(preferred, reader);
        let tests = profile.preferences().iter();
        let tests = tests.map(|preference| Ok((test(&preference.what)?, preference.percent)));
        Ok(Gains {
            tests: tests.collect::<tantivy::Result<_>>()?,
        })
    }

    /// Returns the percentage by which each preference raises the score of a document, in the order
    /// of the profile.
    pub(crate) fn percents(&self, document: DocId) -> impl Iterator<Item = u32> {
        self.tests
            .iter()
            .map(move |(test, percent)| test.part_of(*percent, document))
    }
}

fn test(preferred: &Preferred, reader: &SegmentReader) -> tantivy::Result<Test> {
    let fast = reader.fast_fields();
    Ok(match preferred {
        Preferred::Language(language) => one_value(fast.str(schema::LANGUAGE)?, language)?,
        Preferred::Collection(label) => one_value(fast.str(schema::COLLECTION_OF)?, label)?,
        Preferred::Type(value) => types(fast.str(schema::MIME)?, value)?,
        Preferred::Site(host) => keys(fast.str(schema::KEY)?, &[host])?,
        Preferred::Organisation(host) => keys(fast.str(schema::KEY)?, &names_down_to(host))?,
        Preferred::Dates(first, last) => Test::Dates(fast.u64(schema::DATE)?, *first, *last),
    })
}

fn one_value(column: Option<StrColumn>, value: &str) -> tantivy::Result<Test> {
    let ordinal = match &column {
        Some(column) => column.dictionary().term_ord(value.as_bytes())?,
        None => None,
    };
    Ok(Test::Values(column, ordinal.into_iter().collect()))
}

/// Tests the media type as `type:` in a query does.
fn types(column: Option<StrColumn>, value: &str) -> tantivy::Result<Test> {
    let mut ordinals = Vec::new();
    if let Some(column) = &column {
        let terms = Leaf::type_terms(value);
        let beginning = value.trim_end_matches('*');
        let is_meant = |mime: &str| {
            if value.contains('/') {
                mime.starts_with(beginning)
            } else {
                schema::kinds(mime).iter().any(|kind| terms.contains(kind))
            }
        };
        let all: Vec<u64> = (0..column.num_terms() as u64).collect();
        let mut next = all.iter();
        column.dictionary().sorted_ords_to_term_cb(&all, |mime| {
            let ordinal = next
                .next()
                .filter(|_| std::str::from_utf8(mime).is_ok_and(is_meant));
            ordinals.extend(ordinal);
        })?;
    }
    Ok(Test::Values(column, ordinals))
}

/// Returns the names from the registered domain down to `host`: `ox.ac.uk` and `cs.ox.ac.uk` for
/// the latter.
fn names_down_to(host: &str) -> Vec<&str> {
    let domain = urlkey::domain_of_host(host);
    let mut names = vec![host];
    while let Some(&last) = names.last()
        && last != domain
        && let Some((_, above)) = last.split_once('.')
    {
        names.push(above);
    }
    names.reverse();
    names
}

fn keys(column: Option<StrColumn>, names: &[impl AsRef<str>]) -> tantivy::Result<Test> {
    let mut levels = Vec::with_capacity(names.len());
    for name in names {
        let mut ranges = Vec::new();
        // The names were validated when the profile was parsed.
        let keys = urlkey::domain_ranges(name.as_ref()).unwrap_or_default();
        for range in column.iter().flat_map(|_| &keys) {
            let ordinal = |key: &str| ordinal(column.as_ref(), key);
            ranges.push(ordinal(&range.start)?..ordinal(&range.end)?);
        }
        levels.push(ranges);
    }
    Ok(Test::Keys(column, levels))
}

/// Returns the ordinal of the first key that is not less than `key`.
fn ordinal(column: Option<&StrColumn>, key: &str) -> tantivy::Result<u64> {
    let Some(column) = column else { return Ok(0) };
    Ok(
        match column
            .dictionary()
            .term_ord_or_next(schema::bound(key).as_bytes())?
        {
            TermOrdHit::Exact(ordinal) | TermOrdHit::Next(ordinal) => ordinal,
        },
    )
}

impl Test {
    /// Returns the part of its percentage that the preference gives to a document.
    fn part_of(&self, percent: u32, document: DocId) -> u32 {
        let first =
            |column: &Option<StrColumn>| column.as_ref().and_then(|column| column.ords().first(document));
        let all = |holds: bool| if holds { percent } else { 0 };
        match self {
            Test::Values(column, values) => all(first(column).is_some_and(|value| values.contains(&value))),
            Test::Dates(column, from, to) => all(column
                .first(document)
                .is_some_and(|date| (*from..=*to).contains(&date))),
            Test::Keys(column, levels) => {
                let Some(key) = first(column) else { return 0 };
                let holds = |level: &&Vec<Range<u64>>| level.iter().any(|range| range.contains(&key));
                let shared = levels.iter().take_while(holds).count() as u32;
                percent * shared / levels.len().max(1) as u32
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_from_the_registered_domain_down() {
        assert_eq!(
            names_down_to("www.cs.ox.ac.uk"),
            ["ox.ac.uk", "cs.ox.ac.uk", "www.cs.ox.ac.uk"]
        );
        assert_eq!(names_down_to("ox.ac.uk"), ["ox.ac.uk"]);
        assert_eq!(names_down_to("uk"), ["uk"]);
        assert_eq!(names_down_to("192.168.0.1"), ["192.168.0.1"]);
    }
}
