//! The checksums that S3 clients send and request: CRC-32, CRC-32C, CRC-64/NVME, SHA-1, SHA-256.
//!
//! A checksum is stored in Base64, as in HTTP, in the attribute `x-amz-checksum-NAME`. The
//! attribute `x-amz-checksum-type` says what it covers. Stored checksums are always computed here
//! from the received bytes, never taken from the client.

use std::collections::BTreeMap;
use std::sync::Arc;

use crc_fast::CrcAlgorithm;
use data_encoding::BASE64;
use http::HeaderMap;
use parking_lot::Mutex;
use s3s::crypto::{Checksum as _, Crc32, Crc32c, Crc64Nvme, Sha1, Sha256};
use s3s::dto::Checksum;
use s3s::{S3Result, TrailingHeaders};

use crate::attributes::PART_SUMS;
use crate::error::{fault, not_implemented};

/// Attribute that says whether a checksum covers the content or the checksums of the parts.
pub(crate) const TYPE: &str = "x-amz-checksum-type";

/// Value of [`TYPE`]: the checksum covers the content.
pub(crate) const FULL_OBJECT: &str = "FULL_OBJECT";

/// Value of [`TYPE`]: the checksum covers the checksums of the parts.
pub(crate) const COMPOSITE: &str = "COMPOSITE";

/// A checksum algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Crc32,
    Crc32c,
    Crc64Nvme,
    Sha1,
    Sha256,
}

pub(crate) const ALL: [Algorithm; 5] = [
    Algorithm::Crc32,
    Algorithm::Crc32c,
    Algorithm::Crc64Nvme,
    Algorithm::Sha1,
    Algorithm::Sha256,
];

impl Algorithm {
    /// Returns the algorithm's name in S3.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Crc32 => "CRC32",
            Self::Crc32c => "CRC32C",
            Self::Crc64Nvme => "CRC64NVME",
            Self::Sha1 => "SHA1",
            Self::Sha256 => "SHA256",
        }
    }

    /// Returns the header, and attribute, that holds the checksum.
    pub(crate) fn header(self) -> &'static str {
        match self {
            Self::Crc32 => "x-amz-checksum-crc32",
            Self::Crc32c => "x-amz-checksum-crc32c",
            Self::Crc64Nvme => "x-amz-checksum-crc64nvme",
            Self::Sha1 => "x-amz-checksum-sha1",
            Self::Sha256 => "x-amz-checksum-sha256",
        }
    }

    fn bytes(self) -> usize {
        match self {
            Self::Crc32 | Self::Crc32c => 4,
            Self::Crc64Nvme => 8,
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }

    /// Parses an algorithm's name in S3.
    pub(crate) fn by_name(name: &str) -> S3Result<Self> {
        let found = ALL.into_iter().find(|algorithm| algorithm.name() == name);
        found.ok_or_else(|| match name {
            "MD5" | "SHA512" | "XXHASH3" | "XXHASH64" | "XXHASH128" => {
                not_implemented(&format!("checksum {name}"))
            }
            _ => fault("InvalidRequest", format!("{name:?} is not a checksum algorithm")),
        })
    }

    /// Returns the algorithm and the value of the checksum in an object's attributes.
    pub(crate) fn of(attributes: &BTreeMap<String, String>) -> Option<(Self, &str)> {
        ALL.into_iter()
            .find_map(|algorithm| Some((algorithm, attributes.get(algorithm.header())?.as_str())))
    }

    /// Returns this algorithm's field.
    pub(crate) fn value(self, sums: &Checksum) -> Option<&str> {
        match self {
            Self::Crc32 => sums.checksum_crc32.as_deref(),
            Self::Crc32c => sums.checksum_crc32c.as_deref(),
            Self::Crc64Nvme => sums.checksum_crc64nvme.as_deref(),
            Self::Sha1 => sums.checksum_sha1.as_deref(),
            Self::Sha256 => sums.checksum_sha256.as_deref(),
        }
    }
}

/// Collects the five checksum fields of any s3s input.
macro_rules! sums_of {
    ($input:expr) => {
        s3s::dto::Checksum {
            checksum_crc32: $input.checksum_crc32.clone(),
            checksum_crc32c: $input.checksum_crc32c.clone(),
            checksum_crc64nvme: $input.checksum_crc64nvme.clone(),
            checksum_sha1: $input.checksum_sha1.clone(),
            checksum_sha256: $input.checksum_sha256.clone(),
            checksum_type: None,
        }
    };
}

