//! Secrets in URLs: user names, passwords and signatures.
//!
//! A URL with such secrets gives access to the resource. Only the part that identifies the resource
//! may be stored or shown.
//!
//! Invariant: the result identifies the same resource, and [`without_secrets`] does not change it
//! again.

use std::borrow::Cow;

/// Parameters whose value grants access, in lower case and without word separators.
const SECRETS: &[&str] = &[
    "signature",
    "sig",
    "sign",
    "token",
    "accesstoken",
    "authtoken",
    "idtoken",
    "refreshtoken",
    "sessiontoken",
    "securitytoken",
    "sastoken",
    "awsaccesskeyid",
    "ossaccesskeyid",
    "googleaccessid",
    "accesskeyid",
    "accesskey",
    "key",
    "apikey",
    "secret",
    "secretkey",
    "clientsecret",
    "password",
    "passwd",
    "pass",
    "pwd",
    "auth",
    "authorization",
    "credential",
    "credentials",
    "jwt",
    "sessionid",
    "session",
    "sas",
    "hmac",
    "bearer",
    "hdnea",
    "hdnts",
    "md5",
    "verify",
];

/// Suffixes of further names of such parameters.
const SECRETS_END: &[&str] = &[
    "token",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "subscriptionkey",
    "secret",
    "password",
    "signature",
    "credential",
];

/// Prefixes of the parameters of signatures.
const SECRETS_BEGIN: &[&str] = &["xamz", "xgoog", "xoss"];

/// Parameters that limit what a signature next to them allows.
const SIGNATURE_PARAMETERS: &[&str] = &[
    "expires",
    "policy",
    "keypairid",
    "se",
    "sp",
    "sv",
    "sr",
    "st",
    "spr",
    "ss",
    "srt",
    "sip",
    "si",
    "sdd",
    "skoid",
    "sktid",
    "skt",
    "ske",
    "sks",
    "skv",
    "saoid",
    "suoid",
    "scid",
    "ses",
];

/// Removes the user name and password from a URL, and the parameters that sign it or grant access.
/// Parameters are removed only from http and https URLs. From all others, only user name and
/// password are removed.
pub fn without_secrets(address: &str) -> Cow<'_, str> {
    let Some((scheme, rest)) = address.split_once("://") else {
        return Cow::Borrowed(address);
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let is_web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    let rest = if is_web {
        without_parameters(rest)
    } else {
        Cow::Borrowed(rest)
    };
    if host.len() == authority.len() && matches!(rest, Cow::Borrowed(_)) {
        Cow::Borrowed(address)
    } else {
        Cow::Owned(format!("{scheme}://{host}{rest}"))
    }
}

/// Returns whether a URL has a user name or a password.
pub fn has_user(address: &str) -> bool {
    let rest = address.split_once("://").map_or("", |(_, rest)| rest);
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    rest[..end].contains('@')
}

/// Removes the secret parameters from path, query and fragment.
fn without_parameters(rest: &str) -> Cow<'_, str> {
    let (before, fragment) = split_before(rest, '#');
    let (path, query) = split_before(before, '?');
    let kept = [
        without_secret_parameters(query),
        without_secret_parameters(fragment),
    ];
    if kept.iter().all(|kept| matches!(kept, Cow::Borrowed(_))) {
        Cow::Borrowed(rest)
    } else {
        Cow::Owned(format!("{path}{}{}", kept[0], kept[1]))
    }
}

fn split_before(text: &str, mark: char) -> (&str, &str) {
    text.split_at(text.find(mark).unwrap_or(text.len()))
}

