//! Payload digests in the format of the capture row.

use data_encoding::{BASE32, HEXLOWER_PERMISSIVE};

/// The digest of a revisit that declares none: it has no payload to compute one from.
pub(crate) const UNKNOWN: &str = "-";

/// Digests of an empty payload: SHA-1 in Base32, SHA-256 in hexadecimal. They identify no content.
pub const EMPTY_DIGESTS: [&str; 2] = [
    "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
];

/// Returns a declared digest without its label. A SHA-1 is returned in upper-case Base32 whatever
/// its encoding was, so that equal payloads have equal digests. Digests of other algorithms are
/// returned as declared.
pub fn declared(value: &str) -> Option<String> {
    let (label, digest) = match value.trim().split_once(':') {
        Some((label, digest)) => (label.trim(), digest.trim()),
        None => ("sha1", value.trim()),
    };
    if digest.is_empty() || digest == UNKNOWN || digest.bytes().any(|b| b <= b' ' || b == 0x7f) {
        return None;
    }
    if label.eq_ignore_ascii_case("sha1") || label.eq_ignore_ascii_case("sha-1") {
        return Some(sha1_in_base32(digest));
    }
    Some(digest.to_owned())
}

fn sha1_in_base32(digest: &str) -> String {
    match HEXLOWER_PERMISSIVE.decode(digest.as_bytes()) {
        Ok(bytes) if bytes.len() == 20 => BASE32.encode(&bytes),
        _ => digest.to_ascii_uppercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_stripped_and_sha1_is_base32() {
        let check =
            |value: &str, expected: Option<&str>| assert_eq!(declared(value).as_deref(), expected, "{value}");
        check(
            "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
            Some("3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"),
        );
        check(
            "sha1:3i42h3s6nnfq2msvx7xzkyayscx5qbyj",
            Some("3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"),
        );
        check(
            " 3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ ",
            Some("3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"),
        );
        check(
            "SHA-1:da39a3ee5e6b4b0d3255bfef95601890afd80709",
            Some("3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"),
        );
        check(
            "md5:d41d8cd98f00b204e9800998ecf8427e",
            Some("d41d8cd98f00b204e9800998ecf8427e"),
        );
        check(
            "sha256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
            Some("47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="),
        );
        check("", None);
        check("-", None);
        check("sha1:", None);
    }
}
