//! Makes the header of a revisit from that of the response it replaces. Id, date, URL and all other
//! fields are kept.

use data_encoding::BASE32;
use sha1::{Digest as _, Sha1};
use warc::{Format, Record};

/// The record that revisits refer to.
#[derive(Debug)]
pub(super) struct Original {
    id: String,
    target: String,
    date: String,
    /// Its declared payload digest, or a computed one if none is declared.
    pub(super) digest: String,
}

impl Original {
    /// Returns the fields of a record that revisits need, or `None` if one is missing. A record
    /// that is not a capture cannot provide content.
    pub(super) fn of(record: &Record) -> Option<Original> {
        let text = |name: &str| record.headers.get(name).map(str::to_owned);
        let target = text("WARC-Target-URI")?;
        let scheme = target.trim_start_matches('<').split(':').next()?;
        let is_web = ["http", "https"]
            .iter()
            .any(|web| scheme.eq_ignore_ascii_case(web));
        let date = text("WARC-Date").filter(|date| warc::parse_date(date).is_some())?;
        is_web.then_some(())?;
        Some(Original {
            id: text("WARC-Record-ID")?,
            target,
            date,
            digest: text("WARC-Payload-Digest")
                .unwrap_or_else(|| format!("sha1:{}", warc::payload_digest(record))),
        })
    }
}

/// The lines of a header.
pub(super) struct Header<'a> {
    lines: Vec<&'a [u8]>,
    profile: &'static str,
}

/// Fields of a response that a revisit has with another value, or not at all.
const REPLACED: [&str; 4] = [
    "WARC-Type",
    "WARC-Payload-Digest",
    "WARC-Block-Digest",
    "Content-Length",
];

impl<'a> Header<'a> {
    pub(super) fn of(header: &'a [u8], format: Format) -> Header<'a> {
        Header {
            lines: header.split_inclusive(|byte| *byte == b'\n').collect(),
            profile: match format {
                Format::Warc(1, 1) => "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
                _ => "http://netpreserve.org/warc/1.0/revisit/identical-payload-digest",
            },
        }
    }

    /// Returns the header of the revisit, whose block is the HTTP header.
    pub(super) fn revisit(&self, original: &Original, http: &[u8]) -> Vec<u8> {
        let mut into = Vec::new();
        let [version, fields @ .., end] = &self.lines[..] else {
            return into;
        };
        into.extend_from_slice(version);
        let mut put = |name: &str, value: &str| {
            into.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        };
        put("WARC-Type", "revisit");
        put("WARC-Profile", self.profile);
        put("WARC-Refers-To", &original.id);
        put("WARC-Refers-To-Target-URI", &original.target);
        put("WARC-Refers-To-Date", &original.date);
        put("WARC-Payload-Digest", &original.digest);
        // The standard requires this for a payload that is left out (WARC/1.1, 6.7.2).
        put("WARC-Truncated", "length");
        if fields.iter().any(|line| is_field(line, "WARC-Block-Digest")) {
            put(
                "WARC-Block-Digest",
                &format!("sha1:{}", BASE32.encode(&Sha1::digest(http))),
            );
        }
        put("Content-Length", &http.len().to_string());
        let mut leaves_out = false;
        for line in fields {
            let goes_on = matches!(line.first(), Some(b' ' | b'\t'));
            leaves_out = if goes_on {
                leaves_out
            } else {
                REPLACED.iter().any(|name| is_field(line, name))
            };
            if !leaves_out {
                into.extend_from_slice(line);
            }
        }
        into.extend_from_slice(end);
        into
    }
}

fn is_field(line: &[u8], name: &str) -> bool {
    let colon = line.iter().position(|byte| *byte == b':').unwrap_or(0);
    line[..colon].trim_ascii().eq_ignore_ascii_case(name.as_bytes())
}

/// Returns content type, transfer and content encoding of an HTTP header in a normalised form.
pub(super) fn meaning(http: &[u8]) -> String {
    let mut meaning = String::new();
    for name in ["content-type", "transfer-encoding", "content-encoding"] {
        for line in http
            .split(|byte| *byte == b'\n')
            .filter(|line| is_field(line, name))
        {
            let value = line.splitn(2, |byte| *byte == b':').nth(1).unwrap_or_default();
            meaning.push_str(name);
            meaning.push(':');
            meaning.push_str(&String::from_utf8_lossy(value.trim_ascii()).to_ascii_lowercase());
            meaning.push('\n');
        }
    }
    meaning.push('\n');
    meaning
}
