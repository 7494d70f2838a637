//! Matches the records of an HTTP exchange: finds the request of a response, and its method.
//!
//! A request belongs to a response of its URL if either names the other as concurrent
//! (`WARC-Concurrent-To`). If neither names any record, it may belong to a response with the same
//! URL and time. From WAT, only requests with a method other than GET are read: those of GET would
//! have to be parsed, and do not change a response.

mod method;
mod names;

use warc::{Format, Kind, Record};

use crate::wat;
pub(crate) use method::checked_method;
use method::method_of;
pub use names::ExchangeNames;

/// The GET method.
const GET: &str = "GET";

/// How certainly a request belongs to a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Belonging {
    /// One names the other.
    Named,
    /// Neither names any record, and both have the same URL and time.
    Alike,
}

/// The request described by a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestFacts {
    /// Its method, in upper case.
    pub method: String,
    names: ExchangeNames,
}

impl RequestFacts {
    /// Returns the request of a `request` record, or of the WAT of one; `None` for other records,
    /// and without a method.
    pub fn from_record(record: &Record) -> Option<RequestFacts> {
        match record.kind {
            Kind::Request => Some(RequestFacts {
                method: method_of(&record.body)?,
                names: ExchangeNames::of(record),
            }),
            Kind::Metadata => {
                let (method, names) = wat::request(record)?;
                (method != GET).then_some(RequestFacts { method, names })
            }
            _ => None,
        }
    }

    /// Returns how it belongs to a response; `None` if it does not.
    pub fn belongs(&self, answer: &ExchangeNames) -> Option<Belonging> {
        if self.names.is_linked(answer) {
            return Some(Belonging::Named);
        }
        let names_nobody = self.names.concurrent.is_empty() && answer.concurrent.is_empty();
        (names_nobody && self.names.is_alike(answer)).then_some(Belonging::Alike)
    }
}

/// Returns whether a record is a response that may have a request.
pub fn is_answer(record: &Record) -> bool {
    match record.kind {
        Kind::Response | Kind::Revisit => !matches!(record.format, Format::Arc(_)),
        Kind::Metadata => wat::begins_like_wat(&record.body),
        _ => false,
    }
}

/// Returns the names of a response that identify its request.
pub fn answer_names(record: &Record) -> ExchangeNames {
    match record.kind {
        Kind::Metadata => wat::response_names(record).unwrap_or_default(),
        _ => ExchangeNames::of(record),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_the_first_word() {
        for (block, method) in [
            ("GET / HTTP/1.1\r\n\r\n", Some("GET")),
            ("post /x HTTP/1.1\r\n", Some("POST")),
            ("VERSION-CONTROL / HTTP/1.1", Some("VERSION-CONTROL")),
            ("", None),
            ("GET", None),
            (" / HTTP/1.1", None),
            ("<html> x", None),
            ("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA / HTTP/1.1", None),
        ] {
            assert_eq!(method_of(block.as_bytes()).as_deref(), method, "{block:?}");
        }
    }

    #[test]
    fn a_request_belongs_by_name_or_by_url_and_time() {
        let names = |id: &str, concurrent: &[&str], time_ms| ExchangeNames {
            id: id.into(),
            concurrent: concurrent.iter().map(|&id| id.to_owned()).collect(),
            url: "http://a.org/".into(),
            time_ms: Some(time_ms),
        };
        let request = |names| RequestFacts {
            method: "POST".into(),
            names,
        };
        let answer = names("<a>", &[], 5);
        assert_eq!(
            request(names("<r>", &["<a>"], 9)).belongs(&answer),
            Some(Belonging::Named)
        );
        assert_eq!(request(names("<r>", &["<b>"], 5)).belongs(&answer), None);
        assert_eq!(
            request(names("<r>", &[], 5)).belongs(&answer),
            Some(Belonging::Alike)
        );
        assert_eq!(request(names("<r>", &[], 6)).belongs(&answer), None);
        let naming = names("<a>", &["<r>"], 5);
        assert_eq!(
            request(names("<r>", &[], 9)).belongs(&naming),
            Some(Belonging::Named)
        );
        // A duplicate id does not match a request to a response of another URL.
        let of_another = ExchangeNames {
            url: "http://b.org/".into(),
            ..names("<r>", &["<a>"], 5)
        };
        assert_eq!(request(of_another).belongs(&answer), None);
        // Records without ids name no record.
        assert_eq!(request(names("", &[""], 9)).belongs(&names("", &[""], 5)), None);
    }
}
