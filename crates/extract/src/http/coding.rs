//! Decodes the codings of content and transfer: gzip, deflate (with and without the zlib wrapper),
//! br, zstd.
//!
//! Servers and crawlers declare codings wrongly in both directions, so a claim is believed only as
//! far as the bytes confirm it: a payload that does not decode stays unchanged. If a payload
//! decodes partly, that part is used. The decoded size is bounded.

use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use std::borrow::Cow;
use std::io::{self, Read};

/// Largest number of bytes used of a decoded payload.
pub(crate) const DECODED_BYTES_MAX: usize = 16 << 20;

/// A decoded payload.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Decoded<'a> {
    pub(crate) bytes: Cow<'a, [u8]>,
    /// Whether `bytes` was cut at the limit.
    pub(crate) truncated: bool,
}

/// Returns whether a coding with this name can be decoded, or means no coding.
pub(crate) fn is_known(coding: &str) -> bool {
    matches!(
        coding,
        "gzip" | "x-gzip" | "deflate" | "x-deflate" | "br" | "zstd" | "identity" | "none"
    )
}

/// Decodes `codings` (the head keeps only a few), the last applied first. `bytes_max` bounds every
/// step.
pub(crate) fn decode<'a>(payload: Cow<'a, [u8]>, codings: &[String], bytes_max: usize) -> Decoded<'a> {
    let mut decoded = Decoded {
        bytes: payload,
        truncated: false,
    };
    for coding in codings.iter().rev() {
        if matches!(coding.as_str(), "identity" | "none") {
            continue;
        }
        let Some(bytes) = decode_one(&decoded.bytes, coding, bytes_max) else {
            break;
        };
        decoded.truncated |= bytes.len() > bytes_max;
        decoded.bytes = Cow::Owned(bytes);
        if let Cow::Owned(bytes) = &mut decoded.bytes {
            bytes.truncate(bytes_max);
        }
    }
    decoded
}

/// Decodes one coding. Returns at most one byte beyond `bytes_max`, which shows that the output
/// continues; `None` if the claim is false or the coding unknown.
fn decode_one(payload: &[u8], coding: &str, bytes_max: usize) -> Option<Vec<u8>> {
    match coding {
        "gzip" | "x-gzip" => payload
            .starts_with(&[0x1f, 0x8b])
            .then(|| read_leniently(MultiGzDecoder::new(payload), bytes_max))?,
        "deflate" | "x-deflate" if looks_like_zlib(payload) => {
            read_leniently(ZlibDecoder::new(payload), bytes_max)
                .or_else(|| read_leniently(DeflateDecoder::new(payload), bytes_max))
        }
        "deflate" | "x-deflate" => read_leniently(DeflateDecoder::new(payload), bytes_max),
        "br" => read_brotli(payload, bytes_max),
        "zstd" => read_zstd(payload, bytes_max),
        _ => None,
    }
}

/// Largest number of bytes decoded in a trial.
const TRIAL_DECODED_BYTES: usize = 64 << 10;

/// A coding that the bytes confirm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proven {
    Gzip,
    Zlib,
    Deflate,
    Brotli,
    Zstd,
}

/// Returns the coding if `start`, the beginning of a payload (or all of a short one), is encoded as
/// claimed.
pub(crate) fn prove(start: &[u8], coding: &str) -> Option<Proven> {
    let bears_out = |decoder: Option<Vec<u8>>| decoder.is_some();
    let zlib = || bears_out(read_leniently(ZlibDecoder::new(start), TRIAL_DECODED_BYTES));
    let proven = match coding {
        "gzip" | "x-gzip" if start.starts_with(&[0x1f, 0x8b]) => Proven::Gzip,
        "deflate" | "x-deflate" if looks_like_zlib(start) && zlib() => Proven::Zlib,
        "deflate" | "x-deflate" => Proven::Deflate,
        "br" => Proven::Brotli,
        "zstd" => Proven::Zstd,
        _ => return None,
    };
    let decoded = match proven {
        Proven::Gzip => read_leniently(MultiGzDecoder::new(start), TRIAL_DECODED_BYTES),
        Proven::Zlib => return Some(proven),
        Proven::Deflate => read_leniently(DeflateDecoder::new(start), TRIAL_DECODED_BYTES),
        Proven::Brotli => read_brotli(start, TRIAL_DECODED_BYTES),
        Proven::Zstd => read_zstd(start, TRIAL_DECODED_BYTES),
    };
    bears_out(decoded).then_some(proven)
}

