//! Facets: counts of domains, years, types, languages, public suffixes and collections over all
//! matches, and the most frequent values of each.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use tantivy::columnar::{Column, StrColumn};
use tantivy::{DocId, SegmentReader};

use crate::dates;
use crate::documents::schema;
use crate::query;

/// Maximum number of values in a facet.
const VALUES_MAX: usize = 10;

/// Number of names that can be read from a dictionary in order in about the time of one lookup.
const LOOKUP_COST: usize = 20;

/// The fields counted by name: name in answers, fast field, filter in queries.
const FIELDS: [(&str, &str, &str); 5] = [
    ("domain", schema::DOMAIN, "site"),
    ("type", schema::MIME, "type"),
    ("language", schema::LANGUAGE, "lang"),
    ("suffix", schema::SUFFIX, "suffix"),
    // The first value is that of the capture; further ones may be those of its text.
    ("collection", schema::COLLECTION_OF, "collection"),
];

/// Counts of one field over all results.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Facet {
    /// Name of the field: `domain`, `year`, `type`, `language`, `suffix` or `collection`.
    #[cfg_attr(feature = "schema", schemars(example = &"year"))]
    pub field: String,
    /// Values of the field, most frequent first.
    pub values: Vec<FacetValue>,
}

/// One value of a field and how many results have it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FacetValue {
    /// The value as text.
    #[cfg_attr(feature = "schema", schemars(example = &"2014"))]
    pub value: String,
    /// Number of results that have the value.
    pub count: u64,
    /// The query that returns only these results.
    #[cfg_attr(feature = "schema", schemars(example = &"example year:2014"))]
    pub query: String,
}

/// Counts the matches of one segment.
pub(crate) struct FacetCounter {
    /// In the order of [`FIELDS`].
    names: Vec<(Option<StrColumn>, Vec<u32>)>,
    dates: Column<u64>,
    years: FxHashMap<u64, u64>,
    /// The year counted last and its count so far: matches of one year are often adjacent.
    run: (u64, u64),
}

/// The counts of one segment.
pub(crate) struct FacetCounts {
    /// In the order of [`FIELDS`]: dictionary, and number of matches for each of its ordinals.
    names: Vec<(Option<StrColumn>, Vec<u32>)>,
    years: FxHashMap<u64, u64>,
}

impl FacetCounter {
    pub(crate) fn new(reader: &SegmentReader) -> tantivy::Result<FacetCounter> {
        let fast = reader.fast_fields();
        let mut names = Vec::with_capacity(FIELDS.len());
        for (_, field, _) in FIELDS {
            let column = fast.str(field)?;
            let ordinals = column.as_ref().map_or(0, |column| column.num_terms());
            names.push((column, vec![0; ordinals]));
        }
        Ok(FacetCounter {
            names,
            dates: fast.u64(schema::DATE)?,
            years: FxHashMap::default(),
            run: (0, 0),
        })
    }

    pub(crate) fn count(&mut self, document: DocId) {
        for (column, counts) in &mut self.names {
            let ordinal = column.as_ref().and_then(|column| column.ords().first(document));
            if let Some(count) = ordinal.and_then(|ordinal| counts.get_mut(ordinal as usize)) {
                *count += 1;
            }
        }
        let year = dates::year_of(self.dates.first(document).unwrap_or(0));
        // One hash lookup for each change of year instead of each match: documents of one crawl are
        // adjacent.
        if year != self.run.0 {
            self.end_run();
            self.run.0 = year;
        }
        self.run.1 += 1;
    }

    fn end_run(&mut self) {
        if self.run.1 > 0 {
            *self.years.entry(self.run.0).or_default() += self.run.1;
        }
        self.run.1 = 0;
    }

    pub(crate) fn finish(mut self) -> FacetCounts {
        self.end_run();
        FacetCounts {
            names: self.names,
            years: self.years,
        }
    }
}

/// Returns the number of matches by year.
pub(crate) fn years(segments: &[FacetCounts]) -> FxHashMap<u64, u64> {
    let mut years: FxHashMap<u64, u64> = FxHashMap::default();
    for segment in segments {
        for (&year, &count) in &segment.years {
            *years.entry(year).or_default() += count;
        }
    }
    years
}

/// Returns the most frequent values of each field. Equal counts are in the order of the values.
pub(crate) fn facets(segments: &[FacetCounts], understood: &str) -> tantivy::Result<Vec<Facet>> {
    let mut facets = Vec::with_capacity(FIELDS.len() + 1);
    for (index, (field, _, filter)) in FIELDS.into_iter().enumerate() {
        let top = top_names(segments, index)?;
        facets.push(facet(field, filter, top, understood));
    }
    let years = years(segments)
        .into_iter()
        .map(|(year, count)| (year.to_string(), count));
    // Answers promise the order domain, year, type, language, suffix, collection.
    facets.insert(1, facet("year", "year", top(years.collect()), understood));
    Ok(facets)
}