/// Sets the five checksum fields of any s3s output.
macro_rules! set_sums {
    ($output:expr, $sums:expr) => {{
        let sums: s3s::dto::Checksum = $sums;
        $output.checksum_crc32 = sums.checksum_crc32;
        $output.checksum_crc32c = sums.checksum_crc32c;
        $output.checksum_crc64nvme = sums.checksum_crc64nvme;
        $output.checksum_sha1 = sums.checksum_sha1;
        $output.checksum_sha256 = sums.checksum_sha256;
    }};
}

pub(crate) use {set_sums, sums_of};

/// Returns the checksum stored with an object.
pub(crate) fn stored(attributes: &BTreeMap<String, String>) -> Checksum {
    let get = |algorithm: Algorithm| attributes.get(algorithm.header()).cloned();
    Checksum {
        checksum_crc32: get(Algorithm::Crc32),
        checksum_crc32c: get(Algorithm::Crc32c),
        checksum_crc64nvme: get(Algorithm::Crc64Nvme),
        checksum_sha1: get(Algorithm::Sha1),
        checksum_sha256: get(Algorithm::Sha256),
        checksum_type: attributes.get(TYPE).map(|kind| kind.clone().into()),
    }
}

/// Returns the stored checksum of part `number` (from 1) of an object; `None` if it was not stored.
pub(crate) fn of_part(attributes: &BTreeMap<String, String>, number: usize) -> Option<Checksum> {
    let (algorithm, _) = Algorithm::of(attributes)?;
    let sum = attributes
        .get(PART_SUMS)?
        .split(',')
        .nth(number.checked_sub(1)?)?;
    let one = BTreeMap::from([(algorithm.header().to_owned(), sum.to_owned())]);
    Some(Checksum {
        checksum_type: attributes.get(TYPE).map(|kind| kind.clone().into()),
        ..stored(&one)
    })
}

/// A checksum declared by the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Declared {
    pub(crate) algorithm: Algorithm,
    /// Value in Base64 if it precedes the content. `None` if it follows in the trailer.
    pub(crate) value: Option<String>,
}

impl Declared {
    /// Reads the checksum headers and the announcement of a trailer.
    pub(crate) fn of(sums: &Checksum, headers: &HeaderMap) -> S3Result<Option<Self>> {
        let mut given = ALL
            .into_iter()
            .filter_map(|algorithm| Some((algorithm, algorithm.value(sums)?)));
        let first = given.next();
        // An object stores one checksum. A second one would be accepted but never compared.
        if given.next().is_some() {
            let detail = "expecting a single x-amz-checksum- header";
            return Err(fault("InvalidRequest", detail));
        }
        if let Some((algorithm, value)) = first {
            check_form(algorithm, value)?;
            let value = Some(value.to_owned());
            return Ok(Some(Self { algorithm, value }));
        }
        let trailer = text(headers, "x-amz-trailer").to_ascii_lowercase();
        let in_trailer =
            |algorithm: &Algorithm| trailer.split(',').any(|name| name.trim() == algorithm.header());
        if let Some(algorithm) = ALL.into_iter().find(in_trailer) {
            return Ok(Some(Self {
                algorithm,
                value: None,
            }));
        }
        match text(headers, "x-amz-sdk-checksum-algorithm") {
            "" => Ok(None),
            name => {
                let detail =
                    format!("x-amz-sdk-checksum-algorithm is {name}, but no header or trailer has it");
                Err(fault("InvalidRequest", detail))
            }
        }
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
}

fn check_form(algorithm: Algorithm, value: &str) -> S3Result<()> {
    match BASE64.decode(value.as_bytes()) {
        Ok(bytes) if bytes.len() == algorithm.bytes() => Ok(()),
        _ => {
            let detail = format!("value for {} header is invalid", algorithm.header());
            Err(fault("BadDigest", detail))
        }
    }
}

/// A checksum computed incrementally.
pub(crate) enum Hasher {
    Crc32(Crc32),
    Crc32c(Crc32c),
    Crc64Nvme(Crc64Nvme),
    Sha1(Sha1),
    Sha256(Sha256),
}

impl Hasher {
    pub(crate) fn new(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Crc32 => Self::Crc32(Crc32::new()),
            Algorithm::Crc32c => Self::Crc32c(Crc32c::new()),
            Algorithm::Crc64Nvme => Self::Crc64Nvme(Crc64Nvme::new()),
            Algorithm::Sha1 => Self::Sha1(Sha1::new()),
            Algorithm::Sha256 => Self::Sha256(Sha256::new()),
        }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Crc32(hasher) => hasher.update(bytes),
            Self::Crc32c(hasher) => hasher.update(bytes),
            Self::Crc64Nvme(hasher) => hasher.update(bytes),
            Self::Sha1(hasher) => hasher.update(bytes),
            Self::Sha256(hasher) => hasher.update(bytes),
        }
    }

    /// Returns the checksum in Base64.
    pub(crate) fn finish(self) -> String {
        match self {
            Self::Crc32(hasher) => BASE64.encode(&hasher.finalize()),
            Self::Crc32c(hasher) => BASE64.encode(&hasher.finalize()),
            Self::Crc64Nvme(hasher) => BASE64.encode(&hasher.finalize()),
            Self::Sha1(hasher) => BASE64.encode(hasher.finalize().as_ref()),
            Self::Sha256(hasher) => BASE64.encode(hasher.finalize().as_ref()),
        }
    }
}

