//! Query and path parameters, checked against the table that the OpenAPI document is generated
//! from.
//!
//! An empty value counts as absent, because forms send empty values. Unknown and repeated names and
//! values out of range are refused with the name in the message, because a silent guess would give
//! a wrong answer. Only the endpoints that imitate other servers ignore unknown names.

use std::borrow::Cow;

use format::date::{DIGITS, digits_ms_of_text, digits_of_text};

use crate::failure::Failure;

/// Maximum number of rows in one answer.
pub(crate) const LIMIT_MAX: usize = 1000;

/// One parameter of a route.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) place: ParameterLocation,
    pub(crate) kind: Kind,
    pub(crate) required: bool,
    pub(crate) about: &'static str,
}

/// Part of a request that holds a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParameterLocation {
    Query,
    Path,
}

/// Values that a parameter accepts.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Text,
    /// `1`, `true`, `yes` or `on`; `0`, `false`, `no` or `off`.
    Flag,
    /// Number of rows from 1 to [`LIMIT_MAX`]. The field is the default.
    Limit(usize),
    /// A date or its beginning: `2014-01`, `20140126200624`. Its value is the digits.
    Time,
    /// Like `Time`, to the millisecond.
    Moment,
    /// A time as other servers take it: 1 to 14 digits, which need not be a date.
    TimeDigits,
    OneOf(&'static [&'static str]),
    Number,
    /// An integer that is at least the field's value, which may be negative.
    Count(i64),
    /// Text that may be repeated.
    Many,
}

/// The parameters of one request.
#[derive(Debug, Clone)]
pub(crate) struct Arguments {
    known: &'static [Parameter],
    given: Vec<(&'static str, String)>,
}

impl Arguments {
    /// Parses `query` (as in the request line) and the pairs of the path.
    pub(crate) fn parse(
        known: &'static [Parameter],
        query: &str,
        path: &[(&str, &str)],
    ) -> Result<Arguments, Failure> {
        Arguments::of_pairs(known, url::form_urlencoded::parse(query.as_bytes()), path)
    }

    /// Like [`Arguments::parse`], but ignores names that are not in the table. Clients of other
    /// servers send parameters that only those servers know.
    pub(crate) fn parse_known(
        known: &'static [Parameter],
        query: &str,
        path: &[(&str, &str)],
    ) -> Result<Arguments, Failure> {
        let is_known = |name: &str| {
            known
                .iter()
                .any(|p| p.place == ParameterLocation::Query && p.name == name)
        };
        let pairs = url::form_urlencoded::parse(query.as_bytes());
        Arguments::of_pairs(known, pairs.filter(|(name, _)| is_known(name)), path)
    }

    fn of_pairs<'q>(
        known: &'static [Parameter],
        query: impl Iterator<Item = (Cow<'q, str>, Cow<'q, str>)>,
        path: &[(&str, &str)],
    ) -> Result<Arguments, Failure> {
        let mut arguments = Arguments {
            known,
            given: Vec::new(),
        };
        // Path first, so that a query cannot repeat a parameter of the path.
        for (name, value) in path {
            arguments.take(ParameterLocation::Path, name, value)?;
        }
        for (name, value) in query {
            arguments.take(ParameterLocation::Query, &name, &value)?;
        }
        let missing = known
            .iter()
            .find(|p| p.required && arguments.text(p.name).is_none());
        match missing {
            Some(parameter) => Err(Failure::bad_request(format!(
                "parameter {} is missing: {}",
                parameter.name, parameter.about
            ))),
            None => Ok(arguments),
        }
    }

