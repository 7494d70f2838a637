//! The encoding of keys in responses.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use s3s::S3Result;
use s3s::dto::{CommonPrefix, EncodingType};

use crate::error::fault;
use crate::xml;

/// Characters that `encoding-type=url` leaves unencoded.
const URL_KEEPS: AsciiSet = NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'/');

/// How keys are encoded in a response.
#[derive(Clone, Copy)]
pub(super) struct KeyEncoding {
    pub(super) url: bool,
}

impl KeyEncoding {
    /// Returns the encoding that the client requested.
    pub(super) fn of(encoding: Option<&EncodingType>) -> S3Result<Self> {
        match encoding.map(EncodingType::as_str) {
            None | Some("") => Ok(Self { url: false }),
            Some(EncodingType::URL) => Ok(Self { url: true }),
            Some(other) => Err(fault(
                "InvalidArgument",
                format!("unknown encoding-type {other:?}"),
            )),
        }
    }

    /// Keeps the encoding if XML can express the text, otherwise switches to percent-encoding. A
    /// client can decode that, but cannot parse XML with control characters.
    pub(super) fn carrying(self, text: &str) -> Self {
        Self {
            url: self.url || !text.chars().all(xml::can_carry),
        }
    }

    /// Returns the value of the response's `EncodingType`.
    pub(super) fn encoding(self) -> Option<EncodingType> {
        self.url.then(|| EncodingType::from_static(EncodingType::URL))
    }

    /// Encodes rolled-up prefixes.
    pub(super) fn prefixes(self, prefixes: &[String]) -> Vec<CommonPrefix> {
        let prefixes = prefixes.iter().map(|prefix| CommonPrefix {
            prefix: self.write(Some(prefix.clone())),
        });
        prefixes.collect()
    }

    /// Encodes a key, or part of one.
    pub(super) fn write(self, text: Option<String>) -> Option<String> {
        if self.url {
            text.map(|text| utf8_percent_encode(&text, &URL_KEEPS).to_string())
        } else {
            text
        }
    }
}