/// Returns the checksum of the parts' checksums, as for multipart uploads: `BASE64-COUNT`.
pub(crate) fn composite(algorithm: Algorithm, parts: &[String]) -> S3Result<String> {
    let mut hasher = Hasher::new(algorithm);
    for part in parts {
        let wrong = |_| fault("InternalError", format!("invalid stored checksum {part:?}"));
        // S3 hashes the bytes of the checksums, not their text.
        hasher.update(&BASE64.decode(part.as_bytes()).map_err(wrong)?);
    }
    Ok(format!("{}-{}", hasher.finish(), parts.len()))
}

/// Combines the CRCs of the parts, given with their lengths in bytes, into the CRC of the whole
/// content.
pub(crate) fn combined(algorithm: Algorithm, parts: &[(String, u64)]) -> S3Result<String> {
    let (crc, bytes) = match algorithm {
        Algorithm::Crc32 => (CrcAlgorithm::Crc32IsoHdlc, 4),
        Algorithm::Crc32c => (CrcAlgorithm::Crc32Iscsi, 4),
        Algorithm::Crc64Nvme => (CrcAlgorithm::Crc64Nvme, 8),
        Algorithm::Sha1 | Algorithm::Sha256 => {
            let detail = format!(
                "{} values of parts cannot be combined into one of the whole object",
                algorithm.name()
            );
            return Err(fault("InvalidRequest", detail));
        }
    };
    let mut joined = None;
    for (part, length) in parts {
        let wrong = || fault("InternalError", format!("invalid stored checksum {part:?}"));
        let decoded = BASE64.decode(part.as_bytes()).map_err(|_| wrong())?;
        if decoded.len() != bytes {
            return Err(wrong());
        }
        let value = decoded
            .iter()
            .fold(0, |value, byte| value << 8 | u64::from(*byte));
        joined = Some(joined.map_or(value, |before| {
            crc_fast::checksum_combine(crc, before, value, *length)
        }));
    }
    // S3 writes a CRC in big-endian order.
    let value = joined.unwrap_or(0).to_be_bytes();
    Ok(BASE64.encode(&value[8 - bytes..]))
}

/// A checksum computed while content is streamed. It is shared by the stream and the check at its
/// end. For SHA-256 it holds no hasher, because the store computes that digest anyway.
#[derive(Clone)]
pub(crate) struct Summing {
    algorithm: Algorithm,
    hasher: Arc<Mutex<Option<Hasher>>>,
}

impl Summing {
    /// Creates a hasher, except for SHA-256: there [`Summing::finish`] receives the store's digest.
    pub(crate) fn new(algorithm: Algorithm) -> Self {
        let hasher = (algorithm != Algorithm::Sha256).then(|| Hasher::new(algorithm));
        Self {
            algorithm,
            hasher: Arc::new(Mutex::new(hasher)),
        }
    }

    pub(crate) fn update(&self, bytes: &[u8]) {
        if let Some(hasher) = self.hasher.lock().as_mut() {
            hasher.update(bytes);
        }
    }

    pub(crate) fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Returns the checksum in Base64. For SHA-256 this is `sha256`, which the store computed.
    pub(crate) fn finish(&self, sha256: &[u8; 32]) -> String {
        let hasher = self.hasher.lock().take();
        hasher.map_or_else(|| BASE64.encode(sha256), Hasher::finish)
    }
}

