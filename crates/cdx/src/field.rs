//! Fields of a CDX line, with their names in all three servers.

use std::borrow::Cow;

use extract::CaptureKind;
use serde::{Deserialize, Serialize};

use super::row::CdxRow;

/// A field of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Field {
    UrlKey,
    Timestamp,
    Url,
    Mime,
    Status,
    /// Method of the request, if it is not GET, as in pywb.
    Method,
    Digest,
    /// Always empty; CDX lines of 11 fields have a column for it.
    Redirect,
    /// Always empty, like the redirect.
    RobotFlags,
    Length,
    Offset,
    Filename,
    Collection,
    /// The `Range` header with which to request the record from a web server (OutbackCDX).
    Range,
    /// Length of the record with the payload of a revisit. The next two fields are of that record
    /// too.
    OriginalLength,
    OriginalOffset,
    OriginalFilename,
    /// Number of earlier captures with the same digest.
    DupeCount,
    /// Number of captures left out between this one and the next.
    SkipCount,
    /// The same number, including this capture.
    GroupCount,
    /// Time of the last capture left out after this one, or the time of this one.
    EndTimestamp,
    /// Number of different digests among those left out and this one.
    UniqCount,
}

/// Written in place of a missing value.
pub(crate) const NONE: &str = "-";

impl Field {
    /// The fields that the Internet Archive shows to everybody.
    pub const PUBLIC: [Field; 7] = [
        Field::UrlKey,
        Field::Timestamp,
        Field::Url,
        Field::Mime,
        Field::Status,
        Field::Digest,
        Field::Length,
    ];

    /// The fields of a CDX line of 11 columns (`N b a m s k r M S V g`), as OpenWayback, OutbackCDX
    /// and pywb read it.
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

    /// Returns the field with this name in any of the servers.
    pub fn named(name: &str) -> Option<Field> {
        Some(match name {
            "urlkey" => Field::UrlKey,
            "timestamp" => Field::Timestamp,
            "url" | "original" => Field::Url,
            "mime" | "mimetype" => Field::Mime,
            "status" | "statuscode" => Field::Status,
            "method" => Field::Method,
            "digest" => Field::Digest,
            "redirect" | "redirecturl" => Field::Redirect,
            "robotflags" => Field::RobotFlags,
            "length" => Field::Length,
            "offset" => Field::Offset,
            "filename" => Field::Filename,
            "collection" => Field::Collection,
            "range" => Field::Range,
            "orig.length" | "originalLength" => Field::OriginalLength,
            "orig.offset" | "originalOffset" => Field::OriginalOffset,
            "orig.filename" | "originalFilename" => Field::OriginalFilename,
            "dupecount" => Field::DupeCount,
            "skipcount" => Field::SkipCount,
            "groupcount" => Field::GroupCount,
            "endtimestamp" => Field::EndTimestamp,
            "uniqcount" => Field::UniqCount,
            _ => return None,
        })
    }

    /// Returns the field with this letter in pywb (the names in its compact CDXJ lines). As in
    /// pywb, `s` is the length, although the line before it in its source gives the letter to the
    /// status.
    pub fn of_letter(name: &str) -> Option<Field> {
        Some(match name {
            "k" => Field::UrlKey,
            "t" => Field::Timestamp,
            "u" => Field::Url,
            "m" => Field::Mime,
            "d" => Field::Digest,
            "s" | "l" => Field::Length,
            "o" => Field::Offset,
            "f" => Field::Filename,
            _ => return None,
        })
    }

    /// The fields of the record with the payload of a revisit.
    pub const ORIGINAL: [Field; 3] = [
        Field::OriginalLength,
        Field::OriginalOffset,
        Field::OriginalFilename,
    ];

    /// Returns whether the values are numbers, which OutbackCDX writes without quotes.
    pub(crate) fn is_number(self) -> bool {
        matches!(
            self,
            Field::Timestamp
                | Field::Status
                | Field::Length
                | Field::Offset
                | Field::OriginalLength
                | Field::OriginalOffset
        )
    }

    /// Returns whether only the Internet Archive's server uses this field name.
    pub(crate) fn is_wayback_name(name: &str) -> bool {
        matches!(name, "original" | "mimetype" | "statuscode" | "redirecturl")
    }

