//! Navigation in scripts of a page: `location = "http://..."` with a literal address.
//!
//! The shim cannot replace `location` (HTML, section 7.2.4: its properties are unforgeable), so
//! literal addresses are rewritten here. Other parts of scripts are unchanged.

use std::borrow::Cow;

use crate::address::Modifier;
use crate::bounded::{Bounded, TooLong};
use crate::scope::Scope;

const LOCATION: &str = "location";

/// Objects that have the property `location`.
const OWNERS: [&str; 3] = ["window", "document", "self"];

/// Rewrites a script in a page.
///
/// # Errors
/// [`TooLong`] as soon as the result exceeds the limit. Every address may contain the same long
/// host.
pub(crate) fn rewrite<'a>(script: &'a str, scope: &Scope) -> Result<Cow<'a, str>, TooLong> {
    let mut rewritten = Bounded::default();
    let mut written = 0;
    for (at, _) in script.match_indices(LOCATION) {
        if at < written || !is_the_location(&script[..at]) {
            continue;
        }
        let Some(target) = target(&script[at + LOCATION.len()..]) else {
            continue;
        };
        let begin = target.as_ptr() as usize - script.as_ptr() as usize;
        rewritten.push(&script[written..begin])?;
        // A script may append to the address, which then continues the captured URL. So the address
        // is not normalised.
        rewritten.push(&scope.rewrite_prefix(target, Modifier::Page))?;
        written = begin + target.len();
    }
    if written == 0 {
        return Ok(Cow::Borrowed(script));
    }
    rewritten.push(&script[written..])?;
    Ok(Cow::Owned(rewritten.into_text()))
}

/// Returns whether the word after `before` is the `location` of the window, and not that of another
/// object or part of another word.
fn is_the_location(mut before: &str) -> bool {
    while let Some(owner) = before.trim_end().strip_suffix('.') {
        let owner = owner.trim_end();
        match OWNERS.iter().find_map(|known| owner.strip_suffix(known)) {
            Some(rest) => before = rest,
            None => return false,
        }
    }
    let is_of_a_word = |last: char| last.is_alphanumeric() || matches!(last, '_' | '$');
    !before.chars().next_back().is_some_and(is_of_a_word)
}

/// Returns the literal address that is assigned to `location` or its `href`, or that its `replace`
/// or `assign` is called with. `behind` is the text after the word. The literal must certainly be
/// an address: absolute, or relative to a scheme or to the root of the site. Other relative
/// addresses already resolve to captures. A literal with an escape does not match, because no
/// quotation mark follows the part before the escape.
fn target(behind: &str) -> Option<&str> {
    let behind = behind.trim_start();
    let value = match behind.strip_prefix('.').map(str::trim_start) {
        None => behind.strip_prefix('=')?,
        Some(member) => {
            let called = ["replace", "assign"]
                .iter()
                .find_map(|name| member.strip_prefix(name));
            match called {
                Some(rest) => rest.trim_start().strip_prefix('(')?,
                None => member.strip_prefix("href")?.trim_start().strip_prefix('=')?,
            }
        }
    };
    let value = value.trim_start();
    let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let value = &value[1..];
    let is_no_address = |c: char| matches!(c, '"' | '\'' | '\\' | '<' | '>') || c.is_whitespace();
    let target = &value[..value.find(is_no_address)?];
    let is_absolute = ["http://", "https://"]
        .iter()
        .any(|scheme| target.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()));
    let is_address = target.starts_with('/') || is_absolute;
    (is_address && value[target.len()..].starts_with(quote)).then_some(target)
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;

    const PAGE: &str = "/replay/2014mp_/http://a.example";

    #[track_caller]
    fn check(script: &str, expected: &str) {
        let scope = Scope::new("2014", Url::parse("http://a.example/b/c").expect("a URL"));
        assert_eq!(rewrite(script, &scope), Ok(expected.replace("[mp]", PAGE).into()));
    }

    #[track_caller]
    fn check_same(script: &str) {
        check(script, script);
    }

    #[test]
    fn addresses_that_location_gets_lead_to_captures() {
        check(r#"location="http://a.example/x""#, r#"location="[mp]/x""#);
        check(
            "document.location = '/x?y=1';",
            "document.location = '[mp]/x?y=1';",
        );
        check(
            "if(a)window . location.href='//a.example';",
            "if(a)window . location.href='[mp]';",
        );
        check("self.location.replace( '/' )", "self.location.replace( '[mp]/' )");
        check(
            "window.document.location.assign(\"/x\")",
            "window.document.location.assign(\"[mp]/x\")",
        );
        check("a();location='/x/'+id", "a();location='[mp]/x/'+id");
        check(
            "\u{e4} . \nself .location\n= '/\u{e4}'",
            "\u{e4} . \nself .location\n= '/\u{e4}'",
        );
        check("(location='/\u{e4}')", "(location='[mp]/\u{e4}')");
        check(
            "location='/x';location='/y'",
            "location='[mp]/x';location='[mp]/y'",
        );
    }

    #[test]
    fn all_else_stays_as_it_is() {
        for script in [
            "",
            "var x = 'http://a.example/'",
            "location = 'x.html'",
            "location.hash = '/x'",
            "location == '/x' || location != '/x' || location.href === '/x'",
            "my.location = '/x'; mylocation = '/x'; $location = '/x'",
            "location = url; location.replace(url)",
            r"location = 'http:\/\/a.example\/'",
            "location = '/x\"",
            "location = '/x",
            "top.location = '/x'",
            "my . location = '/x'; my.window.location = '/x'",
            "location",
            "location.replaced('/x')",
            "location='http://'",
        ] {
            check_same(script);
        }
    }
}