    fn take(&mut self, place: ParameterLocation, name: &str, value: &str) -> Result<(), Failure> {
        let Some(parameter) = self.known.iter().find(|p| p.place == place && p.name == name) else {
            let names: Vec<&str> = self.known.iter().map(|p| p.name).collect();
            let name: String = name.chars().take(40).collect();
            return Err(Failure::bad_request(format!(
                "unknown parameter {name:?}; known parameters: {}",
                if names.is_empty() {
                    "none".to_owned()
                } else {
                    names.join(", ")
                }
            )));
        };
        // Before the check for repetition: a form may send a name twice, once without a value.
        if value.trim().is_empty() {
            return Ok(());
        }
        if !matches!(parameter.kind, Kind::Many) && self.text(parameter.name).is_some() {
            return Err(Failure::bad_request(format!(
                "parameter {} is given twice",
                parameter.name
            )));
        }
        check(parameter, value)?;
        let digits = match parameter.kind {
            Kind::Time => digits_of_text(value.trim()),
            Kind::Moment => digits_ms_of_text(value.trim()),
            _ => None,
        };
        let value = digits.unwrap_or_else(|| value.to_owned());
        self.given.push((parameter.name, value));
        Ok(())
    }

    /// Returns the value as sent, or the digits of a time.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.given
            .iter()
            .find(|(n, _)| *n == name)
            .map(|(_, v)| v.as_str())
    }

    /// Returns every value of a parameter that may be repeated.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.given
            .iter()
            .filter(move |(n, _)| *n == name)
            .map(|(_, value)| value.as_str())
    }

    /// Returns an integer, if one is given.
    pub(crate) fn count(&self, name: &str) -> Option<i64> {
        self.text(name).and_then(|value| value.trim().parse().ok())
    }

    /// Like [`Arguments::text`], but owned.
    pub(crate) fn owned(&self, name: &str) -> Option<String> {
        self.text(name).map(str::to_owned)
    }

    /// Returns the value of a parameter that the table requires, or an empty string if it is not
    /// required and absent.
    pub(crate) fn required(&self, name: &str) -> String {
        self.owned(name).unwrap_or_default()
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.text(name).and_then(flag_of).unwrap_or(false)
    }

    /// Returns the requested number of rows, or the table's default.
    pub(crate) fn limit(&self, name: &str) -> Option<usize> {
        let default = self
            .known
            .iter()
            .find(|p| p.name == name)
            .and_then(|p| match p.kind {
                Kind::Limit(default) => Some(default),
                _ => None,
            });
        self.text(name).and_then(|value| value.parse().ok()).or(default)
    }

    pub(crate) fn number(&self, name: &str) -> u64 {
        self.text(name).and_then(|value| value.parse().ok()).unwrap_or(0)
    }
}

