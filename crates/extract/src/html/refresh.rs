//! The target of `meta http-equiv=refresh`, and of the `Refresh` header, which has the same form.

use crate::resolve::Resolver;

/// Returns the absolute URL that the `Refresh` header of the page at `url` leads to. The header
/// comes before any `base`.
pub(crate) fn header_target(value: &str, url: &str) -> Option<String> {
    Resolver::new(url, None)?.resolve(target(value)?)
}

/// Returns whether a `Refresh` header leads to an http or https address of another key. If so, a
/// page without content is a redirect.
pub(crate) fn leads_elsewhere(value: &str, url: &str, url_key: &str) -> bool {
    let target = header_target(value, url);
    target.is_some_and(|target| urlkey::url_key(&target).is_ok_and(|key| key != url_key))
}

/// Returns the reference in a refresh such as `5; URL='next.html'`, by the "shared declarative refresh steps"
/// of the HTML standard. `None` if there is only a time, or nothing valid.
pub(crate) fn target(content: &str) -> Option<&str> {
    let after_time = content.trim_ascii_start();
    let time_length = after_time
        .bytes()
        .take_while(|b| b.is_ascii_digit() || *b == b'.')
        .count();
    if time_length == 0 {
        return None;
    }
    let rest = &after_time[time_length..];
    let is_separator = |c: char| c == ';' || c == ',' || c.is_ascii_whitespace();
    if !rest.starts_with(is_separator) {
        return None;
    }
    let rest = rest.trim_ascii_start();
    let rest = rest.strip_prefix([';', ',']).unwrap_or(rest).trim_ascii_start();
    let reference = after_url_word(rest).unwrap_or(rest);
    let reference = match reference.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let inner = &reference[1..];
            inner.split(quote).next().unwrap_or(inner)
        }
        _ => reference,
    };
    let reference = reference.trim_ascii();
    (!reference.is_empty()).then_some(reference)
}

/// Returns the text after `url =`.
fn after_url_word(text: &str) -> Option<&str> {
    let (word, rest) = text.split_at_checked(3)?;
    let rest = rest.trim_ascii_start().strip_prefix('=')?;
    word.eq_ignore_ascii_case("url").then(|| rest.trim_ascii_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refreshes() {
        let check =
            |content: &str, expected: Option<&str>| assert_eq!(target(content), expected, "{content}");
        check(
            "5; URL=http://www.example.com/x",
            Some("http://www.example.com/x"),
        );
        check("0;url='a b.html' ; junk", Some("a b.html"));
        check(" 0 , uRl = \"x\"", Some("x"));
        check("0; x.html", Some("x.html"));
        check("0;URL=", None);
        check("30", None);
        check("1.5;url=x", Some("x"));
        check("url=x", None);
        check("5x; url=x", None);
        check("", None);
        check("0;é=", Some("é="));
    }

    #[test]
    fn headers() {
        for (value, url, leads) in [
            ("0; url=https://b.org/x", Some("https://b.org/x"), true),
            ("5;URL=\"/next page\"", Some("http://a.org/next%20page"), true),
            ("0; url=https://www.a.org/", Some("https://www.a.org/"), false),
            ("30", None, false),
            ("0; url=mailto:a@a.org", None, false),
        ] {
            assert_eq!(header_target(value, "http://a.org/").as_deref(), url, "{value}");
            assert_eq!(
                leads_elsewhere(value, "http://a.org/", "org,a)/"),
                leads,
                "{value}"
            );
        }
    }
}
