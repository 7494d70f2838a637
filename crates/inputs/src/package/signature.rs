//! Verifies who signed a package: the signature of the digest in `datapackage-digest.json`, as
//! ArchiveWeb.page and authsign write it (WACZ Signing and Verification 0.1.0).
//!
//! A signature is ECDSA with SHA-256, with a key on the curve P-256 or P-384, of the text of the
//! digest. An anonymous one comes with its public key. One of a domain comes with the certificate of
//! that domain. Issuers of certificates, their revocation and the time stamp are not checked: the
//! first two need lists of other machines, and all of them need a decision whom to trust.

use data_encoding::BASE64;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName, SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer};
use serde::Deserialize;
use webpki::ring::{ECDSA_P256_SHA256, ECDSA_P384_SHA256};
use webpki::{EndEntityCert, RawPublicKeyEntity};

/// `signedData` of a package.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SignedData {
    hash: String,
    signature: String,
    /// SPKI in Base64, of an anonymous signature.
    public_key: Option<String>,
    domain: Option<String>,
    /// Certificates in PEM; the first is that of the domain.
    domain_cert: Option<String>,
}

/// What a signature says about a package.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verification {
    /// It is correct. The text names the signer, and what was not checked.
    Correct(String),
    /// It is wrong, for this reason.
    Wrong(String),
    /// It cannot be verified, for this reason.
    Unknown(String),
}

/// Verifies a signature of one form with one algorithm.
type Verify<'a> = &'a dyn Fn(&dyn SignatureVerificationAlgorithm, &[u8]) -> Result<(), webpki::Error>;

impl SignedData {
    /// Verifies the signature of the digest that the same file declares.
    pub(super) fn verify(&self, declared: &str) -> Verification {
        if self.hash != declared {
            return wrong(format!("it is of {}, expected {declared}", self.hash));
        }
        let Some(signature) = base64(&self.signature) else {
            return wrong("it is not Base64");
        };
        match (&self.domain_cert, &self.public_key) {
            (Some(certificates), _) => self.verify_domain(certificates, &signature),
            (None, Some(key)) => self.verify_anonymous(key, &signature),
            (None, None) => Verification::Unknown("it comes with neither a key nor a certificate".to_owned()),
        }
    }

    fn verify_anonymous(&self, key: &str, signature: &[u8]) -> Verification {
        let Some(key) = base64(key) else {
            return wrong("its public key is not Base64");
        };
        let key = SubjectPublicKeyInfoDer::from(key);
        let Ok(key) = RawPublicKeyEntity::try_from(&key) else {
            return wrong("its public key cannot be read");
        };
        let verify: Verify<'_> =
            &|algorithm, signature| key.verify_signature(algorithm, self.hash.as_bytes(), signature);
        of_key(
            signature,
            verify,
            "signed anonymously: the signature is correct for the key in the package; the owner of the key is unknown"
                .to_owned(),
        )
    }

    fn verify_domain(&self, certificates: &str, signature: &[u8]) -> Verification {
        let Ok(certificate) = CertificateDer::from_pem_slice(certificates.as_bytes()) else {
            return wrong("its certificate is not PEM");
        };
        let Ok(certificate) = EndEntityCert::try_from(&certificate) else {
            return wrong("its certificate cannot be read");
        };
        let domain = self.domain.as_deref().unwrap_or_default();
        let is_of_domain = ServerName::try_from(domain)
            .is_ok_and(|name| certificate.verify_is_valid_for_subject_name(&name).is_ok());
        if !is_of_domain {
            return wrong(format!("its certificate is not of the domain {domain:?}"));
        }
        let verify: Verify<'_> =
            &|algorithm, signature| certificate.verify_signature(algorithm, self.hash.as_bytes(), signature);
        of_key(
            signature,
            verify,
            format!(
                "signed for {domain}: the signature is correct for the certificate in the package, which is of this \
                 domain; issuer, revocation and validity of the certificate and the time stamp were not checked"
            ),
        )
    }
}

fn wrong(why: impl Into<String>) -> Verification {
    Verification::Wrong(why.into())
}

