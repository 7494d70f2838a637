//! Incremental MD5 and SHA-256.
//!
//! A separate crate because the digests are generic code, compiled into the crate that uses them.
//! Here they are compiled at full optimisation, whatever other crates use (without it MD5 is
//! several times slower). So nothing in this crate may be inlined into others.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod lanes;

use std::io;

use sha2::Digest;

pub use lanes::{LANES, Md5};

/// A SHA-256 computation.
///
/// ```
/// use digests::Sha256;
///
/// let mut sha256 = Sha256::default();
/// sha256.update(b"con");
/// sha256.update(b"tent");
/// assert_eq!(sha256.finish(), Sha256::of(b"content"));
/// ```
#[derive(Clone)]
pub struct Sha256(sha2::Sha256);

impl Default for Sha256 {
    #[inline(never)]
    fn default() -> Self {
        Self(sha2::Sha256::new())
    }
}

impl Sha256 {
    /// Adds bytes.
    #[inline(never)]
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the digest.
    #[inline(never)]
    pub fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }

    /// Returns the digest of `bytes`.
    #[inline(never)]
    pub fn of(bytes: &[u8]) -> [u8; 32] {
        sha2::Sha256::digest(bytes).into()
    }
}

impl io::Write for Sha256 {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 1321 and FIPS 180, whole and in pieces.
    #[test]
    fn published_examples() {
        let md5 = 0x9001_5098_3cd2_4fb0_d696_3f7d_28e1_7f72_u128.to_be_bytes();
        let sha256 = [
            0xba78_16bf_8f01_cfea_4141_40de_5dae_2223_u128.to_be_bytes(),
            0xb003_61a3_9617_7a9c_b410_ff61_f200_15ad_u128.to_be_bytes(),
        ]
        .concat();
        assert_eq!(Md5::of(b"abc"), md5);
        assert_eq!(Sha256::of(b"abc").to_vec(), sha256);
        let (mut first, mut second) = (Md5::default(), Sha256::default());
        for byte in b"abc" {
            first.update(&[*byte]);
            second.update(&[*byte]);
        }
        assert_eq!(first.finish(), md5);
        assert_eq!(second.finish().to_vec(), sha256);
    }
}
