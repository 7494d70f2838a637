//! Values of flags: words, numbers, sizes, dates and durations.
//!
//! A number, a size, a date or a duration is parsed by [`value`], whose message says what the flag
//! takes and gives an example.
//!
//! A flag whose values are those of a library's enum names them with [`one_of`] or [`choice`]. Only
//! enums that no library has derive `ValueEnum`.

use anyhow::anyhow;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

mod date;
mod value;

pub(crate) use date::{date, limit_time, moment, refuse_reversed, whole_date};
pub(crate) use value::{bytes_per_second, size, value, whole, whole_from};

/// Returns a parser that accepts the name of one of `values`. Help and error messages list the
/// names.
pub(crate) fn one_of<T, const N: usize>(
    values: [T; N],
    name: impl Fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    choice(values.map(|value| (name(value), value)))
}

/// Returns a parser that accepts one of these words, with the value that each stands for. Help and
/// error messages list the words.
pub(crate) fn choice<P, T, const N: usize>(
    choices: [(P, T); N],
) -> impl TypedValueParser<Value = T> + use<P, T, N>
where
    P: Into<PossibleValue>,
    T: Copy + Send + Sync + 'static,
{
    let choices = choices.map(|(word, value)| (word.into(), value));
    let words = choices.clone().map(|(word, _)| word);
    PossibleValuesParser::new(words).try_map(move |typed| {
        choices
            .iter()
            .find(|(word, _)| word.matches(&typed, false))
            .map(|&(_, value)| value)
            .ok_or_else(|| anyhow!("{typed} is not among the values"))
    })
}

/// Returns a word for [`choice`] that help describes.
pub(crate) fn described(word: &'static str, help: &'static str) -> PossibleValue {
    PossibleValue::new(word).help(help)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn a_word_becomes_its_value() {
        let parser = choice([("none", 0), ("all", 9)]);
        let parse = |word: &str| {
            parser
                .parse_ref(&clap::Command::new("weft"), None, OsStr::new(word))
                .ok()
        };
        assert_eq!(
            [parse("none"), parse("all"), parse("ALL"), parse("")],
            [Some(0), Some(9), None, None]
        );
    }
}
