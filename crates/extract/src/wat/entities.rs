//! Decodes the character references of HTML, which older WAT files contain.

use super::json::Text;
use std::borrow::Cow;

/// How to treat character references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum References {
    /// The writer decoded them: a text that looks like a reference is plain text.
    Keep,
    /// The writer did not decode them.
    Decode,
}

impl References {
    /// Returns the original text in the page for a string of the JSON.
    pub(super) fn text(self, text: Text<'_>) -> Cow<'_, str> {
        let text = text.decode();
        if self == References::Keep || !text.contains('&') {
            return text;
        }
        Cow::Owned(decode(&text))
    }
}

/// Decodes text like the value of an attribute: a reference without its semicolon is not decoded if
/// the text after it may belong to a query (HTML standard, 13.2.5.73).
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
