//! `<?xml-stylesheet href="..." type="text/css"?>`: the styles of XHTML and of drawings (Associating Style Sheets with XML documents 1.0).
//!
//! To a tokenizer of HTML it is a comment.

use crate::address::Modifier;
use crate::references::Role;
use crate::scope::Scope;

/// The instruction that stands between `<` and `>`, with its reference rewritten; `None` if it has none, or is a comment.
pub(crate) fn rewrite(text: &str, scope: &Scope) -> Option<String> {
    let data = text.strip_prefix("?xml-stylesheet")?.strip_suffix('?')?;
    let href = value(data, "href")?;
    let is_css = value(data, "type").is_none_or(|kind| kind.eq_ignore_ascii_case("text/css"));
    // Other sheets are programs (XSLT), which are no styles to be rewritten.
    let modifier = if is_css { Modifier::Style } else { Modifier::Image };
    let address = scope.refer(&htmlize::unescape_attribute(href), modifier, Role::Part)?;
    let address = address
        .replace('&', "&amp;")
        .replace('\'', "&apos;")
        .replace('"', "&quot;");
    let begin = href.as_ptr() as usize - text.as_ptr() as usize;
    let (before, after) = (&text[..begin], &text[begin + href.len()..]);
    Some(format!("<{before}{address}{after}>"))
}

/// The value of a pseudo-attribute.
fn value<'d>(data: &'d str, name: &str) -> Option<&'d str> {
    let mut rest = data;
    loop {
        let (found, behind) = rest.split_once('=')?;
        let behind = behind.trim_start();
        let quote = behind
            .chars()
            .next()
            .filter(|quote| matches!(quote, '"' | '\''))?;
        let (value, behind) = behind[1..].split_once(quote)?;
        if found.trim() == name {
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