/// Compares a computed checksum with the declared one, from the header or the trailer.
pub(crate) fn compare(declared: &Declared, trailers: Option<&TrailingHeaders>, found: &str) -> S3Result<()> {
    let header = declared.algorithm.header();
    let in_trailer = || {
        let value = trailers?.read(|headers| headers.get(header)?.to_str().ok().map(str::to_owned));
        value.flatten()
    };
    // The trailer follows the last byte of the content, so it can be read only now.
    let Some(expected) = declared.value.clone().or_else(in_trailer) else {
        return Err(fault(
            "MalformedTrailerError",
            format!("the trailer has no {header}"),
        ));
    };
    if expected == found {
        return Ok(());
    }
    let detail = format!(
        "the {} is {found}, {header} says {expected}",
        declared.algorithm.name()
    );
    Err(fault("BadDigest", detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published check values of the algorithms, for the input `123456789`.
    #[test]
    fn known_values() {
        for (algorithm, hex) in [
            (Algorithm::Crc32, "cbf43926"),
            (Algorithm::Crc32c, "e3069283"),
            (Algorithm::Crc64Nvme, "ae8b14860a799888"),
            (Algorithm::Sha1, "f7c3bc1d808e04732adf679965ccc34ca7ae3441"),
        ] {
            let summing = Summing::new(algorithm);
            summing.update(b"1234");
            summing.update(b"56789");
            let expected = BASE64.encode(&data_encoding::HEXLOWER.decode(hex.as_bytes()).unwrap());
            assert_eq!(summing.finish(&[0; 32]), expected, "{}", algorithm.name());
            assert_eq!(Algorithm::by_name(algorithm.name()).unwrap(), algorithm);
            assert!(check_form(algorithm, &expected).is_ok());
        }
        let summing = Summing::new(Algorithm::Sha256);
        summing.update(b"not looked at");
        assert_eq!(summing.finish(&[7; 32]), BASE64.encode(&[7; 32]));
    }

    /// The combined CRC equals the CRC of the whole, wherever the content is split.
    #[test]
    fn parts_are_joined() {
        let content: Vec<u8> = (0..10_000u32).map(|n| (n * 7 % 251) as u8).collect();
        for algorithm in [Algorithm::Crc32, Algorithm::Crc32c, Algorithm::Crc64Nvme] {
            let sum = |bytes: &[u8]| {
                let mut hasher = Hasher::new(algorithm);
                hasher.update(bytes);
                hasher.finish()
            };
            for piece in [1, 7, 999, 5000, 10_000] {
                let parts: Vec<_> = content
                    .chunks(piece)
                    .map(|part| (sum(part), part.len() as u64))
                    .collect();
                assert_eq!(
                    combined(algorithm, &parts).unwrap(),
                    sum(&content),
                    "{} {piece}",
                    algorithm.name()
                );
            }
        }
        assert!(combined(Algorithm::Sha1, &[]).is_err());
        assert!(combined(Algorithm::Crc32, &[("AA==".to_owned(), 1)]).is_err());
        assert_eq!(
            composite(Algorithm::Crc32, &["AAAAAA==".to_owned()]).unwrap(),
            "IUTfHA==-1"
        );
    }

    #[test]
    fn parts_have_theirs() {
        let mut attributes: BTreeMap<_, _> = [("x-amz-checksum-crc32", "AAAAAA==-2"), (TYPE, COMPOSITE)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        assert_eq!(of_part(&attributes, 1), None);
        attributes.insert(PART_SUMS.to_owned(), "AAAAAQ==,AAAAAg==".to_owned());
        let second = of_part(&attributes, 2).unwrap();
        assert_eq!(second.checksum_crc32.as_deref(), Some("AAAAAg=="));
        assert_eq!(second.checksum_type.unwrap().as_str(), COMPOSITE);
        assert_eq!((of_part(&attributes, 0), of_part(&attributes, 3)), (None, None));
    }

    #[test]
    fn declared_in_one_place_only() {
        let mut sums = Checksum::default();
        let mut headers = HeaderMap::new();
        assert_eq!(Declared::of(&sums, &headers).unwrap(), None);
        headers.insert("x-amz-sdk-checksum-algorithm", "CRC32".parse().unwrap());
        assert!(Declared::of(&sums, &headers).is_err(), "announced, but nowhere");
        headers.insert("x-amz-trailer", "X-Amz-Checksum-CRC32".parse().unwrap());
        let declared = Declared::of(&sums, &headers).unwrap().unwrap();
        assert_eq!((declared.algorithm, &declared.value), (Algorithm::Crc32, &None));
        assert!(compare(&declared, None, "AAAAAA==").is_err());
        sums.checksum_crc32 = Some("AAAAAA==".to_owned());
        let declared = Declared::of(&sums, &headers).unwrap().unwrap();
        assert!(compare(&declared, None, "AAAAAA==").is_ok());
        assert_eq!(
            compare(&declared, None, "AAAAAQ==").unwrap_err().code().as_str(),
            "BadDigest"
        );
        sums.checksum_sha1 = Some("x".to_owned());
        assert!(Declared::of(&sums, &headers).is_err(), "two headers");
        sums.checksum_crc32 = None;
        assert!(Declared::of(&sums, &headers).is_err(), "no Base64 of 20 bytes");
    }
}
