//! The common parts of the request, response and metadata records of a visit.

use format::date;

use super::ballast::push;
use super::page::Visit;
use super::random::Random;

/// 2024-01-01T00:00:00Z, the time of the first visit; each visit takes a second.
const FIRST_VISIT_UNIX_S: i64 = 1_704_067_200;

/// Values shared by all records of a visit. They depend only on the seed and the visit, so that
/// WARC and WAT agree.
#[derive(Debug)]
pub(super) struct Facts {
    /// The date in the format of WARC headers.
    pub date: String,
    /// The date in the format of HTTP headers.
    pub http_date: String,
    pub ip: String,
    pub request_id: String,
    pub response_id: String,
    pub metadata_id: String,
}

/// Returns the id of the warcinfo record at the start of a crawl.
pub(super) fn warcinfo_id(seed: u64) -> String {
    uuid(&mut Random::of(seed, &[20]))
}

impl Facts {
    pub(super) fn of(seed: u64, visit: Visit) -> Facts {
        let mut random = Random::of(seed, &[21, visit.index]);
        let (date, http_date) = dates(visit.index);
        let octet = |random: &mut Random| 1 + random.below(254);
        Facts {
            date,
            http_date,
            ip: format!(
                // 198.18.0.0/15 is reserved for benchmarks (RFC 2544), so no real host has these
                // addresses.
                "198.{}.{}.{}",
                18 + random.below(2),
                octet(&mut random),
                octet(&mut random)
            ),
            request_id: uuid(&mut random),
            response_id: uuid(&mut random),
            metadata_id: uuid(&mut random),
        }
    }
}

/// Returns the date of a visit in the formats of WARC and HTTP.
pub(super) fn dates(index: u64) -> (String, String) {
    let ms = FIRST_VISIT_UNIX_S
        .saturating_add_unsigned(index)
        .saturating_mul(1000);
    (date::iso_short(ms), date::http_date(ms))
}

fn uuid(random: &mut Random) -> String {
    let (high, low) = (random.bits(), random.bits());
    format!(
        // The bits of a random UUID: version 4 and variant 10 (RFC 9562, section 5.4).
        "<urn:uuid:{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}>",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xfff,
        low >> 48 & 0x3fff | 0x8000,
        low & 0xffff_ffff_ffff
    )
}

/// Appends a random digest, for records whose payload is never written.
pub(super) fn fake_digest(random: &mut Random, out: &mut String) {
    out.push_str("sha1:");
    for _ in 0..4 {
        let bits = random.bits();
        for place in 0..8 {
            let digit = (bits >> (5 * place) & 31) as usize;
            out.push(char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[digit]));
        }
    }
}

/// Appends the head of a record: version, `fields`, length, blank line.
pub(super) fn append_head(fields: &[(&str, &str)], content_length: usize, out: &mut String) {
    out.push_str("WARC/1.0\r\n");
    for (name, value) in fields {
        out.push_str(name);
        out.push_str(": ");
        out.push_str(value);
        out.push_str("\r\n");
    }
    push(out, format_args!("Content-Length: {content_length}\r\n\r\n"));
}

/// The line ends after every block (WARC 1.1, clause 4).
pub(super) const TAIL: &[u8] = b"\r\n\r\n";
