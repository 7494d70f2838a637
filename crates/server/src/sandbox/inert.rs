//! Takes out of archived HTML what the sandbox's policy does not hold back.
//!
//! Browsers open connections for `<link rel=preconnect>` whatever the Content-Security-Policy says, and frames
//! with `srcdoc` may hold such a link, written with entities. No `<link>` has a use in the sandbox (styles and
//! icons from elsewhere are not fetched), so each becomes a `<meta>` without effect, and `srcdoc=` an attribute
//! that does not exist. Lengths stay as they are.
//!
//! Works on the bytes of UTF-8 as they pass, not on tags: no doubt about where a tag begins can be used against it.

/// The names that are replaced.
const LINK: (&[u8], &[u8]) = (b"<link", b"<meta");
const SRCDOC: (&[u8], &[u8]) = (b"srcdoc", b"no-doc");

/// White space looked through before the `=` of an attribute. With more, the name is replaced in any case.
const SPACE_BYTES_MAX: usize = 1024;

/// The filter of one page.
#[derive(Debug, Default)]
pub(super) struct Inert {
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
    /// Adds to `sent` what a piece becomes, and with the last one all that was held back.
    pub(super) fn push(&mut self, piece: &[u8], last: bool, sent: &mut Vec<u8>) {
        let mut html = std::mem::take(&mut self.held);
        html.extend_from_slice(piece);
        let mut at = 0;
        while let Some(next) = memchr::memchr3(b'<', b's', b'S', &html[at..]) {
            at += next;
            match seen(&html[at..], last) {
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

fn seen(rest: &[u8], last: bool) -> Seen {
    match rest[0] {
        b'<' => match begins(rest, LINK.0) {
            Some(true) => Seen::Name(LINK.1),
            None if !last => Seen::Unsure,
            _ => Seen::No,
        },
        b's' | b'S' => match begins(rest, SRCDOC.0) {
            Some(true) => assigned(&rest[SRCDOC.0.len()..], last),
            None if !last => Seen::Unsure,
            _ => Seen::No,
        },
        _ => Seen::No,
    }
}

/// Whether an `=` follows the name.
fn assigned(after: &[u8], last: bool) -> Seen {
    let spaces = after.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    match after.get(spaces) {
        Some(b'=') => Seen::Name(SRCDOC.1),
        _ if spaces > SPACE_BYTES_MAX => Seen::Name(SRCDOC.1),
        Some(_) => Seen::No,
        None if last => Seen::No,
        None => Seen::Unsure,
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
    fn check(html: &str, expected: &str) {
        for piece_bytes in [1, 2, 3, html.len()] {
            let mut inert = Inert::default();
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
        check("<link rel=preconnect href=x>", "<meta rel=preconnect href=x>");
        check("<LiNk/rel=x><LINK", "<meta/rel=x><meta");
        check("<iframe srcdoc='&lt;link>'>", "<iframe no-doc='&lt;link>'>");
        check("<iframe SRCDOC\n= x>", "<iframe no-doc\n= x>");
        check("ssrcdoc=<<link", "sno-doc=<<meta");
        check(
            "about srcdoc and the <b>link</b>, <lin k>, <",
            "about srcdoc and the <b>link</b>, <lin k>, <",
        );
        check("<lin", "<lin");
        check("srcdoc", "srcdoc");
        let spaces = " ".repeat(2 * SPACE_BYTES_MAX);
        check(
            &format!("<iframe srcdoc{spaces}=x>"),
            &format!("<iframe no-doc{spaces}=x>"),
        );
    }
}
