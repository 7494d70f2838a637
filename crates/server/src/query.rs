//! The query of a page's address. It is read leniently: unknown names and empty values are ignored.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::failure::Failure;

/// The query of a page's address.
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn of(query: Option<&str>) -> Query {
        let pairs = url::form_urlencoded::parse(query.unwrap_or("").as_bytes());
        Query(pairs.into_owned().collect())
    }

    /// Returns the first value of `name` that is not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let values = self.0.iter().filter(|(n, _)| n == name);
        values
            .map(|(_, value)| value.trim())
            .find(|value| !value.is_empty())
    }

    /// Returns all values of `name` that are not empty.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let values = self.0.iter().filter(move |(n, _)| n == name);
        values
            .map(|(_, value)| value.trim())
            .filter(|value| !value.is_empty())
    }

    pub(crate) fn owned(&self, name: &str) -> Option<String> {
        self.get(name).map(str::to_owned)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.owned(name).unwrap_or_default()
    }

    /// Returns a time to the millisecond, from digits or an ISO date. Any other value is refused,
    /// because the page shown would not be the requested one.
    pub(crate) fn moment(&self, name: &str) -> Result<Option<String>, Failure> {
        let Some(text) = self.get(name) else {
            return Ok(None);
        };
        let known = |c: char| c.is_ascii_digit() || matches!(c, '-' | ':' | 'T' | 'Z' | '.' | ' ');
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        if !text.chars().all(known) || !(1..=17).contains(&digits.len()) {
            return Err(Failure::bad_request(format!(
                "{text:?} is not a time: expected 1 to 17 digits, or a date such as 2014-01-26"
            )));
        }
        Ok(Some(digits))
    }

    /// Returns a time, if the text can be one: digits, and the dashes and colons of an ISO date.
    pub(crate) fn time(&self, name: &str) -> Option<String> {
        let digits: String = self
            .get(name)?
            .chars()
            .filter(char::is_ascii_digit)
            .take(14)
            .collect();
        (!digits.is_empty()).then_some(digits)
    }
}

impl<S: Sync> FromRequestParts<S> for Query {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Query, Self::Rejection> {
        Ok(Query::of(parts.uri.query()))
    }
}