fn flag_of(value: &str) -> Option<bool> {
    // Python clients send `True`.
    match value.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

fn check(parameter: &Parameter, value: &str) -> Result<(), Failure> {
    let wanted = match parameter.kind {
        Kind::Text | Kind::Many => return Ok(()),
        Kind::Flag if flag_of(value).is_some() => return Ok(()),
        Kind::Flag => "1 or 0".to_owned(),
        Kind::Limit(_) if limit_fits(value) => return Ok(()),
        Kind::Limit(_) => format!("a number from 1 to {LIMIT_MAX}"),
        Kind::Moment if digits_ms_of_text(value.trim()).is_some() => return Ok(()),
        Kind::Moment => "a date or its beginning: 2014, 2014-01-26 or 20140126200624123".to_owned(),
        Kind::Time if digits_of_text(value.trim()).is_some() => return Ok(()),
        Kind::Time => "a date or its beginning: 2014, 2014-01-26 or 20140126200624".to_owned(),
        Kind::TimeDigits if is_digits(value, DIGITS) => return Ok(()),
        Kind::TimeDigits => "1 to 14 digits, for example 2014 or 20140126200624".to_owned(),
        Kind::OneOf(values) if values.contains(&value) => return Ok(()),
        Kind::OneOf(values) => format!("one of {}", values.join(", ")),
        Kind::Number if value.parse::<u64>().is_ok() => return Ok(()),
        Kind::Number => "a number".to_owned(),
        Kind::Count(least) if value.trim().parse::<i64>().is_ok_and(|n| n >= least) => return Ok(()),
        Kind::Count(least) => format!("a whole number, {least} or more"),
    };
    Err(Failure::bad_request(format!(
        "parameter {} must be {wanted}",
        parameter.name
    )))
}

fn limit_fits(value: &str) -> bool {
    value.parse::<usize>().is_ok_and(|n| (1..=LIMIT_MAX).contains(&n))
}

fn is_digits(value: &str, most: usize) -> bool {
    (1..=most).contains(&value.len()) && value.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[Parameter] = &[
        Parameter {
            name: "url",
            place: ParameterLocation::Query,
            kind: Kind::Text,
            required: true,
            about: "a URL",
        },
        Parameter {
            name: "limit",
            place: ParameterLocation::Query,
            kind: Kind::Limit(20),
            required: false,
            about: "",
        },
        Parameter {
            name: "from",
            place: ParameterLocation::Query,
            kind: Kind::Time,
            required: false,
            about: "",
        },
        Parameter {
            name: "explain",
            place: ParameterLocation::Query,
            kind: Kind::Flag,
            required: false,
            about: "",
        },
    ];

    #[track_caller]
    fn check(query: &str, expected: Result<(&str, usize, bool), &str>) {
        let parsed = Arguments::parse(KNOWN, query, &[]);
        let got = parsed
            .as_ref()
            .map(|a| {
                (
                    a.text("url").unwrap_or(""),
                    a.limit("limit").unwrap_or(0),
                    a.flag("explain"),
                )
            })
            .map_err(|failure| failure.message.as_str());
        match (got, expected) {
            (Err(message), Err(part)) => assert!(message.contains(part), "{message:?} has no {part:?}"),
            (got, expected) => assert_eq!(got, expected, "{query}"),
        }
    }

    #[test]
    fn defaults_bounds_and_refusals() {
        check("url=http%3A%2F%2Fa%2F%3Fx%3D1", Ok(("http://a/?x=1", 20, false)));
        check("url=a&limit=&explain=1", Ok(("a", 20, true)));
        check("url=a&limit=1000", Ok(("a", 1000, false)));
        check("url=a&limit=1001", Err("from 1 to 1000"));
        check("url=a&limit=0", Err("from 1 to 1000"));
        check("url=a&limit=-1", Err("limit must"));
        check("url=a&limit=99999999999999999999999", Err("limit must"));
        for wrong in [
            "2014x",
            "2014-13",
            "201413",
            "2014-1",
            "2014-02-30",
            "20149",
            "99999",
        ] {
            check(
                &format!("url=a&from={wrong}"),
                Err("from must be a date or its beginning"),
            );
        }
        check("url=a&explain=maybe", Err("1 or 0"));
        check("", Err("parameter url is missing"));
        check("url=%20", Err("parameter url is missing"));
        check("url=a&url=b", Err("given twice"));
        check("url=a&colour=red", Err("unknown parameter \"colour\""));
    }

    #[test]
    fn times_are_given_as_digits_or_dates() {
        for (value, digits) in [
            ("2014-01", "201401"),
            ("20140126", "20140126"),
            ("2014-01-26+20:06", "201401262006"),
        ] {
            let parsed = Arguments::parse(KNOWN, &format!("url=a&from={value}"), &[]).expect("a date");
            assert_eq!(parsed.text("from"), Some(digits), "{value}");
        }
    }

    #[test]
    fn names_of_other_servers_are_left_aside_where_they_may_be() {
        let parsed = Arguments::parse_known(KNOWN, "url=a&fastLatest=true&limit=7&colour=%FF", &[])
            .expect("known ones");
        assert_eq!((parsed.text("url"), parsed.limit("limit")), (Some("a"), Some(7)));
        assert!(Arguments::parse_known(KNOWN, "url=a&limit=x&colour=red", &[]).is_err());
    }

    #[test]
    fn bytes_that_are_not_utf8_are_replaced() {
        check("url=%FF%00", Ok(("\u{fffd}\0", 20, false)));
    }
}
