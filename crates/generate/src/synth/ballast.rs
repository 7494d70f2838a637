//! Page content besides links and text: images, scripts, styles. Readers skip it but must read it;
//! without it, records would be far smaller than those of real crawls.
//!
//! By Weft's definition this content contains no links, so the links of a page do not depend on its
//! ballast.

use std::fmt::Write;

use super::member::Ballast;
use super::random::Random;
use super::web::Web;

/// Number of pieces of each kind to choose from.
const PIECES: u64 = 256;

/// Number of entries of a WAT link list in one piece: about 4 KB, 700 bytes compressed.
const WAT_ENTRIES: u64 = 36;

/// Number of statements in one piece of an HTML script: about 2 KB compressed.
const SCRIPT_STATEMENTS: u64 = 60;

/// Precomputed pieces in one format.
#[derive(Debug)]
pub(super) struct Ballasts {
    pieces: Vec<Ballast>,
}

impl Ballasts {
    /// Returns pieces of a WAT `Links` array, each entry preceded by its comma.
    pub(super) fn of_wat(web: &Web) -> Ballasts {
        Ballasts::new(web, 1, append_wat_entries)
    }

    /// Returns script and style elements.
    pub(super) fn of_html(web: &Web) -> Ballasts {
        Ballasts::new(web, 2, append_script)
    }

    fn new(web: &Web, kind: u64, append: fn(&Web, &mut Random, &mut String)) -> Ballasts {
        let piece = |number| {
            let mut text = String::new();
            append(web, &mut Random::of(web.seed, &[30, kind, number]), &mut text);
            Ballast::new(text)
        };
        Ballasts {
            pieces: (0..PIECES).map(piece).collect(),
        }
    }

    /// Returns `count` pieces, chosen by `random`.
    pub(super) fn choose(&self, count: u64, random: &mut Random) -> Vec<&Ballast> {
        (0..count).map(|_| random.pick(&self.pieces)).collect()
    }
}

/// Appends a gallery: images from one folder under a few names, and sometimes a link without a
/// target.
fn append_wat_entries(web: &Web, random: &mut Random, out: &mut String) {
    let mut folder = String::from("https://cdn.");
    web.words.append_plain(random, &mut folder);
    folder.push_str(".example/media/");
    web.words.append_plain(random, &mut folder);
    let names: Vec<String> = (0..4)
        .map(|_| {
            let mut name = String::new();
            web.words.append_phrase(3, random, &mut name);
            name
        })
        .collect();
    for _ in 0..WAT_ENTRIES {
        let number = random.bits() as u16;
        match random.below(12) {
            0 => out.push_str(r##",{"path":"A@/href","url":"#"}"##),
            1 => out.push_str(r#",{"path":"A@/href","url":"javascript:void(0)"}"#),
            _ => push(
                out,
                format_args!(
                    r#",{{"path":"IMG@/src","url":"{folder}/{number:04x}-300x200.jpg","alt":"{}"}}"#,
                    random.pick(&names)
                ),
            ),
        }
    }
}

fn append_script(web: &Web, random: &mut Random, out: &mut String) {
    out.push_str("<script>\n");
    for _ in 0..SCRIPT_STATEMENTS {
        out.push_str("  window.");
        web.words.append_plain(random, out);
        push(out, format_args!("={{id:0x{:x},", random.bits() as u32));
        web.words.append_plain(random, out);
        push(
            out,
            format_args!(":[{},{}],name:\"", random.below(1000), random.below(100_000)),
        );
        web.words.append_phrase(3, random, out);
        out.push_str("\"};\n");
    }
    out.push_str("</script>\n");
}

/// Appends formatted text. Writing to a `String` never fails.
pub(super) fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}