fn facet(field: &str, filter: &str, top: Vec<(String, u64)>, understood: &str) -> Facet {
    let value = |(value, count): (String, u64)| FacetValue {
        query: query::narrow(understood, filter, &value),
        value,
        count,
    };
    Facet {
        field: field.to_owned(),
        values: top.into_iter().map(value).collect(),
    }
}

fn top(mut counts: Vec<(String, u64)>) -> Vec<(String, u64)> {
    counts.retain(|(value, count)| !value.is_empty() && *count > 0);
    counts.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts.truncate(VALUES_MAX);
    counts
}

/// Returns the most frequent names over all segments without reading every name of every
/// dictionary. The best names of each segment give a lower bound of the tenth count. A name that
/// reaches the bound over all segments must reach its share of it in one of them, and only such
/// names are summed.
fn top_names(segments: &[FacetCounts], index: usize) -> tantivy::Result<Vec<(String, u64)>> {
    let fields: Vec<_> = segments
        .iter()
        .filter_map(|segment| {
            let (column, counts) = &segment.names[index];
            column.as_ref().map(|column| (column, counts.as_slice()))
        })
        .collect();
    let mut partial = FxHashMap::default();
    for (column, counts) in &fields {
        // One more, for the empty name, which is left out.
        add_from(&mut partial, column, counts, nth_largest(counts, VALUES_MAX + 1))?;
    }
    let bound = top(partial.into_iter().collect());
    let bound = if bound.len() < VALUES_MAX {
        1
    } else {
        bound[VALUES_MAX - 1].1
    };
    // A name that reaches the bound over n segments reaches an nth of it in one of them.
    let share = bound.div_ceil(fields.len().max(1) as u64);

    let mut names = FxHashMap::default();
    for (column, counts) in &fields {
        let count_min = u32::try_from(share).unwrap_or(u32::MAX);
        add_from(&mut names, column, counts, count_min)?;
    }
    if share > 1 {
        for (column, counts) in &fields {
            add_below(&mut names, column, counts, share)?;
        }
    }
    Ok(top(names.into_iter().collect()))
}

/// Adds this segment's counts below `share` to the names already found. Looks each name up or reads
/// all names of the dictionary, whichever is cheaper.
fn add_below(
    names: &mut FxHashMap<String, u64>,
    column: &StrColumn,
    counts: &[u32],
    share: u64,
) -> tantivy::Result<()> {
    let low = |&count: &u32| count > 0 && u64::from(count) < share;
    if names.len() * LOOKUP_COST > counts.len() {
        return each_name(column, counts, low, |name, count| {
            if let Some(sum) = names.get_mut(name) {
                *sum += count;
            }
        });
    }
    for (name, sum) in names {
        let ordinal = column.dictionary().term_ord(name.as_bytes())?;
        let count = ordinal.and_then(|ordinal| counts.get(ordinal as usize));
        *sum += count.copied().filter(low).map_or(0, u64::from);
    }
    Ok(())
}

/// Returns the `n`th largest count, at least 1.
fn nth_largest(counts: &[u32], n: usize) -> u32 {
    if counts.len() <= n {
        return 1;
    }
    let mut counts = counts.to_vec();
    let (_, nth, _) = counts.select_nth_unstable_by(n - 1, |a, b| b.cmp(a));
    (*nth).max(1)
}

/// Adds the names counted at least `count_min` times.
fn add_from(
    sums: &mut FxHashMap<String, u64>,
    column: &StrColumn,
    counts: &[u32],
    count_min: u32,
) -> tantivy::Result<()> {
    each_name(
        column,
        counts,
        |&count| count >= count_min,
        |name, count| match sums.get_mut(name) {
            Some(sum) => *sum += count,
            None => drop(sums.insert(name.to_owned(), count)),
        },
    )
}

/// Calls `take` with the name and count of each ordinal whose count is wanted.
fn each_name(
    column: &StrColumn,
    counts: &[u32],
    wanted: impl Fn(&u32) -> bool,
    mut take: impl FnMut(&str, u64),
) -> tantivy::Result<()> {
    let ordinals: Vec<u64> = (0..)
        .zip(counts)
        .filter(|(_, count)| wanted(count))
        .map(|(ordinal, _)| ordinal)
        .collect();
    let mut next = ordinals.iter();
    column.dictionary().sorted_ords_to_term_cb(&ordinals, |name| {
        // The dictionary returns the names in the order of `ordinals`.
        if let Some(&ordinal) = next.next() {
            take(
                &String::from_utf8_lossy(name),
                u64::from(counts[ordinal as usize]),
            );
        }
    })?;
    Ok(())
}
