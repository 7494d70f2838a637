//! Signatures: HMAC-SHA256, under the cluster's secret, over everything in a request that
//! determines its effect.
//!
//! Signed text, each line ended by a newline: method, path with query, caller, layout number and
//! digest, time in milliseconds, nonce, BLAKE3 of the request's JSON. Raw content is not signed: it
//! is compared with the digest in the signed metadata (`prepare`, `stage-whole`) before it becomes
//! visible, and with the table when it is read.

use data_encoding::HEXLOWER;
use hmac::{Hmac, Mac as _};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use sha2::Sha256;
use store::LayoutTag;

use super::nonces::Nonces;
use crate::Secret;

/// Largest difference between the clocks of two machines, in milliseconds. Less would shut out
/// machines whose clocks are not set. Requests are remembered for this long, so that none is
/// carried out twice.
pub(crate) const CLOCKS_APART_MS_MAX: u64 = 5 * 60 * 1000;

const SIGNATURE: HeaderName = HeaderName::from_static("weft-signature");
const CALLER: HeaderName = HeaderName::from_static("weft-caller");
const LAYOUT: HeaderName = HeaderName::from_static("weft-layout");
const TIME: HeaderName = HeaderName::from_static("weft-time");
const NONCE: HeaderName = HeaderName::from_static("weft-nonce");
const ASK: HeaderName = HeaderName::from_static("weft-ask");

/// The signed properties of a request, in addition to the method and the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Signed {
    /// The caller's name, for logs.
    pub(crate) caller: String,
    /// The layout of the request.
    pub(crate) under: LayoutTag,
    /// When it was signed.
    pub(crate) time_ms: u64,
    /// A random number.
    pub(crate) nonce: u128,
    /// BLAKE3 of the JSON part of the body.
    pub(crate) ask: [u8; 32],
}

/// Admits requests that are signed with the secret.
#[derive(Debug)]
pub(crate) struct Gate {
    secret: Secret,
    nonces: Nonces,
}

impl Signed {
    /// Returns the properties of a request signed now, with a random nonce.
    pub(crate) fn now(caller: &str, under: LayoutTag, ask: &[u8]) -> Self {
        Self {
            caller: caller.to_owned(),
            under,
            time_ms: system::wall_ms(),
            nonce: system::random(),
            ask: *blake3::hash(ask).as_bytes(),
        }
    }

    /// Returns the headers of a request.
    pub(crate) fn headers(&self, secret: &Secret, method: &Method, path: &str) -> HeaderMap {
        let mut headers = HeaderMap::with_capacity(8);
        let mut set = |name, text: String| {
            // All these texts are valid header values: checked names, numbers and digits. Omitting
            // a header would only make the request unsigned.
            if let Ok(value) = HeaderValue::try_from(text) {
                headers.insert(name, value);
            }
        };
        set(
            SIGNATURE,
            HEXLOWER.encode(&self.mac(secret, method, path).finalize().into_bytes()),
        );
        set(CALLER, self.caller.clone());
        set(LAYOUT, self.layout_text());
        set(TIME, self.time_ms.to_string());
        set(NONCE, format!("{:032x}", self.nonce));
        set(ASK, HEXLOWER.encode(&self.ask));
        headers
    }

    fn of_headers(headers: &HeaderMap) -> Option<Self> {
        let text = |name| headers.get(name)?.to_str().ok();
        let (number, digest) = text(LAYOUT)?.split_once('-')?;
        Some(Self {
            caller: text(CALLER)?.to_owned(),
            under: LayoutTag {
                number: number.parse().ok()?,
                digest: digest_of(digest)?,
            },
            time_ms: text(TIME)?.parse().ok()?,
            nonce: u128::from_str_radix(text(NONCE)?, 16).ok()?,
            ask: digest_of(text(ASK)?)?,
        })
    }

    fn layout_text(&self) -> String {
        format!("{}-{}", self.under.number, HEXLOWER.encode(&self.under.digest))
    }

