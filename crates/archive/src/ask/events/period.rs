//! The months or years of a period.

use crate::AskError;
use crate::ask::time;
use crate::question::{EVENT_PARTS_MAX, Events};

/// A period that may be open at both ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Period {
    from: Option<Month>,
    to: Option<Month>,
}

/// A month as its number since the start of year 0.
type Month = u64;

/// One month or year.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    name: String,
    filter: String,
    filter_older: String,
    /// First and last second, as 14 digits.
    bounds: (String, String),
}

impl Period {
    /// Returns the period of a question, and its query without a period.
    pub(super) fn of(question: &Events) -> Result<(String, Period), AskError> {
        let (text, [from, to]) = without_period(&question.query);
        let from = question.from.clone().or(from);
        let to = question.to.clone().or(to);
        let month = |digits: Option<&str>, is_start| match digits {
            Some(digits) => Ok(Some(month_of(time::check(digits)?, is_start))),
            None => Ok::<_, AskError>(None),
        };
        let period = Period {
            from: month(from.as_deref(), true)?,
            to: month(to.as_deref(), false)?,
        };
        match period {
            Period {
                from: Some(from),
                to: Some(to),
            } if from > to => Err(AskError::bad_request("the period ends before it begins")),
            period => Ok((text, period)),
        }
    }

    /// Returns the months of the period or, if there are too many, its years. An open end is the
    /// first or the last of these years.
    pub(super) fn parts(&self, first_year: u64, last_year: u64) -> Result<Vec<Part>, AskError> {
        let max = EVENT_PARTS_MAX as u64;
        let to = self.to.unwrap_or(last_year * 12 + 11);
        let to = to.max(self.from.unwrap_or(0));
        let from = self.from.unwrap_or_else(|| {
            // Wrong times of captures must not make the period too long.
            let first = first_year.max((to / 12 + 1).saturating_sub(max));
            to.min(first * 12)
        });
        if to - from < max {
            return Ok((from..=to).map(Part::month).collect());
        }
        let (from, to) = (from / 12, to / 12);
        if to - from < max {
            return Ok((from..=to).map(Part::year).collect());
        }
        Err(AskError::bad_request(format!(
            "the period has {} years: expected at most {EVENT_PARTS_MAX}",
            to - from + 1
        )))
    }
}

/// Returns the month of 1 to 14 digits. A year alone is its first or its last month.
fn month_of(digits: &str, is_start: bool) -> Month {
    let (first, last) = format::date::range_of_digits(digits);
    let digits = if is_start { first } else { last };
    let number = |range: std::ops::Range<usize>| digits.get(range).and_then(|part| part.parse().ok());
    let (year, month): (u64, u64) = (number(0..4).unwrap_or(0), number(4..6).unwrap_or(1));
    year * 12 + month.clamp(1, 12) - 1
}

/// Returns a query without `from:` and `to:`, and their digits. A value that is not a date stays in
/// the query, so that it gets a note. Words in quotation marks stay too.
fn without_period(query: &str) -> (String, [Option<String>; 2]) {
    let mut period = [None, None];
    let (mut kept, mut is_quoted) = (Vec::new(), false);
    for word in query.split_whitespace() {
        let bound = [("from:", 0), ("to:", 1)].into_iter().find_map(|(name, index)| {
            let value = word.strip_prefix(name).filter(|_| !is_quoted)?;
            Some((index, format::date::digits_of_text(value)?))
        });
        match bound {
            Some((index, digits)) => period[index] = Some(digits),
            None => kept.push(word),
        }
        is_quoted ^= word.matches('"').count() % 2 == 1;
    }
    (kept.join(" "), period)
}

impl Part {
    fn month(month: Month) -> Part {
        let before = month.saturating_sub(1);
        Part::new(month_name(month), &month_name(before))
    }

    fn year(year: u64) -> Part {
        Part::new(format!("{year:04}"), &format!("{:04}", year.saturating_sub(1)))
    }

