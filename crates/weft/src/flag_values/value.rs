//! Numbers, sizes, dates and durations on the command line.
//!
//! All of them are parsed by [`value`], which reports a wrong value as `--limit takes a whole
//! number from 1 to 10000, such as 20; found 'ten'`.

use std::ffi::OsStr;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use clap::builder::TypedValueParser;
use clap::error::{Error, ErrorKind};
use clap::{Arg, Command};

use crate::style::clean;
use crate::units::parse_bytes;

/// Returns a parser of the texts that `parse` accepts. `takes` and `example` complete the sentence `--flag
/// takes a size in bytes, such as 64k or 2G`.
pub(crate) fn value<T: Clone + Send + Sync + 'static>(
    takes: impl Into<String>,
    example: impl Into<String>,
    parse: impl Fn(&str) -> Option<T> + Clone + Send + Sync + 'static,
) -> impl TypedValueParser<Value = T> {
    Value {
        takes: takes.into(),
        example: example.into(),
        parse,
    }
}

/// Returns a parser of whole numbers in a range.
pub(crate) fn whole<T: Number>(
    range: RangeInclusive<T>,
    example: T,
) -> impl TypedValueParser<Value = T> + use<T> {
    let takes = format!("a whole number from {} to {}", range.start(), range.end());
    value(takes, example.to_string(), move |text| {
        text.parse().ok().filter(|number| range.contains(number))
    })
}

/// Returns a parser of whole numbers from `least`.
pub(crate) fn whole_from<T: Number>(least: T, example: T) -> impl TypedValueParser<Value = T> + use<T> {
    let takes = format!("a whole number of at least {least}");
    value(takes, example.to_string(), move |text| {
        text.parse().ok().filter(|number| *number >= least)
    })
}

/// Returns a parser of sizes in bytes.
pub(crate) fn size() -> impl TypedValueParser<Value = u64> {
    value("a size in bytes", "500000, 64k, 1.5M or 2G", |text| {
        parse_bytes(text).ok()
    })
}

/// Returns a parser of rates in bytes.
pub(crate) fn bytes_per_second() -> impl TypedValueParser<Value = u64> {
    value("bytes per second", "500k or 50M", |text| parse_bytes(text).ok())
}

/// A type of whole numbers.
pub(crate) trait Number: FromStr + Display + PartialOrd + Copy + Send + Sync + 'static {}

impl<T: FromStr + Display + PartialOrd + Copy + Send + Sync + 'static> Number for T {}

/// The parser that [`value`] returns.
#[derive(Clone)]
struct Value<P> {
    takes: String,
    example: String,
    parse: P,
}

impl<T, P> TypedValueParser for Value<P>
where
    T: Clone + Send + Sync + 'static,
    P: Fn(&str) -> Option<T> + Clone + Send + Sync + 'static,
{
    type Value = T;

    fn parse_ref(&self, command: &Command, flag: Option<&Arg>, typed: &OsStr) -> Result<T, Error> {
        let parsed = typed.to_str().and_then(|text| (self.parse)(text));
        parsed.ok_or_else(|| {
            let program = command.get_bin_name().unwrap_or_else(|| command.get_name());
            let message = format!(
                "{} takes {}, such as {}; found '{}'\n\nFor more information, try '{program} --help'.\n",
                flag.map_or("a value".to_owned(), name),
                self.takes,
                self.example,
                clean(&typed.to_string_lossy()),
            );
            Error::raw(ErrorKind::ValueValidation, message).with_cmd(command)
        })
    }
}

/// Returns what users type for the flag, or the name of the argument in the usage line.
fn name(flag: &Arg) -> String {
    match (flag.get_long(), flag.get_short(), flag.get_value_names()) {
        (Some(long), ..) => format!("--{long}"),
        (None, Some(short), _) => format!("-{short}"),
        (None, None, Some([name, ..])) => name.to_string(),
        _ => flag.get_id().as_str().to_uppercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse<T>(parser: &impl TypedValueParser<Value = T>, flag: &Arg, text: &str) -> Result<T, String> {
        let parsed = parser.parse_ref(&Command::new("weft"), Some(flag), OsStr::new(text));
        parsed.map_err(|error| error.to_string().lines().next().unwrap_or_default().to_owned())
    }

    #[test]
    fn a_wrong_value_is_reported_with_an_example() {
        let (limit, number) = (Arg::new("limit").long("limit"), Arg::new("number"));
        let range = whole(1..=10_000_u32, 20);
        assert_eq!(parse(&range, &limit, "20"), Ok(20));
        for wrong in ["ten", "0", "10001", "", "-1", "1.5", "99999999999999999999"] {
            let expected =
                format!("error: --limit takes a whole number from 1 to 10000, such as 20; found '{wrong}'");
            assert_eq!(parse(&range, &limit, wrong), Err(expected));
        }
        assert_eq!(
            parse(&whole_from(1_u64, 3), &number, "0"),
            Err("error: NUMBER takes a whole number of at least 1, such as 3; found '0'".to_owned())
        );
        assert_eq!(parse(&size(), &limit, "1.5M"), Ok(1_572_864));
        assert_eq!(
            parse(&size(), &limit, "\x1b[2Jbig"),
            Err(
                "error: --limit takes a size in bytes, such as 500000, 64k, 1.5M or 2G; found ' [2Jbig'"
                    .to_owned()
            )
        );
    }
}
