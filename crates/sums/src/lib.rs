//! MD5 and SHA-256 over content as it passes.
//!
//! A crate of its own for one reason: the digests are generic code, which is compiled with whoever uses it. Here that is
//! done at full optimisation, whatever the crates above choose (MD5 without it is several times slower).
//! Nothing in here may be inlined into them.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

use md5::Digest;

/// MD5, being computed.
#[derive(Clone)]
pub struct Md5(md5::Md5);

/// SHA-256, being computed.
#[derive(Clone)]
pub struct Sha256(sha2::Sha256);

impl Default for Md5 {
    #[inline(never)]
    fn default() -> Self {
        Self(md5::Md5::new())
    }
}

impl Md5 {
    /// Takes the next bytes.
    #[inline(never)]
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest.
    #[inline(never)]
    pub fn finish(self) -> [u8; 16] {
        self.0.finalize().into()
    }

    /// The digest of bytes at hand.
    #[inline(never)]
    pub fn of(bytes: &[u8]) -> [u8; 16] {
        md5::Md5::digest(bytes).into()
    }
}

impl Default for Sha256 {
    #[inline(never)]
    fn default() -> Self {
        Self(sha2::Sha256::new())
    }
}

impl Sha256 {
    /// Takes the next bytes.
    #[inline(never)]
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest.
    #[inline(never)]
    pub fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }

    /// The digest of bytes at hand.
    #[inline(never)]
    pub fn of(bytes: &[u8]) -> [u8; 32] {
        sha2::Sha256::digest(bytes).into()
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