/// Removes the secrets from a query or a fragment with its mark. Returns an empty text if nothing
/// else is in it.
fn without_secret_parameters(part: &str) -> Cow<'_, str> {
    let Some(mark) = part.get(..1) else {
        return Cow::Borrowed(part);
    };
    let pairs: Vec<(&str, String)> = part[1..].split('&').map(|pair| (pair, name_of(pair))).collect();
    let is_signed = pairs.iter().any(|(_, name)| is_signature(name));
    let is_secret = |name: &str| {
        SECRETS.contains(&name)
            || SECRETS_BEGIN.iter().any(|begin| name.starts_with(begin))
            || SECRETS_END.iter().any(|end| name.ends_with(end))
            || is_signed && SIGNATURE_PARAMETERS.contains(&name)
    };
    let kept: Vec<&str> = pairs
        .iter()
        .filter(|(_, name)| !is_secret(name))
        .map(|(pair, _)| *pair)
        .collect();
    match kept.len() {
        length if length == pairs.len() => Cow::Borrowed(part),
        0 => Cow::Owned(String::new()),
        _ => Cow::Owned(format!("{mark}{}", kept.join("&"))),
    }
}

fn is_signature(name: &str) -> bool {
    matches!(name, "signature" | "sig" | "sign")
}

/// Returns the name of a parameter for comparison: decoded, in lower case, without word separators.
fn name_of(pair: &str) -> String {
    without_marks(&unescaped(pair.split('=').next().unwrap_or_default()).to_ascii_lowercase())
}

fn without_marks(name: &str) -> String {
    name.replace(['-', '_'], "")
}

fn unescaped(name: &str) -> String {
    let (bytes, mut at, mut plain) = (name.as_bytes(), 0, Vec::with_capacity(name.len()));
    while at < bytes.len() {
        let digits = bytes.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        let value = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        plain.push(value.unwrap_or(bytes[at]));
        at += if value.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&plain).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(address: &str, expected: &str) {
        assert_eq!(without_secrets(address), expected, "{address}");
        assert_eq!(without_secrets(expected), expected, "once more");
    }

    #[test]
    fn what_opens_an_address_is_left_out() {
        check("https://u:p@h.example/x.wacz", "https://h.example/x.wacz");
        check("https://u@h:8443?x", "https://h:8443?x");
        check("s3://ID:SECRET@bucket/x", "s3://bucket/x");
        check(
            "https://b.s3.amazonaws.com/x.warc.gz?X-Amz-Algorithm=AWS4&X-Amz-Credential=AK%2Fx&versionId=7&X-Amz-Signature=ab",
            "https://b.s3.amazonaws.com/x.warc.gz?versionId=7",
        );
        check("https://h/x?x%2Damz%2Dsecurity%2Dtoken=t", "https://h/x");
        check(
            "https://h/x?AWSAccessKeyId=A&Expires=1&Signature=s",
            "https://h/x",
        );
        check(
            "https://h/x?GoogleAccessId=A&Expires=1&Signature=s&a",
            "https://h/x?a",
        );
        check(
            "https://h/x?sv=2022&se=2026&sp=r&sig=a%3D&snapshot=1",
            "https://h/x?snapshot=1",
        );
        check(
            "https://h/x?access_token=a&api-key=b&Password=c&page=2",
            "https://h/x?page=2",
        );
        check("https://h/x?Policy=p&Key-Pair-Id=k&Signature=s", "https://h/x");
        check("https://h/x#access_token=a", "https://h/x");
    }

    #[test]
    fn what_only_names_something_stays() {
        for address in [
            "https://h/x.warc.gz",
            "https://h/x?page=2&expires=soon&sp=1",
            "https://h/a@b?c=d@e",
            "https://h/x?tokens=3&keyword=k#page=3",
            "s3://b/x?sig=part-of-the-key",
            "store://b/x",
            "/data/x?sig=1",
            "",
        ] {
            check(address, address);
        }
    }

    proptest! {
        #[test]
        fn nothing_is_left_to_leave_out(rest in "[a-z@?&=#%/:.-]{0,40}") {
            let address = format!("https://{rest}");
            let once = without_secrets(&address).into_owned();
            prop_assert_eq!(without_secrets(&once), once.as_str());
        }

        #[test]
        fn any_text_is_taken(text in ".{0,60}") {
            let _ = without_secrets(&text);
        }
    }
}
