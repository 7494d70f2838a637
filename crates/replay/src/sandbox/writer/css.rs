//! CSS in an archived page.

/// Writes CSS so that no tag can begin in it. A `<` that cannot begin a tag is kept, because it may
/// be a comparison, as in `width < 600px`.
pub(super) fn write_css(css: &[u8], into: &mut Vec<u8>) {
    // Marks that hide CSS from old browsers or from XML.
    const MARKS: [&[u8]; 3] = [b"<!--", b"<![CDATA[", b"]]>"];
    let mut rest = css;
    while let Some((&byte, after)) = rest.split_first() {
        if let Some(mark) = MARKS.iter().find(|mark| rest.starts_with(mark)) {
            // A space keeps the parts on both sides from forming a new mark or tag.
            into.push(b' ');
            rest = &rest[mark.len()..];
            continue;
        }
        let begins = |next: &u8| next.is_ascii_alphabetic() || matches!(next, b'/' | b'!' | b'?');
        match byte {
            b'<' if after.first().is_none_or(begins) => into.extend_from_slice(b"\\3c "),
            _ => into.push(byte),
        }
        rest = after;
    }
}