impl Proven {
    /// Returns a decoder of `encoded`.
    pub(crate) fn decoder(self, encoded: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Proven::Gzip => Box::new(MultiGzDecoder::new(encoded)),
            Proven::Zlib => Box::new(ZlibDecoder::new(encoded)),
            Proven::Deflate => Box::new(DeflateDecoder::new(encoded)),
            Proven::Brotli => Box::new(brotli_decompressor::Decompressor::new(
                encoded,
                BROTLI_BUFFER_BYTES,
            )),
            Proven::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::new(encoded)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
                Box::new(decoder)
            }
        })
    }
}

/// Checks the header of RFC 1950: method 8, window at most 32 KiB, and a check value that makes the
/// first two bytes divisible by 31.
fn looks_like_zlib(payload: &[u8]) -> bool {
    matches!(payload, [cmf, flg, ..]
        if cmf & 0x0f == 8 && cmf >> 4 <= 7 && (u16::from(*cmf) * 256 + u16::from(*flg)).is_multiple_of(31))
}

/// Returns the bytes before the first error; `None` if decoding fails before the first byte.
fn read_leniently(decoder: impl Read, bytes_max: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let outcome = decoder.take(bytes_max as u64 + 1).read_to_end(&mut bytes);
    (outcome.is_ok() || !bytes.is_empty()).then_some(bytes)
}

/// Decodes brotli. It has no magic number, and its decoder does not distinguish a truncated stream
/// from a wrong one. A wrong one fails early, so the decoded part is kept only if it is not small.
fn read_brotli(payload: &[u8], bytes_max: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let decoder = brotli_decompressor::Decompressor::new(payload, BROTLI_BUFFER_BYTES);
    match decoder.take(bytes_max as u64 + 1).read_to_end(&mut bytes) {
        Ok(_) => Some(bytes),
        Err(_) => (bytes.len() > payload.len() / 3).then_some(bytes),
    }
}

/// HTTP allows windows up to 8 MiB (RFC 9659), which bounds the memory of a frame.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;

/// Number of encoded bytes that the brotli decoder reads at once.
const BROTLI_BUFFER_BYTES: usize = 16 << 10;

