//! Declared media types, and detection for pages that declare none.

/// The type of a capture that declares no usable type.
pub(crate) const UNKNOWN: &str = "unk";

/// Returns a declared Content-Type without parameters, in lower case, or [`UNKNOWN`] if it is not
/// valid.
pub(crate) fn normalize(declared: Option<&str>) -> String {
    let Some(declared) = declared else {
        return UNKNOWN.to_owned();
    };
    let essence = declared.split([';', ',']).next().unwrap_or("").trim();
    let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$&^_.+-/".contains(&b);
    // Some ARC writers use `no-type` for a missing type.
    if essence.is_empty() || !essence.bytes().all(is_token) || essence.eq_ignore_ascii_case("no-type") {
        return UNKNOWN.to_owned();
    }
    essence.to_ascii_lowercase()
}

/// Returns the charset parameter of a Content-Type.
pub(crate) fn charset(declared: &str) -> Option<&str> {
    declared.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        (name.trim().eq_ignore_ascii_case("charset") && !value.is_empty()).then_some(value)
    })
}

/// Returns whether a capture of this (normalized) type can be HTML. This is decided before the
/// payload is decoded.
pub(crate) fn may_be_html(mime: &str) -> bool {
    matches!(mime, "text/html" | "application/xhtml+xml" | UNKNOWN)
}

/// Returns whether a capture of this (normalized) type is HTML. If no type was declared, `payload`
/// decides.
pub(crate) fn is_html(mime: &str, payload: &[u8]) -> bool {
    match mime {
        "text/html" | "application/xhtml+xml" => true,
        UNKNOWN => sniff_html(payload),
        _ => false,
    }
}

/// The rules by which a document is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Markup {
    Html,
    /// XHTML: the declared type makes it XML.
    Xml,
}

/// Returns the rules by which browsers read a page of this (normalized) type.
pub(crate) fn markup(mime: &str) -> Markup {
    match mime {
        "application/xhtml+xml" => Markup::Xml,
        _ => Markup::Html,
    }
}

/// The signatures by which browsers recognise HTML (WHATWG MIME Sniffing, section 7.1).
const SIGNATURES: [&[u8]; 17] = [
    b"<!DOCTYPE HTML",
    b"<HTML",
    b"<HEAD",
    b"<SCRIPT",
    b"<IFRAME",
    b"<H1",
    b"<DIV",
    b"<FONT",
    b"<TABLE",
    b"<A",
    b"<STYLE",
    b"<TITLE",
    b"<B",
    b"<BODY",
    b"<BR",
    b"<P",
    b"<!--",
];

/// Returns whether `payload` begins like HTML. An XML declaration before the document type is
/// skipped.
pub(crate) fn sniff_html(payload: &[u8]) -> bool {
    let start = payload
        .strip_prefix(b"\xEF\xBB\xBF")
        .unwrap_or(payload)
        .trim_ascii_start();
    if start.starts_with(b"<?xml") {
        let head = &start[..start.len().min(1024)];
        return memchr::memmem::find(head, b"<html").is_some()
            || memchr::memmem::find(head, b"<!DOCTYPE html").is_some();
    }
    SIGNATURES
        .iter()
        .any(|signature| begins_with_tag(start, signature))
}

fn begins_with_tag(start: &[u8], signature: &[u8]) -> bool {
    let Some((head, rest)) = start.split_at_checked(signature.len()) else {
        return false;
    };
    let ends = signature == b"<!--" || matches!(rest.first(), Some(b' ' | b'>' | b'\t' | b'\n' | b'\r'));
    head.eq_ignore_ascii_case(signature) && ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_types() {
        let check = |declared: Option<&str>, expected: &str| assert_eq!(normalize(declared), expected);
        check(None, "unk");
        check(Some(""), "unk");
        check(Some("  Text/HTML ; charset=x"), "text/html");
        check(Some("text/html, text/html"), "text/html");
        check(Some("no-type"), "unk");
        check(Some("bad\u{fffd}type"), "unk");
        check(Some("two words"), "unk");
        assert_eq!(charset("text/html; Charset=\"utf-8\""), Some("utf-8"));
        assert_eq!(charset("text/html; a=b; charset = x "), Some("x"));
        assert_eq!(charset("text/html; charset="), None);
    }

    #[test]
    fn html_by_its_first_bytes() {
        for html in [
            "<!doctype html>",
            " \n<html lang=en>",
            "\u{feff}<P>x",
            "<!--x",
            "<?xml version='1.0'?><html>",
        ] {
            assert!(sniff_html(html.as_bytes()), "{html}");
        }
        for other in [
            "",
            "plain",
            "<htmlx>",
            "<article",
            "{}",
            "<?xml version='1.0'?><rss>",
            "<p",
        ] {
            assert!(!sniff_html(other.as_bytes()), "{other}");
        }
    }
}
