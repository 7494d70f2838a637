//! Takes out of archived HTML what the sandbox's policy does not hold back.
//!
//! Browsers open connections for `<link rel=preconnect>` whatever the Content-Security-Policy says, and frames
//! with `srcdoc` may hold such a link, written with entities. No `<link>` has a use in the sandbox (styles and
//! icons from elsewhere are not fetched), so each becomes a `<meta>` without effect, and `srcdoc=` an attribute
//! that does not exist. Lengths stay as they are.
//!
//! Works on bytes in any encoding in which ASCII is ASCII. Escape sequences of ISO-2022-JP, which may stand
//! between letters, are looked through; UTF-16 is turned into UTF-8 before.

/// `html` without effect outside of itself, and whether it was turned into UTF-8.
pub(crate) fn inert(html: Vec<u8>, charset: Option<&str>) -> (Vec<u8>, bool) {
    let (mut html, turned) = match utf16(&html, charset) {
        Some(text) => (text.into_bytes(), true),
        None => (html, false),
    };
    for at in 0..html.len() {
        match html[at] {
            b'<' => rename(&mut html, at + 1, b"link", b"meta", |_| true),
            b's' | b'S' => rename(&mut html, at, b"srcdoc", b"no-doc", |rest| {
                rest.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'=')
            }),
            _ => {}
        }
    }
    (html, turned)
}

/// Writes `new` over the letters of `name` where they stand from `at` on, if what follows fits.
fn rename<const N: usize>(
    html: &mut [u8],
    at: usize,
    name: &[u8; N],
    new: &[u8; N],
    fits: impl Fn(&[u8]) -> bool,
) {
    let mut places = [0; N];
    let mut next = at;
    for (place, letter) in places.iter_mut().zip(name) {
        next = after_escapes(html, next);
        if html
            .get(next)
            .is_none_or(|byte| !byte.eq_ignore_ascii_case(letter))
        {
            return;
        }
        *place = next;
        next += 1;
    }
    if fits(&html[after_escapes(html, next)..]) {
        for (place, letter) in places.into_iter().zip(new) {
            html[place] = *letter;
        }
    }
}

/// The first place from `at` on that is no escape sequence (`ESC ( B`, `ESC $ B` and the like).
fn after_escapes(html: &[u8], mut at: usize) -> usize {
    while let Some([0x1b, b'(' | b'$', _]) = html.get(at..at + 3) {
        at += 3;
    }
    at
}

/// The text of UTF-16, told by its mark or by name.
fn utf16(html: &[u8], charset: Option<&str>) -> Option<String> {
    let (big, text) = match html {
        [0xfe, 0xff, text @ ..] => (true, text),
        [0xff, 0xfe, text @ ..] => (false, text),
        [0xef, 0xbb, 0xbf, ..] => return None,
        text => match charset? {
            "utf-16be" | "unicodefffe" => (true, text),
            name if name.starts_with("utf-16") || name.contains("ucs-2") || name.contains("unicode") => {
                (false, text)
            }
            _ => return None,
        },
    };
    let units = text.chunks_exact(2).map(|pair| match big {
        true => u16::from_be_bytes([pair[0], pair[1]]),
        false => u16::from_le_bytes([pair[0], pair[1]]),
    });
    Some(
        char::decode_utf16(units)
            .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(html: &str, expected: &str) {
        let (got, turned) = inert(html.as_bytes().to_vec(), Some("iso-8859-1"));
        assert_eq!(
            (String::from_utf8(got).expect("ASCII"), turned),
            (expected.to_owned(), false)
        );
    }

    #[test]
    fn links_and_srcdoc_lose_their_names_and_nothing_else_does() {
        check("<link rel=preconnect href=x>", "<meta rel=preconnect href=x>");
        check("<LiNk/rel=x><LINK", "<meta/rel=x><meta");
        check("<iframe srcdoc='&lt;link>'>", "<iframe no-doc='&lt;link>'>");
        check("<iframe SRCDOC\n= x>", "<iframe no-doc\n= x>");
        check(
            "about srcdoc and the <b>link</b>, <lin k>, <",
            "about srcdoc and the <b>link</b>, <lin k>, <",
        );
        check("<l\u{1b}(Ji\u{1b}(Bnk>", "<m\u{1b}(Je\u{1b}(Bta>");
        check("<lin", "<lin");
        check("srcdoc", "srcdoc");
    }

    #[test]
    fn utf16_is_turned_first() {
        let le: Vec<u8> = "<link>\u{e4}".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let marked = [&[0xff, 0xfe][..], &le].concat();
        let expected = ("<meta>\u{e4}".as_bytes().to_vec(), true);
        assert_eq!(inert(marked, Some("utf-8")), expected);
        assert_eq!(inert(le, Some("utf-16le")), expected);
        assert_eq!(inert(vec![0xff], Some("utf-16")), (Vec::new(), true));
    }
}
