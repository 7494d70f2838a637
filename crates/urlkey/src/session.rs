//! Removes session ids, which give one page many URLs. All texts here are already in lower case.
//!
//! Only the forms that web archives agreed on are removed. With further forms, Weft's keys would
//! differ from theirs.

use std::ops::Range;

/// Returns the number of bytes of a session id in one form at the start of a text.
type Form = fn(&[u8]) -> Option<usize>;

/// Called with each range that is removed, before the next is searched for.
pub(crate) type Also<'a> = &'a mut dyn FnMut(Range<usize>);

/// Removes the cookieless session segment of ASP.NET from the path in `out[start..]`:
/// `(24 letters or digits)`, or a run of `x(24 letters or digits)` in brackets, before a segment
/// with `.aspx`.
pub(crate) fn strip_from_path(out: &mut Vec<u8>, start: usize, also: Also<'_>) {
    if !out[start..].contains(&b'(') {
        return;
    }
    for form in [labelled_ids as Form, bare_id] {
        if let Some((at, length)) = find_in_path(&out[start..], form) {
            out.drain(start + at..start + at + length);
            also(start + at..start + at + length);
        }
    }
}

/// Finds the last segment that is a session id. Returns its position and its length, including the
/// slash after it.
fn find_in_path(path: &[u8], form: Form) -> Option<(usize, usize)> {
    let mut pages = AspxPages {
        path,
        seen_from: path.len(),
        next_is_aspx: false,
    };
    (1..path.len())
        .rev()
        .filter(|&at| path[at - 1] == b'/' && path[at] == b'(')
        .find_map(|at| {
            let length = form(&path[at..])?;
            pages.is_aspx(at + length).then_some((at, length))
        })
}

/// Matches `(` id `)/`.
fn bare_id(path: &[u8]) -> Option<usize> {
    (is_id(path.get(1..25)?) && path[25..].starts_with(b")/")).then_some(27)
}

/// Matches `(`, one or more of: letter `(` id `)`, then `)/`.
fn labelled_ids(path: &[u8]) -> Option<usize> {
    let mut at = 1;
    while let Some(group) = path.get(at..at + 27) {
        let shaped = group[0].is_ascii_lowercase() && group[1] == b'(' && group[26] == b')';
        if !shaped || !is_id(&group[2..26]) {
            break;
        }
        at += 27;
    }
    (at > 1 && path[at..].starts_with(b")/")).then_some(at + 2)
}

fn is_id(bytes: &[u8]) -> bool {
    bytes.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
}

/// Finds `.aspx` in a path. It searches from the end to the beginning, so that each byte is read
/// once, however many segments look like session ids.
struct AspxPages<'a> {
    path: &'a [u8],
    /// Start of the part that has been searched.
    seen_from: usize,
    /// Whether the first `.aspx` after this position comes before the first question mark.
    next_is_aspx: bool,
}

impl AspxPages<'_> {
    /// Returns whether at least one byte and then `.aspx` follow `start`, with no question mark
    /// before it. `start` must not be greater than in the previous call.
    fn is_aspx(&mut self, start: usize) -> bool {
        for at in (start + 1..self.seen_from).rev() {
            if self.path[at] == b'?' {
                self.next_is_aspx = false;
            } else if self.path[at..].starts_with(b".aspx") {
                self.next_is_aspx = true;
            }
        }
        self.seen_from = self.seen_from.min(start + 1);
        self.next_is_aspx && self.path.get(start) != Some(&b'?')
    }
}

/// Removes session arguments from the query in `out[start..]`: the last one of each form.
pub(crate) fn strip_from_query(out: &mut Vec<u8>, start: usize, also: Also<'_>) {
    if !may_hold_session(&out[start..]) {
        return;
    }
    let forms: [Form; 5] = [
        |text| argument(text, b"jsessionid=", 32),
        |text| argument(text, b"phpsessid=", 32),
        |text| argument(text, b"sid=", 32),
        aspsessionid,
        cfid_cftoken,
    ];
    for form in forms {
        strip_last(out, start, form, also);
    }
}

