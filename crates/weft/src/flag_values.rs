//! Values of flags that several commands share.

use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};

/// Parses a number of at least 1.
pub(crate) fn positive(text: &str) -> Result<usize, String> {
    let number: usize = text.parse().map_err(|_| "expected a number".to_owned())?;
    match number {
        0 => Err("expected a number of at least 1".to_owned()),
        number => Ok(number),
    }
}

/// Returns a parser that accepts one of `words`, which help and error messages list.
pub(crate) fn one_of<T>(words: &[&'static str]) -> impl TypedValueParser<Value = T> + use<T>
where
    T: FromStr<Err = String> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(words.iter().copied()).try_map(|word| word.parse())
}