    fn new(name: String, before: &str) -> Part {
        Part {
            filter: format!("from:{name} to:{name}"),
            filter_older: format!("from:{name} to:{before}"),
            bounds: format::date::range_of_digits(&name.replace('-', "")),
            name,
        }
    }

    /// Returns the month or year: `2012-05` or `2012`.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn is_year(&self) -> bool {
        !self.name.contains('-')
    }

    /// Returns the filter of versions that were captured in this time.
    pub(super) fn filter(&self) -> &str {
        &self.filter
    }

    /// Returns the filter of those that were also captured before it.
    pub(super) fn filter_older(&self) -> &str {
        &self.filter_older
    }

    /// Returns the last second, as 14 digits.
    pub(super) fn last(&self) -> &str {
        &self.bounds.1
    }

    /// Returns whether a time of the form `2012-05-01T20:06:24.000Z` is in it.
    pub(super) fn contains(&self, time: &str) -> bool {
        time.starts_with(&self.name)
    }
}

fn month_name(month: Month) -> String {
    format!("{:04}-{:02}", month / 12, month % 12 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: &str, from: Option<&str>, expected_text: &str, expected: &[&str], count: usize) {
        let question = Events {
            query: query.to_owned(),
            from: from.map(str::to_owned),
            to: None,
        };
        let (text, period) = Period::of(&question).unwrap();
        let parts = period.parts(2010, 2012).unwrap();
        let names: Vec<&str> = parts.iter().map(Part::name).collect();
        assert_eq!((text.as_str(), names.len()), (expected_text, count), "{query}");
        let ends = [names.first(), names.last()].map(|end| *end.unwrap());
        assert_eq!(ends.as_slice(), expected, "{query}");
    }

    #[test]
    fn the_period_is_that_of_the_question_then_of_the_query_then_of_the_matches() {
        check("flood", None, "flood", &["2010-01", "2012-12"], 36);
        check(
            "a from:2011-05 to:20110702 b",
            None,
            "a b",
            &["2011-05", "2011-07"],
            3,
        );
        check(
            "flood from:2011",
            Some("201203"),
            "flood",
            &["2012-03", "2012-12"],
            10,
        );
        check("flood to:2008", None, "flood", &["2008-12", "2008-12"], 1);
        check("flood from:2013", None, "flood", &["2013-01", "2013-01"], 1);
        check(
            "\"a from:2011 b\" from:soon",
            None,
            "\"a from:2011 b\" from:soon",
            &["2010-01", "2012-12"],
            36,
        );
    }

    #[test]
    fn long_periods_have_years_and_longer_ones_are_refused() {
        check(
            "flood from:2008 to:2012",
            None,
            "flood",
            &["2008-01", "2012-12"],
            60,
        );
        check("flood from:2007-12 to:2012", None, "flood", &["2007", "2012"], 6);
        let parts = |query: &str, first, last| {
            let query = query.to_owned();
            let (_, period) = Period::of(&Events {
                query,
                ..Events::default()
            })?;
            period.parts(first, last)
        };
        assert!(parts("flood from:1900 to:2020", 2010, 2012).is_err());
        assert!(parts("flood from:2012 to:2011", 2010, 2012).is_err());
        // Years of matches may be wrong.
        let years = parts("flood", 1, 2020).unwrap();
        assert_eq!((years.len(), years[0].name()), (60, "1961"));
        assert_eq!(parts("flood", 0, 0).unwrap().len(), 12);
        assert_eq!(parts("flood to:1990", 2010, 2012).unwrap().len(), 1);
    }

    #[test]
    fn a_part_knows_what_came_before_it() {
        let month = Part::month(2012 * 12);
        assert_eq!(month.filter(), "from:2012-01 to:2012-01");
        assert_eq!(month.filter_older(), "from:2012-01 to:2011-12");
        assert!(month.contains("2012-01-31T00:00:00.000Z") && !month.is_year());
        assert!(!month.contains("2012-02-01T00:00:00.000Z"));
        let year = Part::year(2012);
        assert_eq!(year.filter_older(), "from:2012 to:2011");
        assert_eq!(year.last(), "20129999999999");
        assert!(year.is_year());
    }
}