/// A cheap test that may return true without a session: every form has `sid=`, `nid=`, `fid=` or
/// `sessionid`.
fn may_hold_session(query: &[u8]) -> bool {
    query
        .windows(4)
        .any(|w| matches!(w, [b's' | b'n' | b'f', b'i', b'd', b'='] | b"onid"))
}

/// Removes the last match of `form` that ends an argument, with the `&` after it.
fn strip_last(out: &mut Vec<u8>, start: usize, form: Form, also: Also<'_>) {
    let query = &out[start..];
    let found = (0..query.len()).rev().find_map(|at| {
        let end = at + form(&query[at..])?;
        match query.get(end) {
            None => Some((at, end)),
            Some(b'&') => Some((at, end + 1)),
            Some(_) => None,
        }
    });
    if let Some((at, end)) = found {
        out.drain(start + at..start + end);
        also(start + at..start + end);
    }
}

/// Matches `name` and exactly `length` letters or digits. Returns the length of both.
fn argument(text: &[u8], name: &[u8], length: usize) -> Option<usize> {
    let value = text.strip_prefix(name)?.get(..length)?;
    is_id(value).then_some(name.len() + length)
}

/// Matches `aspsessionid`, 8 letters, `=`, 24 letters.
fn aspsessionid(text: &[u8]) -> Option<usize> {
    let rest = text.strip_prefix(b"aspsessionid")?.get(..33)?;
    let letters = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_lowercase);
    (letters(&rest[..8]) && rest[8] == b'=' && letters(&rest[9..])).then_some(45)
}

/// Matches `cfid=` and a value, then `&cftoken=` and a value.
fn cfid_cftoken(text: &[u8]) -> Option<usize> {
    let value = text.strip_prefix(b"cfid=")?;
    // A second `cfid=` with a value was tried before, with the same outcome. Without stopping here,
    // a query that repeats only `cfid=` takes quadratic time.
    let is_second = |rest: &[u8]| rest.starts_with(b"cfid=") && rest.get(5).is_some_and(|&b| b != b'&');
    let cfid = (0..value.len()).find(|&at| value[at] == b'&' || is_second(&value[at..]))?;
    let rest = value[cfid..].strip_prefix(b"&cftoken=").filter(|_| cfid > 0)?;
    Some(5 + cfid + 9 + value_length(rest)?)
}

/// Returns the number of bytes up to the next `&`, or `None` for an empty value.
fn value_length(text: &[u8]) -> Option<usize> {
    let length = text.iter().take_while(|&&b| b != b'&').count();
    (length > 0).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reference implementation of [`AspxPages::is_aspx`].
    fn is_aspx(rest: &[u8]) -> bool {
        let before_mark = rest.split(|&b| b == b'?').next().unwrap_or_default();
        before_mark.len() > 5 && before_mark[1..].windows(5).any(|w| w == b".aspx")
    }

    /// Reference implementation of [`cfid_cftoken`].
    fn defined_cfid_cftoken(text: &[u8]) -> Option<usize> {
        let cfid = value_length(text.strip_prefix(b"cfid=")?)?;
        let rest = text.get(5 + cfid..)?.strip_prefix(b"&cftoken=")?;
        Some(5 + cfid + 9 + value_length(rest)?)
    }

    proptest! {
        #[test]
        fn pages_are_found_as_defined(path in "(\\.aspx|\\.asp|[?/x]){0,12}") {
            let path = path.as_bytes();
            let mut pages = AspxPages { path, seen_from: path.len(), next_is_aspx: false };
            for start in (0..=path.len()).rev() {
                prop_assert_eq!(pages.is_aspx(start), is_aspx(&path[start..]), "{}", start);
            }
        }

        #[test]
        fn sessions_of_two_arguments_are_stripped_as_defined(query in "(cfid=|cftoken=|&|&cftoken=|x){0,12}") {
            let strip = |form: Form| {
                let mut out = query.clone().into_bytes();
                strip_last(&mut out, 0, form, &mut |_| ());
                out
            };
            prop_assert_eq!(strip(cfid_cftoken), strip(defined_cfid_cftoken));
        }
    }
}
