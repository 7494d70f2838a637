//! Fields of a CDX line, under the names of both servers.

use std::borrow::Cow;

use extract::CaptureKind;
use serde::{Deserialize, Serialize};

use super::row::CdxRow;

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Field {
    UrlKey,
    Timestamp,
    Url,
    Mime,
    Status,
    Digest,
    /// Never known here; CDX lines of 11 fields have its place.
    Redirect,
    /// As above.
    RobotFlags,
    Length,
    Offset,
    Filename,
    Collection,
}

/// Written where there is no value.
pub(crate) const NONE: &str = "-";

impl Field {
    /// The fields that the Internet Archive shows everybody.
    pub const PUBLIC: [Field; 7] = [
        Field::UrlKey,
        Field::Timestamp,
        Field::Url,
        Field::Mime,
        Field::Status,
        Field::Digest,
        Field::Length,
    ];

    /// A CDX line of 11 fields (`N b a m s k r M S V g`), as OpenWayback, OutbackCDX and pywb read it.
    pub const CDX11: [Field; 11] = [
        Field::UrlKey,
        Field::Timestamp,
        Field::Url,
        Field::Mime,
        Field::Status,
        Field::Digest,
        Field::Redirect,
        Field::RobotFlags,
        Field::Length,
        Field::Offset,
        Field::Filename,
    ];

    /// By the name that either server has for it.
    pub fn named(name: &str) -> Option<Field> {
        Some(match name {
            "urlkey" => Field::UrlKey,
            "timestamp" => Field::Timestamp,
            "url" | "original" => Field::Url,
            "mime" | "mimetype" => Field::Mime,
            "status" | "statuscode" => Field::Status,
            "digest" => Field::Digest,
            "redirect" | "redirecturl" => Field::Redirect,
            "robotflags" => Field::RobotFlags,
            "length" => Field::Length,
            "offset" => Field::Offset,
            "filename" => Field::Filename,
            "collection" => Field::Collection,
            _ => return None,
        })
    }

    /// Whether only the Internet Archive's server calls a field so.
    pub(crate) fn is_wayback_name(name: &str) -> bool {
        matches!(name, "original" | "mimetype" | "statuscode" | "redirecturl")
    }

    /// The Internet Archive's name.
    pub fn wayback_name(self) -> &'static str {
        match self {
            Field::Url => "original",
            Field::Mime => "mimetype",
            Field::Status => "statuscode",
            other => other.name(),
        }
    }

    /// pywb's name.
    pub fn name(self) -> &'static str {
        match self {
            Field::UrlKey => "urlkey",
            Field::Timestamp => "timestamp",
            Field::Url => "url",
            Field::Mime => "mime",
            Field::Status => "status",
            Field::Digest => "digest",
            Field::Redirect => "redirect",
            Field::RobotFlags => "robotflags",
            Field::Length => "length",
            Field::Offset => "offset",
            Field::Filename => "filename",
            Field::Collection => "collection",
        }
    }

    /// The field's value; `None` if there is none.
    ///
    /// The status of a revisit is the one of the capture it repeats; both servers leave it out.
    pub fn value(self, row: &CdxRow) -> Option<Cow<'_, str>> {
        let text = |text: &'_ str| (!text.is_empty()).then_some(text.to_owned());
        Some(match self {
            Field::UrlKey => Cow::Borrowed(row.url_key.as_str()),
            Field::Timestamp => Cow::Borrowed(row.timestamp.as_str()),
            Field::Url => Cow::Borrowed(row.url.as_str()),
            Field::Mime => Cow::Borrowed(row.mime.as_str()),
            Field::Status if row.status == 0 || row.kind == CaptureKind::Revisit => return None,
            Field::Status => Cow::Owned(row.status.to_string()),
            Field::Digest => Cow::Owned(text(&row.digest)?),
            Field::Redirect | Field::RobotFlags => return None,
            Field::Length => Cow::Owned(row.length.to_string()),
            Field::Offset => Cow::Owned(row.offset.to_string()),
            Field::Filename => Cow::Borrowed(row.filename.as_str()),
            Field::Collection => Cow::Owned(text(&row.collection)?),
        })
    }

    /// The field's value as text; `-` if there is none.
    pub fn text(self, row: &CdxRow) -> Cow<'_, str> {
        self.value(row).unwrap_or(Cow::Borrowed(NONE))
    }
}

/// One space-delimited line of `fields`, without a line end. No value breaks it apart: white space and control
/// characters are escaped as in URLs.
pub fn text_line(fields: &[Field], row: &CdxRow) -> String {
    let mut line = String::with_capacity(256);
    for (n, field) in fields.iter().enumerate() {
        if n > 0 {
            line.push(' ');
        }
        push_word(&mut line, &field.text(row));
    }
    line
}

/// Adds `text` as one word.
pub fn push_word(line: &mut String, text: &str) {
    if text.is_empty() {
        line.push_str(NONE);
    }
    for c in text.chars() {
        if c.is_whitespace() || c.is_control() {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                line.push_str(&format!("%{byte:02X}"));
            }
        } else {
            line.push(c);
        }
    }
}
