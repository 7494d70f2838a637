//! Takes out of archived HTML what the sandbox's policy does not hold back, by replacing names with names as long.
//!
//! Browsers open connections for `<link rel=preconnect>` whatever the Content-Security-Policy says, and frames
//! with `srcdoc` may hold such a link, written with entities. No `<link>` has a use in the sandbox (styles and
//! icons from elsewhere are not fetched), so each becomes a `<meta>` without effect, and `srcdoc=` an attribute
//! that does not exist ([`EFFECTS`]). Without scripts a browser reads what is inside `<noscript>` as HTML, but who rewrites
//! HTML reads it as text: so it becomes an element without a meaning ([`NOSCRIPT`]).
//!
//! Works on the bytes of UTF-8 as they pass, not on tags: no doubt about where a tag begins can be used against it.

/// A name and what replaces it, both of one length.
#[derive(Debug)]
pub(super) struct Name {
    old: &'static [u8],
    new: &'static [u8],
    /// Only before an `=`.
    assigned: bool,
}

impl Name {
    const fn new(old: &'static [u8], new: &'static [u8], assigned: bool) -> Name {
        assert!(old.len() == new.len(), "lengths stay as they are");
        Name { old, new, assigned }
    }
}

/// What has an effect that the policy does not hold back.
pub(super) const EFFECTS: &[Name] = &[
    Name::new(b"<link", b"<meta", false),
    Name::new(b"srcdoc", b"no-doc", true),
];

/// What is HTML only for those who run no scripts.
pub(super) const NOSCRIPT: &[Name] = &[
    Name::new(b"<noscript", b"<noscripx", false),
    Name::new(b"</noscript", b"</noscripx", false),
];

/// White space looked through before the `=` of an attribute. With more, the name is replaced in any case.
const SPACE_BYTES_MAX: usize = 1024;

/// The filter of one page.
#[derive(Debug)]
pub(super) struct Inert {
    names: &'static [Name],
    /// The beginning of what may become one of the names; its first byte is that of the name.
    held: Vec<u8>,
}

enum Seen {
    /// Nothing begins here.
    No,
    /// A name to be replaced by this.
    Name(&'static [u8]),
    /// More bytes must be seen.
    Unsure,
}

impl Inert {
    pub(super) fn new(names: &'static [Name]) -> Inert {
        Inert {
            names,
            held: Vec::new(),
        }
    }

    /// Adds to `sent` what a piece becomes, and with the last one all that was held back.
    pub(super) fn push(&mut self, piece: &[u8], last: bool, sent: &mut Vec<u8>) {
        let mut html = std::mem::take(&mut self.held);
        html.extend_from_slice(piece);
        let mut at = 0;
        // The first bytes of all names.
        while let Some(next) = memchr::memchr3(b'<', b's', b'S', &html[at..]) {
            at += next;
            match seen(self.names, &html[at..], last) {
                Seen::No => at += 1,
                Seen::Name(new) => {
                    html[at..at + new.len()].copy_from_slice(new);
                    at += new.len();
                }
                Seen::Unsure => {
                    self.held = html.split_off(at);
                    break;
                }
            }
        }
        sent.append(&mut html);
    }
}

fn seen(names: &'static [Name], rest: &[u8], last: bool) -> Seen {
    let mut unsure = false;
    for name in names {
        match begins(rest, name.old) {
            Some(false) => {}
            Some(true) if !name.assigned => return Seen::Name(name.new),
            Some(true) => match assigned(&rest[name.old.len()..]) {
                Some(true) => return Seen::Name(name.new),
                Some(false) => {}
                None => unsure = true,
            },
            None => unsure = true,
        }
    }
    if unsure && !last { Seen::Unsure } else { Seen::No }
}

/// Whether an `=` follows a name; `None` if the bytes end before that is said.
fn assigned(after: &[u8]) -> Option<bool> {
    let spaces = after.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    match after.get(spaces) {
        Some(b'=') => Some(true),
        _ if spaces > SPACE_BYTES_MAX => Some(true),
        Some(_) => Some(false),
        None => None,
    }
}

/// Whether `rest` begins with `name`, without regard to case; `None` if it ends before that is said.
fn begins(rest: &[u8], name: &[u8]) -> Option<bool> {
    let known = rest.len().min(name.len());
    match rest[..known].eq_ignore_ascii_case(&name[..known]) {
        true if known < name.len() => None,
        same => Some(same),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(names: &'static [Name], html: &str, expected: &str) {
        for piece_bytes in [1, 2, 3, html.len()] {
            let mut inert = Inert::new(names);
            let mut sent = Vec::new();
            for piece in html.as_bytes().chunks(piece_bytes) {
                inert.push(piece, false, &mut sent);
            }
            inert.push(b"", true, &mut sent);
            assert_eq!(
                String::from_utf8(sent).expect("UTF-8"),
                expected,
                "in pieces of {piece_bytes}"
            );
        }
    }

    #[test]
    fn links_and_srcdoc_lose_their_names_and_nothing_else_does() {
        check(
            EFFECTS,
            "<link rel=preconnect href=x>",
            "<meta rel=preconnect href=x>",
        );
        check(EFFECTS, "<LiNk/rel=x><LINK", "<meta/rel=x><meta");
        check(
            EFFECTS,
            "<iframe srcdoc='&lt;link>'>",
            "<iframe no-doc='&lt;link>'>",
        );
        check(EFFECTS, "<iframe SRCDOC\n= x>", "<iframe no-doc\n= x>");
        check(EFFECTS, "ssrcdoc=<<link", "sno-doc=<<meta");
        check(
            EFFECTS,
            "about srcdoc and the <b>link</b>, <lin k>, <",
            "about srcdoc and the <b>link</b>, <lin k>, <",
        );
        check(EFFECTS, "<lin", "<lin");
        check(EFFECTS, "srcdoc", "srcdoc");
        let spaces = " ".repeat(2 * SPACE_BYTES_MAX);
        check(
            EFFECTS,
            &format!("<iframe srcdoc{spaces}=x>"),
            &format!("<iframe no-doc{spaces}=x>"),
        );
    }

    #[test]
    fn what_scripts_would_hide_is_html() {
        check(NOSCRIPT, "<NoScript><a></noscript>", "<noscripx><a></noscripx>");
        check(NOSCRIPT, "noscript <no </no", "noscript <no </no");
    }
}