/// Verifies a signature with each algorithm, in each form.
fn of_key(signature: &[u8], verify: Verify<'_>, correct: String) -> Verification {
    let mut is_known_key = false;
    for algorithm in [ECDSA_P256_SHA256, ECDSA_P384_SHA256] {
        for form in forms(signature) {
            match verify(algorithm, &form) {
                Ok(()) => return Verification::Correct(correct),
                Err(webpki::Error::InvalidSignatureForPublicKey) => is_known_key = true,
                // The key is of another kind than the algorithm.
                Err(_) => {}
            }
        }
    }
    if is_known_key {
        wrong("it was not made with its key for this digest")
    } else {
        Verification::Unknown("its key is neither on the curve P-256 nor on P-384".to_owned())
    }
}

/// Returns the signature unchanged, which may be ASN.1. If it may be the two plain numbers that
/// browsers write, also returns it converted to ASN.1.
fn forms(signature: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![signature.to_vec()];
    if matches!(signature.len(), 64 | 96) {
        forms.push(in_asn1(signature));
    }
    forms
}

/// Returns two numbers of equal length as the sequence of two integers (RFC 3279, 2.2.3). The
/// numbers have at most 48 bytes, so that each length takes one byte.
fn in_asn1(numbers: &[u8]) -> Vec<u8> {
    let (r, s) = numbers.split_at(numbers.len() / 2);
    let mut integers = Vec::with_capacity(numbers.len() + 6);
    for number in [r, s] {
        let zeros = number.iter().take_while(|byte| **byte == 0).count();
        let digits = &number[zeros..];
        // Without it the number would be negative, or have no byte.
        let needs_zero = digits.first().is_none_or(|byte| byte & 0x80 != 0);
        integers.extend([0x02, digits.len() as u8 + u8::from(needs_zero)]);
        integers.extend(needs_zero.then_some(0));
        integers.extend_from_slice(digits);
    }
    let mut sequence = vec![0x30, integers.len() as u8];
    sequence.extend(integers);
    sequence
}