fn read_zstd(payload: &[u8], bytes_max: usize) -> Option<Vec<u8>> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(payload).ok()?;
    decoder.window_log_max(ZSTD_WINDOW_LOG_MAX).ok()?;
    read_leniently(decoder, bytes_max)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use proptest::prelude::*;
    use std::io::Write;

    const TEXT: &[u8] = b"<p>hello</p><p>hello</p><p>hello</p><p>hello</p><p>hello</p>";

    pub(crate) fn encode(coding: &str, plain: &[u8]) -> Vec<u8> {
        match coding {
            "gzip" => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(plain).unwrap();
                encoder.finish().unwrap()
            }
            "zlib" => {
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(plain).unwrap();
                encoder.finish().unwrap()
            }
            "raw" => {
                let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(plain).unwrap();
                encoder.finish().unwrap()
            }
            "zstd" => zstd::encode_all(plain, 3).unwrap(),
            "br" => uncompressed_brotli(plain),
            _ => unreachable!(),
        }
    }

    /// A brotli stream of uncompressed meta-blocks (RFC 7932, 9.2), at most 65,536 bytes each.
    fn uncompressed_brotli(plain: &[u8]) -> Vec<u8> {
        // WBITS = 16 is the single bit 0; then ISLAST 0, MNIBBLES 00, MLEN-1 in 16 bits,
        // ISUNCOMPRESSED 1.
        let mut out = Vec::new();
        let mut first = true;
        for chunk in plain.chunks(65_536) {
            let size = (chunk.len() - 1) as u32;
            let header = (size << 3) | (1 << 19);
            let (bits, width) = if first { (header << 1, 21) } else { (header, 20) };
            out.extend(&bits.to_le_bytes()[..usize::div_ceil(width, 8)]);
            out.extend(chunk);
            first = false;
        }
        out.push(if first { 0b110 } else { 0b11 });
        out
    }

    pub(crate) fn name(coding: &str) -> String {
        match coding {
            "zlib" | "raw" => "deflate".to_owned(),
            other => other.to_owned(),
        }
    }

    fn check(payload: &[u8], codings: &[&str], expected: &[u8]) {
        let codings: Vec<String> = codings.iter().map(|c| (*c).to_owned()).collect();
        let decoded = decode(Cow::Borrowed(payload), &codings, DECODED_BYTES_MAX);
        assert_eq!(decoded.bytes.as_ref(), expected, "{codings:?}");
        assert!(!decoded.truncated);
    }

    #[test]
    fn every_coding() {
        for coding in ["gzip", "zlib", "raw", "br", "zstd"] {
            check(&encode(coding, TEXT), &[&name(coding)], TEXT);
        }
    }

    #[test]
    fn several_codings_come_off_in_reverse() {
        check(&encode("gzip", &encode("br", TEXT)), &["br", "gzip"], TEXT);
        check(
            &encode("zstd", &encode("zlib", TEXT)),
            &["identity", "deflate", "zstd"],
            TEXT,
        );
    }

    #[test]
    fn false_claims_leave_the_bytes() {
        for coding in ["gzip", "deflate", "br", "zstd", "unheard-of"] {
            check(TEXT, &[coding], TEXT);
            check(b"", &[coding], b"");
        }
        // One true coding under a false one.
        check(&encode("gzip", TEXT), &["gzip", "utf-8"], &encode("gzip", TEXT));
    }

    #[test]
    fn cut_payloads_give_their_part() {
        let long: Vec<u8> = (0..100_000_u32)
            .flat_map(|n| (n.wrapping_mul(2_654_435_761)).to_le_bytes())
            .collect();
        for coding in ["gzip", "zlib", "raw", "br", "zstd"] {
            let encoded = encode(coding, &long);
            let decoded = decode(
                Cow::Borrowed(&encoded[..encoded.len() / 2]),
                &[name(coding)],
                DECODED_BYTES_MAX,
            );
            assert!(
                !decoded.bytes.is_empty() && long.starts_with(&decoded.bytes),
                "{coding}"
            );
        }
    }

    #[test]
    fn bombs_are_cut_and_marked() {
        let zeros = vec![0; 1 << 20];
        for coding in ["gzip", "zlib", "raw", "br", "zstd"] {
            let decoded = decode(Cow::Owned(encode(coding, &zeros)), &[name(coding)], 1000);
            assert_eq!((decoded.bytes.len(), decoded.truncated), (1000, true), "{coding}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn mutated_payloads_do_no_harm(
            plain in proptest::collection::vec(any::<u8>(), 0..300), coding in 0..5_usize,
            at in any::<proptest::sample::Index>(), with in any::<u8>(),
        ) {
            let coding = ["gzip", "zlib", "raw", "br", "zstd"][coding];
            let mut payload = encode(coding, &plain);
            let at = at.index(payload.len());
            payload[at] ^= with;
            let decoded = decode(Cow::Borrowed(&payload), &[name(coding)], 10_000);
            prop_assert!(decoded.bytes.len() <= 10_000);
            if with == 0 {
                prop_assert_eq!(decoded.bytes.as_ref(), plain.as_slice());
            }
        }
    }
}
