//! Spellings: URLs with the same key whose letters differ in case.
//!
//! A key ignores case, as web archives agreed. On most servers path and query do not, so `/a/pcL4f`
//! and `/a/pCL4f` may be different pages. A spelling is the key with the original case of path and
//! query. Scheme, `www.`, escapes, session ids and the order of arguments make no difference.

use crate::split::{Parts, Target};
use crate::{KeyError, canonical, escape, query, session, split};

/// The spelling of a URL.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Spelling(String);

impl Spelling {
    /// Returns the spelling of `url`. In lower case, it is the key.
    ///
    /// # Errors
    /// [`KeyError`] if `url` has no key.
    pub fn new(url: &str) -> Result<Spelling, KeyError> {
        let clean = split::clean(url);
        Ok(Spelling(match split::split(&clean)? {
            Target::Http(parts) => of_parts(&parts)?,
            Target::Other(url) => url.to_owned(),
        }))
    }

    /// Returns whether `url` has this spelling.
    pub fn matches(&self, url: &str) -> bool {
        Spelling::new(url).is_ok_and(|other| other == *self)
    }

    /// Returns whether the spelling of `url` may differ from its key: path or query has capital
    /// letters or escapes.
    pub fn may_differ(url: &str) -> bool {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let path = rest.find(['/', '?']).map_or("", |at| &rest[at..]);
        path.bytes().any(|byte| byte.is_ascii_uppercase() || byte == b'%')
    }

    /// Returns the spelling as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn of_parts(parts: &Parts<'_>) -> Result<String, KeyError> {
    let mut out = Vec::new();
    canonical::append_site(parts, &mut out)?;
    let start = out.len();
    escape::append_escaped(&canonical::plain_path(parts.path), &mut out);
    strip(&mut out, start, session::strip_from_path);
    if out.len() > start + 1 && out.ends_with(b"/") {
        out.pop();
    }
    if !parts.query.is_empty() {
        append_query(parts.query, &mut out);
    }
    Ok(String::from_utf8_lossy(&out).into_owned())
}

fn append_query(text: &[u8], out: &mut Vec<u8>) {
    let mut plain = Vec::with_capacity(text.len());
    escape::append_unescaped(text, &mut plain);
    let mut query = Vec::with_capacity(text.len());
    escape::append_escaped(&plain, &mut query);
    strip(&mut query, 0, session::strip_from_query);
    if query.is_empty() {
        return;
    }
    let lower = query.to_ascii_lowercase();
    let is_separator = |byte: &u8| *byte == b'&';
    let mut arguments: Vec<_> = lower.split(is_separator).zip(query.split(is_separator)).collect();
    // Sort as in the key, so that only the case differs.
    arguments.sort_by(|a, b| (query::order(a.0), a.1).cmp(&(query::order(b.0), b.1)));
    for (i, (_, argument)) in arguments.iter().enumerate() {
        out.push(if i == 0 { b'?' } else { b'&' });
        out.extend_from_slice(argument);
    }
}

/// Removes the same parts as from the key, whose forms are in lower case.
fn strip(out: &mut Vec<u8>, start: usize, forms: fn(&mut Vec<u8>, usize, session::Also<'_>)) {
    let mut lower = out.to_ascii_lowercase();
    forms(&mut lower, start, &mut |removed| drop(out.drain(removed)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(a: &str, b: &str, are_same: bool) {
        let (a, b) = (Spelling::new(a).unwrap(), Spelling::new(b).unwrap());
        assert_eq!(a == b, are_same, "{a:?} {b:?}");
    }

    #[test]
    fn only_the_case_of_path_and_query_counts() {
        check("http://x.org/a/pcL4f", "http://x.org/a/pCL4f", false);
        check("http://x.org/watch?v=AbC", "http://x.org/watch?v=abc", false);
        check("http://www.X.org/A/", "https://x.ORG:443/A#top", true);
        check("http://x.org/%41?b=1&a=%42", "http://x.org/A?a=B&b=1", true);
        check(
            "http://x.org/A?PHPSESSID=0123456789ABCDEF0123456789abcdef",
            "http://x.org/A",
            true,
        );
        check(
            "http://x.org/(S(4HQA0555fwsecu455xqckv45))/A.aspx",
            "http://x.org/A.aspx",
            true,
        );
    }

    proptest! {
        #[test]
        fn the_lower_case_of_a_spelling_is_the_key(
            url in "(https?://)?(www[.])?[a-zA-Z]{1,6}[.]org(:80)?(/[a-zA-Z0-9%&=.()/;+ é-]{0,40})?([?][a-zA-Z0-9%&=.()/;+-]{0,60}|[?]SID=[a-zA-Z0-9]{32}(&[bA]=[cD])?)?"
        ) {
            let key = crate::url_key(&url).unwrap();
            let spelling = Spelling::new(&url).unwrap();
            prop_assert_eq!(spelling.as_str().to_ascii_lowercase(), key.clone());
            if !Spelling::may_differ(&url) {
                prop_assert_eq!(spelling.as_str(), key);
            }
        }
    }
}
