//! `<?xml-stylesheet href="..." type="text/css"?>`: the styles of XHTML and of drawings
//! (Associating Style Sheets with XML documents 1.0).
//!
//! An HTML tokenizer reads it as a comment.

use crate::address::Modifier;
use crate::references::Role;
use crate::scope::Scope;

/// Rewrites the reference of the instruction between `<` and `>`. Returns `None` if it has no
/// reference, or is a comment.
pub(crate) fn rewrite(text: &str, scope: &Scope) -> Option<String> {
    let data = text.strip_prefix("?xml-stylesheet")?.strip_suffix('?')?;
    let href = value(data, "href")?;
    // Other style sheets are programs (XSLT), which are not rewritten as styles.
    let modifier = if is_css(data) {
        Modifier::Style
    } else {
        Modifier::Image
    };
    let address = scope.refer(&htmlize::unescape_attribute(href), modifier, Role::Part)?;
    let address = address
        .replace('&', "&amp;")
        .replace('\'', "&apos;")
        .replace('"', "&quot;");
    let begin = href.as_ptr() as usize - text.as_ptr() as usize;
    let (before, after) = (&text[..begin], &text[begin + href.len()..]);
    Some(format!("<{before}{address}{after}>"))
}

/// Returns whether all browsers read the data of an `xml-stylesheet` as a CSS style sheet: it
/// consists only of pseudo-attributes, and has at most one type, which is CSS.
pub(crate) fn is_css(data: &str) -> bool {
    let mut rest = data.trim_ascii();
    let mut has_type = false;
    while !rest.is_empty() {
        let Some((name, value, behind)) = first_attribute(rest) else {
            return false;
        };
        if name.is_empty() || name.contains(|c: char| c.is_ascii_whitespace() || matches!(c, '"' | '\'')) {
            return false;
        }
        let is_type = name == "type";
        if is_type && (has_type || value != "text/css") {
            return false;
        }
        has_type |= is_type;
        rest = behind.trim_ascii_start();
    }
    true
}

/// Returns the first pseudo-attribute: its name, its value, and the text after it. The name may
/// include other text before it.
fn first_attribute(data: &str) -> Option<(&str, &str, &str)> {
    let (name, behind) = data.split_once('=')?;
    let behind = behind.trim_ascii_start();
    let quote = behind
        .chars()
        .next()
        .filter(|quote| matches!(quote, '"' | '\''))?;
    let (value, behind) = behind[1..].split_once(quote)?;
    Some((name.trim_ascii(), value, behind))
}

/// Returns the value of a pseudo-attribute.
fn value<'d>(data: &'d str, name: &str) -> Option<&'d str> {
    let mut rest = data;
    loop {
        let (found, value, behind) = first_attribute(rest)?;
        if found == name {
            return Some(value);
        }
        rest = behind;
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let scope = Scope::new("2014", Url::parse("http://a.example/b/").expect("a URL"));
        let expected = expected.map(|text| {
            text.replace('@', "/replay/2014")
                .replace("//a", "/http://a.example")
        });
        assert_eq!(rewrite(text, &scope), expected, "{text}");
    }

    #[test]
    fn styles_of_xml_lead_to_captures() {
        check(
            "?xml-stylesheet type='text/css' href='x.css?y&amp;z'?",
            Some("<?xml-stylesheet type='text/css' href='@cs_//a/b/x.css?y&amp;z'?>"),
        );
        check(
            "?xml-stylesheet href = \"/x\"?",
            Some("<?xml-stylesheet href = \"@cs_//a/x\"?>"),
        );
        check(
            "?xml-stylesheet href='x.xsl' type='text/xsl'?",
            Some("<?xml-stylesheet href='@im_//a/b/x.xsl' type='text/xsl'?>"),
        );
        check(
            "?xml-stylesheet href='it&apos;s'?",
            Some("<?xml-stylesheet href='@cs_//a/b/it&apos;s'?>"),
        );
    }

    #[test]
    fn all_else_stays() {
        for text in [
            "?xml version='1.0'?",
            " xml-stylesheet href='x'",
            "?xml-stylesheet href='#x'?",
            "?xml-stylesheet href='x'",
            "?xml-stylesheet title='href=x'?",
            "?xml-stylesheet href?",
            "",
        ] {
            check(text, None);
        }
    }
}
