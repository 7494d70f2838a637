//! Where scripts of a page lead the reader: `location = "http://..."` with an address that is written out.
//!
//! `location` cannot be replaced by the shim (HTML, section 7.2.4: its properties are unforgeable), so an address in the text is led to
//! the archive here. Nothing else in scripts is touched.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::address::Modifier;
use crate::scope::Scope;

/// An assignment to `location` or its `href`, or a call of its `replace` or `assign`, up to the end of what is surely an address:
/// absolute, or relative to a scheme or to the root of the site. Other relative addresses already resolve to captures. A literal
/// with an escape ends before it, and so has no quotation mark behind it.
static LEADS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let text = r#"(?x)
        (?P<before>
            (?: ^ | [^.\w$] )
            (?: (?: window | document | self ) \s* \. \s* )*
            location \s*
            (?: (?: \. \s* href \s* )? = | \. \s* (?: replace | assign ) \s* \( ) \s*
        )
        (?P<open> ["'] )
        (?P<target> (?: https? : )? // [^"'\\<>\s]+ | / [^"'\\<>\s]* )
        (?P<close> ["'] )"#;
    // The expression is the same in every run, and a test uses it.
    Regex::new(text).ok()
});

/// Rewrites a script that stands in a page.
pub(crate) fn rewrite<'a>(script: &'a str, scope: &Scope) -> Cow<'a, str> {
    // Most scripts lead nowhere, and a plain search for the word is many times quicker.
    let Some(leads) = LEADS.as_ref().filter(|_| script.contains("location")) else {
        return Cow::Borrowed(script);
    };
    leads.replace_all(script, |found: &Captures<'_>| {
        let (before, quote, target) = (&found["before"], &found["open"], &found["target"]);
        match quote == &found["close"] {
            // What a script appends to it is then part of the captured URL, so it is not written anew in any other way.
            true => format!("{before}{quote}{}{quote}", scope.lead(target, Modifier::Page)),
            false => found[0].to_owned(),
        }
    })
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;

    const PAGE: &str = "/replay/2014mp_/http://a.example";

    #[track_caller]
    fn check(script: &str, expected: &str) {
        let scope = Scope::new("2014", Url::parse("http://a.example/b/c").expect("a URL"));
        assert_eq!(rewrite(script, &scope), expected.replace("[mp]", PAGE));
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
        ] {
            check_same(script);
        }
    }
}