    fn mac(&self, secret: &Secret, method: &Method, path: &str) -> Hmac<Sha256> {
        let text = format!(
            "{method}\n{path}\n{}\n{}\n{}\n{:032x}\n{}\n",
            self.caller,
            self.layout_text(),
            self.time_ms,
            self.nonce,
            HEXLOWER.encode(&self.ask),
        );
        secret.mac().chain_update(text)
    }
}

impl Gate {
    /// Makes a gate for this secret.
    pub(crate) fn new(secret: Secret) -> Self {
        Self {
            secret,
            nonces: Nonces::default(),
        }
    }

    /// Returns the signed properties, or `None` if the request is not signed with the secret or too
    /// old.
    pub(crate) fn check(&self, method: &Method, path: &str, headers: &HeaderMap) -> Option<Signed> {
        let signed = Signed::of_headers(headers)?;
        let signature = HEXLOWER.decode(headers.get(SIGNATURE)?.as_bytes()).ok()?;
        // Compares in constant time.
        signed
            .mac(&self.secret, method, path)
            .verify_slice(&signature)
            .ok()?;
        (signed.time_ms.abs_diff(system::wall_ms()) <= CLOCKS_APART_MS_MAX).then_some(signed)
    }

    /// Returns whether a request that changes something arrives for the first time.
    pub(crate) fn admit(&self, signed: &Signed) -> bool {
        let oldest_ms = system::wall_ms().saturating_sub(CLOCKS_APART_MS_MAX);
        self.nonces.admit(signed.time_ms, signed.nonce, oldest_ms)
    }
}

fn digest_of(text: &str) -> Option<[u8; 32]> {
    HEXLOWER.decode(text.as_bytes()).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signed(time_ms: u64) -> Signed {
        let under = LayoutTag {
            number: 3,
            digest: [7; 32],
        };
        Signed {
            time_ms,
            ..Signed::now("n1", under, b"ask")
        }
    }

    #[test]
    fn only_what_was_signed_passes() {
        let secret = Secret::random();
        let gate = Gate::new(secret.clone());
        let signed = signed(system::wall_ms());
        let headers = signed.headers(&secret, &Method::POST, "/v1/x?y=1");
        assert_eq!(
            gate.check(&Method::POST, "/v1/x?y=1", &headers),
            Some(signed.clone())
        );
        assert_eq!(gate.check(&Method::GET, "/v1/x?y=1", &headers), None);
        assert_eq!(gate.check(&Method::POST, "/v1/x?y=2", &headers), None);
        let other = Gate::new(Secret::random());
        assert_eq!(other.check(&Method::POST, "/v1/x?y=1", &headers), None);
        for name in [SIGNATURE, CALLER, LAYOUT, TIME, NONCE, ASK] {
            let mut without = headers.clone();
            let value = without.remove(&name).unwrap().to_str().unwrap().to_owned();
            assert_eq!(
                gate.check(&Method::POST, "/v1/x?y=1", &without),
                None,
                "without {name}"
            );
            let changed = value.replacen(|c: char| c.is_ascii_alphanumeric(), "5", 1);
            let changed = if changed == value {
                value.replacen('5', "6", 1)
            } else {
                changed
            };
            let mut with = headers.clone();
            with.insert(&name, changed.parse().unwrap());
            assert_eq!(
                gate.check(&Method::POST, "/v1/x?y=1", &with),
                None,
                "other {name}"
            );
        }
    }

    #[test]
    fn old_and_early_requests_are_refused() {
        let secret = Secret::random();
        let gate = Gate::new(secret.clone());
        let now = system::wall_ms();
        for (time_ms, passes) in [
            (now - CLOCKS_APART_MS_MAX - 1000, false),
            (now - CLOCKS_APART_MS_MAX + 60_000, true),
            (now + CLOCKS_APART_MS_MAX - 60_000, true),
            (now + CLOCKS_APART_MS_MAX + 60_000, false),
        ] {
            let headers = signed(time_ms).headers(&secret, &Method::POST, "/v1/x");
            assert_eq!(gate.check(&Method::POST, "/v1/x", &headers).is_some(), passes);
        }
    }
}
