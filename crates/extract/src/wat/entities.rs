//! HTML's character references in WAT, which older files leave undecoded.

use super::json::Text;
use std::borrow::Cow;

/// What is done about character references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum References {
    /// The writer decoded them: what looks like one is text.
    Keep,
    /// The writer left them.
    Decode,
}

impl References {
    /// A string of the JSON as the page had it.
    pub(super) fn text(self, text: Text<'_>) -> Cow<'_, str> {
        let text = text.decode();
        if self == References::Keep || !text.contains('&') {
            return text;
        }
        Cow::Owned(decode(&text))
    }
}

/// Decodes as the value of an attribute, where a reference that lacks its semicolon is left alone if
/// what follows it may belong to a query.
fn decode(text: &str) -> String {
    let html = format!("<a x=\"{}\">", text.replace('"', "&quot;"));
    for token in html5gum::Tokenizer::new(html.as_str()).flatten() {
        if let html5gum::Token::StartTag(tag) = token
            && let Some(value) = tag.attributes.get(b"x".as_slice())
        {
            return String::from_utf8_lossy(value).into_owned();
        }
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_decoded_as_in_attributes() {
        let check = |text: &str, expected: &str| assert_eq!(decode(text), expected);
        check("/view?id=1&amp;res=2&copy=3", "/view?id=1&res=2&copy=3");
        check("&quot;a&#8217;b\" <c> &mdash;", "\"a\u{2019}b\" <c> \u{2014}");
        check("a & b && c &", "a & b && c &");
        check("x > y\" onclick=\"z", "x > y\" onclick=\"z");
    }
}
