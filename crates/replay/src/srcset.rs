//! Rewrites `srcset`: several pictures, each with a descriptor (HTML, section 4.8.4.2).

use crate::address::Modifier;
use crate::bounded::{Bounded, TooLong};
use crate::references::Role;
use crate::scope::Scope;

/// Rewrites every picture of `value`; the rest is unchanged.
///
/// # Errors
/// [`TooLong`] as soon as the result exceeds the limit.
pub(crate) fn rewrite(value: &str, scope: &Scope) -> Result<String, TooLong> {
    let mut rewritten = Bounded::default();
    let mut rest = value;
    while !rest.is_empty() {
        let begin = rest
            .find(|c: char| !(c.is_ascii_whitespace() || c == ','))
            .unwrap_or(rest.len());
        rewritten.push(&rest[..begin])?;
        rest = &rest[begin..];
        let end = rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len());
        // A comma at the end of a URL ends the picture; a comma within it is part of the URL.
        let url = rest[..end].trim_end_matches(',');
        let ends_here = url.len() < end;
        match scope.refer(url, Modifier::Image, Role::Alternative) {
            Some(address) => rewritten.push(&address)?,
            None => rewritten.push(url)?,
        }
        rest = &rest[url.len()..];
        let descriptors = if ends_here { 0 } else { end_of_descriptors(rest) };
        rewritten.push(&rest[..descriptors])?;
        rest = &rest[descriptors..];
    }
    Ok(rewritten.into_text())
}

/// Returns the place of the comma after the descriptors. Commas in parentheses do not count.
fn end_of_descriptors(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => return at,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;

    #[track_caller]
    fn check(value: &str, expected: &str) {
        let scope = Scope::new("2014", Url::parse("http://a.example/b/").expect("a URL"));
        assert_eq!(
            rewrite(value, &scope),
            Ok(expected.replace('@', "/replay/2014im_/http://a.example"))
        );
    }

    #[test]
    fn each_picture_is_rewritten() {
        check("x.png", "@/b/x.png");
        check("x.png 1x, /y.png 2x", "@/b/x.png 1x, @/y.png 2x");
        check("x.png,y.png 2x", "@/b/x.png,y.png 2x");
        check("x.png, y.png", "@/b/x.png, @/b/y.png");
        check(" a 100w,b 200w ,", " @/b/a 100w,@/b/b 200w ,");
        check("a (1,2)x, b", "@/b/a (1,2)x, @/b/b");
        check("data:x,y 1x, b 2x", "data:x,y 1x, @/b/b 2x");
        check("", "");
        check(" , ", " , ");
    }
}