    /// Returns the Internet Archive's name.
    pub fn wayback_name(self) -> &'static str {
        match self {
            Field::Url => "original",
            Field::Mime => "mimetype",
            Field::Status => "statuscode",
            other => other.name(),
        }
    }

    /// Returns pywb's name.
    pub fn name(self) -> &'static str {
        match self {
            Field::UrlKey => "urlkey",
            Field::Timestamp => "timestamp",
            Field::Url => "url",
            Field::Mime => "mime",
            Field::Status => "status",
            Field::Method => "method",
            Field::Digest => "digest",
            Field::Redirect => "redirect",
            Field::RobotFlags => "robotflags",
            Field::Length => "length",
            Field::Offset => "offset",
            Field::Filename => "filename",
            Field::Collection => "collection",
            Field::Range => "range",
            Field::OriginalLength => "orig.length",
            Field::OriginalOffset => "orig.offset",
            Field::OriginalFilename => "orig.filename",
            Field::DupeCount => "dupecount",
            Field::SkipCount => "skipcount",
            Field::GroupCount => "groupcount",
            Field::EndTimestamp => "endtimestamp",
            Field::UniqCount => "uniqcount",
        }
    }

    /// Returns the value of the field, if any.
    ///
    /// The status of a revisit is that of the capture it repeats. Servers omit it unless the
    /// revisit was resolved.
    pub fn value<'row>(self, row: &'row CdxRow) -> Option<Cow<'row, str>> {
        let text = |text: &'row str| (!text.is_empty()).then_some(Cow::Borrowed(text));
        let number = |number: u64| Cow::Owned(number.to_string());
        let computed = row.computed.as_deref();
        let original = computed.and_then(|computed| computed.original.as_ref());
        let skipped = computed.and_then(|computed| computed.skipped.as_ref());
        let is_unresolved = row.kind == CaptureKind::Revisit && original.is_none();
        Some(match self {
            Field::UrlKey => Cow::Borrowed(row.url_key.as_str()),
            Field::Timestamp => Cow::Borrowed(row.timestamp.as_str()),
            Field::Url => Cow::Borrowed(row.url.as_str()),
            Field::Mime => Cow::Borrowed(row.mime.as_str()),
            Field::Status if row.status == 0 || is_unresolved => return None,
            Field::Status => Cow::Owned(row.status.to_string()),
            Field::Method => match row.method.as_str() {
                "" | "GET" => return None,
                method => Cow::Borrowed(method),
            },
            Field::Digest => text(&row.digest)?,
            Field::Redirect | Field::RobotFlags => return None,
            Field::Length => number(row.length),
            Field::Offset => number(row.offset),
            Field::Filename => Cow::Borrowed(row.filename.as_str()),
            Field::Collection => text(&row.collection)?,
            Field::Range => {
                let end = row.offset.saturating_add(row.length).saturating_sub(1);
                Cow::Owned(format!("bytes={}-{end}", row.offset))
            }
            Field::OriginalLength => number(original?.length),
            Field::OriginalOffset => number(original?.offset),
            Field::OriginalFilename => Cow::Borrowed(original?.filename.as_str()),
            Field::DupeCount => number(computed?.duplicates?),
            Field::SkipCount => number(skipped?.count),
            Field::GroupCount => number(skipped?.count + 1),
            Field::UniqCount => number(
                skipped
                    .filter(|skipped| !skipped.digests.is_empty())?
                    .digests
                    .len() as u64,
            ),
            Field::EndTimestamp => match skipped?.last_timestamp.as_str() {
                "" => Cow::Borrowed(row.timestamp.as_str()),
                last => Cow::Borrowed(last),
            },
        })
    }

    /// Returns the value of the field as text, or `-`.
    pub fn text(self, row: &CdxRow) -> Cow<'_, str> {
        self.value(row).unwrap_or(Cow::Borrowed(NONE))
    }
}

/// Returns one space-delimited line of `fields`, without a line end. White space and control
/// characters in values are escaped as in URLs, so that the line can be split.
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

/// Appends `text` as one word.
pub fn push_word(line: &mut String, text: &str) {
    if text.is_empty() {
        line.push_str(NONE);
    }
    if text.bytes().all(|byte| byte.is_ascii_graphic()) {
        line.push_str(text);
        return;
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