fn base64(text: &str) -> Option<Vec<u8>> {
    let text: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    BASE64.decode(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "sha256:adfa35e98546592d56df1cfd8e30510e5c5180e5edeb733c2ca411fcc875e270";

    /// Signatures made with the Python package cryptography: P-384 without a certificate, and P-256
    /// with one of signer.example.
    const KEY: &str = "MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEW0YzyLfs6Wx/rpbKS1Dj8EpqdOzVsgdAkeqT2emevpWbEJOzeXe5Di3LC1DqOCzitr5We62CltjcoM0yzdSPojSAfQRCA0oMzzw6MMlA066OPslGgWF4MAl/w0Lqjwrp";
    const OF_KEY: [&str; 2] = [
        "2vTByhKi607xlCy+Nfnq5AmSzjV6ge4bsMMrXM8k8yw8wRTQa+8/7O9Fachx4L/uQc7Yc7dWH5fnqAbtabjgu42l5kwRJRpFVSv13kVDPieR4KUFbVw4dkKFt3L31tNm",
        "MGUCMQDa9MHKEqLrTvGULL41+erkCZLONXqB7huwwytczyTzLDzBFNBr7z/s70VpyHHgv+4CMEHO2HO3Vh+X56gG7Wm44LuNpeZMESUaRVUr9d5FQz4nkeClBW1cOHZChbdy99bTZg==",
    ];
    const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\n\
         MIIBPTCB5KADAgECAgEHMAoGCCqGSM49BAMCMBkxFzAVBgNVBAMMDnNpZ25lci5l\n\
         eGFtcGxlMB4XDTI0MDEwMTAwMDAwMFoXDTI0MDQwMTAwMDAwMFowGTEXMBUGA1UE\n\
         AwwOc2lnbmVyLmV4YW1wbGUwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASPdwFs\n\
         PYMFcqR43gIYZdgMPuWCxpcBEHVEWq+SPdSyMdr8r8VhQi5ejnjqF2fN9zk/J5aO\n\
         ASkBItS9mnqsEsYlox0wGzAZBgNVHREEEjAQgg5zaWduZXIuZXhhbXBsZTAKBggq\n\
         hkjOPQQDAgNIADBFAiAe6UmFnMNqFpUXa1O8TzeUywiL6aW8X2nD5KHfzZb7lgIh\n\
         ALS0sZwNvrhYPPvhIwpgDlNd1hX+KiwP+l0RBrJqdnne\n\
         -----END CERTIFICATE-----\n";
    const OF_CERTIFICATE: [&str; 2] = [
        "MEUCIAFagsodBvzW9Alf5z0bcBckWKU1GbRmTk8fPqhfOEhFAiEAz5dKtmmrCsz+1A4lFQilVP4dsuUt/KeQzGaQpJJMm4E=",
        "AVqCyh0G/Nb0CV/nPRtwFyRYpTUZtGZOTx8+qF84SEXPl0q2aasKzP7UDiUVCKVU/h2y5S38p5DMZpCkkkybgQ==",
    ];

    fn anonymous(signature: &str) -> SignedData {
        SignedData {
            hash: HASH.into(),
            signature: signature.into(),
            public_key: Some(KEY.into()),
            ..SignedData::default()
        }
    }

    fn of_domain(signature: &str) -> SignedData {
        SignedData {
            hash: HASH.into(),
            signature: signature.into(),
            domain: Some("signer.example".into()),
            domain_cert: Some(CERTIFICATE.into()),
            ..SignedData::default()
        }
    }

    #[track_caller]
    fn check_correct(signed: &SignedData, expected: &str) {
        match signed.verify(HASH) {
            Verification::Correct(text) => assert!(text.contains(expected), "{text}"),
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn check_wrong(signed: &SignedData, declared: &str, expected: &str) {
        match signed.verify(declared) {
            Verification::Wrong(why) => assert!(why.contains(expected), "{why}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn correct_signatures_in_both_forms() {
        for signature in OF_KEY {
            check_correct(&anonymous(signature), "anonymously");
        }
        for signature in OF_CERTIFICATE {
            check_correct(&of_domain(signature), "signed for signer.example");
        }
    }

    #[test]
    fn certificates_have_any_line_ends_and_the_first_counts() {
        for certificates in [
            CERTIFICATE.replace('\n', "\r\n"),
            CERTIFICATE.trim_end().to_owned(),
            format!(
                "signer.example\n{CERTIFICATE}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
            ),
        ] {
            let signed = SignedData {
                domain_cert: Some(certificates),
                ..of_domain(OF_CERTIFICATE[0])
            };
            check_correct(&signed, "signed for signer.example");
        }
    }

    #[test]
    fn wrong_signatures() {
        let other_hash = HASH.replace("adfa", "0000");
        let of_other_hash = SignedData {
            hash: other_hash.clone(),
            ..anonymous(OF_KEY[0])
        };
        check_wrong(&anonymous(OF_KEY[0]), &other_hash, "expected sha256:0000");
        check_wrong(&of_other_hash, &other_hash, "not made with its key");
        for signature in [OF_CERTIFICATE[0], OF_CERTIFICATE[1], "", "AAAA"] {
            check_wrong(&anonymous(signature), HASH, "not made with its key");
        }
        check_wrong(&anonymous("?"), HASH, "not Base64");
        check_wrong(&of_domain(OF_KEY[0]), HASH, "not made with its key");
        for domain in [None, Some("other.example".to_owned()), Some("?".to_owned())] {
            let signed = SignedData {
                domain,
                ..of_domain(OF_CERTIFICATE[0])
            };
            check_wrong(&signed, HASH, "not of the domain");
        }
        for (certificate, expected) in [
            ("", "not PEM"),
            (
                "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----",
                "cannot be read",
            ),
        ] {
            let signed = SignedData {
                domain_cert: Some(certificate.into()),
                ..of_domain(OF_CERTIFICATE[0])
            };
            check_wrong(&signed, HASH, expected);
        }
    }

    #[test]
    fn a_signature_without_key_is_not_verified() {
        let signed = SignedData {
            public_key: None,
            ..anonymous(OF_KEY[0])
        };
        assert!(matches!(signed.verify(HASH), Verification::Unknown(_)));
    }

    #[test]
    fn numbers_are_written_as_integers() {
        let mut numbers = [0; 64];
        (numbers[30], numbers[31], numbers[63]) = (1, 2, 0x80);
        assert_eq!(in_asn1(&numbers), [0x30, 8, 0x02, 2, 1, 2, 0x02, 2, 0, 0x80]);
        assert_eq!(in_asn1(&[0; 64]), [0x30, 6, 0x02, 1, 0, 0x02, 1, 0]);
    }
}
