//! Values of flags that several commands have.

use std::net::{SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};

/// An address, and the host name it was given by.
#[derive(Debug, Clone)]
pub(crate) struct Listen {
    pub(crate) address: SocketAddr,
    pub(crate) host: String,
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Listen, String> {
        let address = parse_listen(text)?;
        let host = text.rsplit_once(':').map_or(text, |(host, _)| host).to_owned();
        Ok(Listen { address, host })
    }
}

/// Returns the first address of `HOST:PORT`.
pub(crate) fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    let expected = "expected HOST:PORT, such as 127.0.0.1:8080";
    let mut addresses = text
        .to_socket_addrs()
        .map_err(|error| format!("{error}; {expected}"))?;
    addresses.next().ok_or_else(|| expected.to_owned())
}

/// Reads a number that is at least 1.
pub(crate) fn positive(text: &str) -> Result<usize, String> {
    let number: usize = text.parse().map_err(|_| "expected a number".to_owned())?;
    match number {
        0 => Err("expected a number from 1 on".to_owned()),
        number => Ok(number),
    }
}

/// Returns a parser for one of `words`, which help and messages list.
pub(crate) fn one_of<T>(words: &[&'static str]) -> impl TypedValueParser<Value = T> + use<T>
where
    T: FromStr<Err = String> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(words.iter().copied()).try_map(|word| word.parse())
}
