//! How a request is signed, parsed so strictly that s3s cannot find a different signature.

use http::header::AUTHORIZATION;

use super::head::Head;
use crate::refusal::Refusal;

/// The region suggested to clients that signed for an invalid one. All valid regions are accepted.
pub(super) const REGION: &str = "us-east-1";

/// Algorithm of version 4 signatures.
const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// Where the signature is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignaturePlace {
    Header,
    Query,
}

/// A request's signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Signature {
    /// No signature, or one in a form.
    Unsigned,
    /// HMAC-SHA1 of version 2.
    Version2(SignaturePlace),
    /// HMAC-SHA256 of version 4.
    Version4 {
        place: SignaturePlace,
        region: String,
        /// Names of the signed headers, as sent.
        signed: Vec<String>,
    },
}

/// How a request is signed, in the terms of S3's access log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SigningMethod {
    /// `SigV2` or `SigV4`.
    pub(crate) version: Option<&'static str>,
    /// `AuthHeader`, `QueryString` or `POST`.
    pub(crate) place: Option<&'static str>,
}

impl Signature {
    /// Determines how a request is signed.
    ///
    /// # Errors
    /// If it has several signatures, or one that cannot be parsed.
    pub(super) fn of(head: Head<'_>) -> Result<Self, Refusal> {
        let headers: Vec<_> = head.headers.get_all(AUTHORIZATION).iter().collect();
        let version_2 = head.asks("Signature");
        let version_4 = head.asks("X-Amz-Signature");
        // s3s tries these in order and uses the first. With several signatures, the one checked
        // here and the one verified by s3s could differ.
        if headers.len() + usize::from(version_2) + usize::from(version_4) > 1 {
            let message = "a request must be signed in one way only: by one Authorization header, or X-Amz-Signature or \
                           Signature in the query";
            return Err(Refusal::bad("InvalidArgument", message));
        }
        match headers.first() {
            Some(header) => {
                let text = std::str::from_utf8(header.as_bytes()).map_err(|_| malformed())?;
                Self::of_header(text)
            }
            None if version_4 => Self::of_query(head),
            None if version_2 => Ok(Self::Version2(SignaturePlace::Query)),
            None => Ok(Self::Unsigned),
        }
    }

    fn of_header(text: &str) -> Result<Self, Refusal> {
        if text.starts_with("AWS ") {
            return Ok(Self::Version2(SignaturePlace::Header));
        }
        let (algorithm, rest) = text.split_once(' ').ok_or_else(malformed)?;
        if algorithm != ALGORITHM {
            return Err(Refusal::bad(
                "InvalidArgument",
                format!("authorization must use {ALGORITHM}"),
            ));
        }
        let mut parts = rest.split(',').map(str::trim_start);
        let mut part = |name: &str| parts.next().and_then(|part| part.strip_prefix(name));
        let credential = part("Credential=").ok_or_else(malformed)?;
        let signed = part("SignedHeaders=").ok_or_else(malformed)?;
        part("Signature=").ok_or_else(malformed)?;
        if parts.next().is_some() {
            return Err(malformed());
        }
        Ok(Self::version_4(SignaturePlace::Header, credential, signed))
    }

    fn of_query(head: Head<'_>) -> Result<Self, Refusal> {
        let one = |name: &str| {
            let mut values = head.query().filter(|(found, _)| found == name);
            let value = values.next().filter(|_| values.next().is_none());
            let wrong = || {
                let message = format!("the query requires one {name}");
                Refusal::bad("AuthorizationQueryParametersError", message)
            };
            value.map(|(_, value)| value).ok_or_else(wrong)
        };
        let (credential, signed) = (one("X-Amz-Credential")?, one("X-Amz-SignedHeaders")?);
        Ok(Self::version_4(SignaturePlace::Query, &credential, &signed))
    }

    fn version_4(place: SignaturePlace, credential: &str, signed: &str) -> Self {
        Self::Version4 {
            place,
            // KEY/DATE/REGION/SERVICE/aws4_request; s3s refuses a credential with missing pieces.
            region: credential.split('/').nth(2).unwrap_or_default().to_owned(),
            signed: signed.split(';').map(str::to_owned).collect(),
        }
    }

    /// Refuses an invalid region (such as `US`, s3cmd's default) and suggests a valid one, for
    /// which clients then sign again.
    pub(super) fn check_region(&self) -> Result<(), Refusal> {
        let Self::Version4 { place, region, .. } = self else {
            return Ok(());
        };
        if region.parse::<s3s::region::Region>().is_ok() {
            return Ok(());
        }
        let code = match place {
            SignaturePlace::Header => "AuthorizationHeaderMalformed",
            SignaturePlace::Query => "AuthorizationQueryParametersError",
        };
        let message = format!("the region {region:?} is wrong; expecting '{REGION}'");
        Err(Refusal::bad(code, message).and("Region", REGION))
    }

    /// Returns the same in the terms of the access log.
    pub(super) fn method(&self, head: Head<'_>) -> SigningMethod {
        let (version, place) = match self {
            Self::Unsigned if head.is_form() => (None, Some("POST")),
            Self::Unsigned => (None, None),
            Self::Version2(place) => (Some("SigV2"), Some(place.name())),
            Self::Version4 { place, .. } => (Some("SigV4"), Some(place.name())),
        };
        SigningMethod { version, place }
    }
}

impl SignaturePlace {
    fn name(self) -> &'static str {
        match self {
            Self::Header => "AuthHeader",
            Self::Query => "QueryString",
        }
    }
}

fn malformed() -> Refusal {
    Refusal::bad(
        "AuthorizationHeaderMalformed",
        "the authorization header is malformed: expected AWS4-HMAC-SHA256 Credential=..., SignedHeaders=..., Signature=...",
    )
}
