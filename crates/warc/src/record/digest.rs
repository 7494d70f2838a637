//! Digests as declared in WARC: `algorithm:value` with the value in Base32 or hexadecimal.

use std::io::{self, Read};

use data_encoding::{BASE32, BASE32_NOPAD, BASE64, BASE64URL, HEXLOWER_PERMISSIVE};
use md5::Md5;
use sha1::{Digest, Sha1};
use sha2::{Sha256, Sha512};

/// Algorithms that can be verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Algorithm {
    Md5,
    Sha1,
    Sha256,
    Sha512,
}

impl Algorithm {
    fn parse(label: &str) -> Option<Algorithm> {
        let names = [
            ("sha1", Algorithm::Sha1),
            ("sha-1", Algorithm::Sha1),
            ("sha256", Algorithm::Sha256),
            ("sha-256", Algorithm::Sha256),
            ("sha512", Algorithm::Sha512),
            ("sha-512", Algorithm::Sha512),
            ("md5", Algorithm::Md5),
        ];
        names
            .into_iter()
            .find(|(name, _)| label.eq_ignore_ascii_case(name))
            .map(|(_, algorithm)| algorithm)
    }

    fn bytes(self) -> usize {
        match self {
            Algorithm::Md5 => 16,
            Algorithm::Sha1 => 20,
            Algorithm::Sha256 => 32,
            Algorithm::Sha512 => 64,
        }
    }
}

/// A digest declared by a header.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Declared {
    pub(crate) algorithm: Algorithm,
    pub(crate) value: Vec<u8>,
}

impl Declared {
    /// Parses `algorithm:value`. Returns `None` if either has an unknown form.
    pub fn parse(text: &str) -> Option<Declared> {
        let (label, value) = text.trim().split_once(':')?;
        let algorithm = Algorithm::parse(label.trim())?;
        let value = decode(value.trim().as_bytes(), algorithm.bytes())?;
        Some(Declared { algorithm, value })
    }

    /// Reads content to its end. Returns whether it has this digest.
    ///
    /// # Errors
    /// Errors of `content`.
    pub fn is_of(&self, mut content: impl Read) -> io::Result<bool> {
        let mut hasher = Hasher::new(self.algorithm);
        let mut piece = vec![0; 64 << 10];
        loop {
            match content.read(&mut piece)? {
                0 => return Ok(hasher.finish() == self.value),
                bytes => hasher.update(&piece[..bytes]),
            }
        }
    }
}

/// Decodes a digest of `bytes` bytes: hexadecimal, Base32 with or without padding, Base64 in either
/// alphabet.
fn decode(text: &[u8], bytes: usize) -> Option<Vec<u8>> {
    let upper = text.to_ascii_uppercase();
    let forms = [
        HEXLOWER_PERMISSIVE.decode(text),
        BASE32_NOPAD.decode(&upper),
        BASE32.decode(&upper),
        BASE64.decode(text),
        BASE64URL.decode(text),
    ];
    // The length decides: the same text may be valid in several encodings.
    forms.into_iter().flatten().find(|value| value.len() == bytes)
}

/// A digest computed incrementally.
#[derive(Clone)]
pub(crate) enum Hasher {
    Md5(Md5),
    Sha1(Sha1),
    Sha256(Sha256),
    Sha512(Box<Sha512>),
}

impl Hasher {
    pub(crate) fn new(algorithm: Algorithm) -> Hasher {
        match algorithm {
            Algorithm::Md5 => Hasher::Md5(Md5::new()),
            Algorithm::Sha1 => Hasher::Sha1(Sha1::new()),
            Algorithm::Sha256 => Hasher::Sha256(Sha256::new()),
            Algorithm::Sha512 => Hasher::Sha512(Box::new(Sha512::new())),
        }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match self {
            Hasher::Md5(hasher) => hasher.update(bytes),
            Hasher::Sha1(hasher) => hasher.update(bytes),
            Hasher::Sha256(hasher) => hasher.update(bytes),
            Hasher::Sha512(hasher) => hasher.update(bytes),
        }
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        match self {
            Hasher::Md5(hasher) => hasher.finalize().to_vec(),
            Hasher::Sha1(hasher) => hasher.finalize().to_vec(),
            Hasher::Sha256(hasher) => hasher.finalize().to_vec(),
            Hasher::Sha512(hasher) => hasher.finalize().to_vec(),
        }
    }
}

/// Returns a digest in Base32, the usual form in archives.
pub(crate) fn base32(value: &[u8]) -> String {
    BASE32.encode(value)
}

/// Returns the SHA-1 of `bytes` in Base32, without a label.
pub(crate) fn sha1_base32(bytes: &[u8]) -> String {
    base32(&Sha1::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_forms_mean_the_same() {
        let value = Sha1::digest(b"x").to_vec();
        let base32 = base32(&value);
        let hex = HEXLOWER_PERMISSIVE.encode(&value);
        let texts = [
            format!("sha1:{base32}"),
            format!("SHA-1: {}", base32.to_lowercase()),
            format!("sha1:{hex}"),
            format!("sha1:{}", hex.to_uppercase()),
        ];
        for text in texts {
            let expected = Declared {
                algorithm: Algorithm::Sha1,
                value: value.clone(),
            };
            assert_eq!(Declared::parse(&text), Some(expected), "{text}");
        }
        let sha256 = format!("sha256:{}", BASE32.encode(&Sha256::digest(b"x")));
        assert_eq!(
            Declared::parse(&sha256).map(|d| d.algorithm),
            Some(Algorithm::Sha256)
        );
        for text in ["", "sha1", "sha1:", "sha1:abc", "crc:AB", "md5:zz"] {
            assert_eq!(Declared::parse(text), None, "{text}");
        }
    }
}
