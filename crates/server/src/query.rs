//! The query of a page's address. It is read leniently: unknown names and empty values are ignored.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use format::date::{DIGITS, digits_ms_of_text};

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

    /// Returns the digits of a time to the millisecond or its beginning. Any other value is
    /// refused, because the page shown would not be the requested one.
    pub(crate) fn moment(&self, name: &str) -> Result<Option<String>, Failure> {
        let Some(text) = self.get(name) else {
            return Ok(None);
        };
        let digits = digits_ms_of_text(text);
        digits.map(Some).ok_or_else(|| {
            Failure::bad_request(format!(
                "{text:?} is not a time: expected a date or its beginning, such as 2014, 2014-01-26 or 20140126200624"
            ))
        })
    }

    /// Like [`Query::moment`], to the second.
    pub(crate) fn time(&self, name: &str) -> Result<Option<String>, Failure> {
        let mut digits = self.moment(name)?;
        if let Some(digits) = &mut digits {
            digits.truncate(DIGITS);
        }
        Ok(digits)
    }
}

impl<S: Sync> FromRequestParts<S> for Query {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Query, Self::Rejection> {
        Ok(Query::of(parts.uri.query()))
    }
}
