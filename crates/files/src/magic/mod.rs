//! What the first bytes of a file say it is.
//!
//! Invariants:
//!  - any bytes may come, cut anywhere: nothing panics, and no more than [`INFLATED_BYTES`] are made of them;
//!  - what says little gives way: a name that says what is in a container, or in a compressed file that cannot be looked into, is
//!    believed, and so is one that says which of several formats of the same form it is.

mod archive;
mod unpack;

use crate::format::Format;

/// Bytes of a file that are read, at most.
pub(crate) const HEAD_BYTES: usize = 4096;

/// Bytes that the beginning of a compressed file is inflated to, at most.
const INFLATED_BYTES: usize = 1024;

/// What a head says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Said {
    format: Format,
    /// Whether it is compressed by something that is not looked into.
    is_closed: bool,
}

/// What the first bytes of a file say, if anything.
pub(crate) fn said(head: &[u8]) -> Option<Said> {
    let open = |format| {
        Some(Said {
            format,
            is_closed: false,
        })
    };
    if let Some(format) = archive::of_text(head) {
        return open(format);
    }
    if archive::is_wacz(head) {
        return open(named("wacz"));
    }
    if unpack::is_web_archive(head) {
        return open(named("warc"));
    }
    if let Some(inside) = unpack::inside(head) {
        let compressed = named("compressed");
        let is_tar = || general(&inside).filter(|format| *format == named("package"));
        return open(archive::of_text(&inside).or_else(is_tar).unwrap_or(compressed));
    }
    general(head).map(|format| Said {
        format,
        is_closed: format == named("compressed"),
    })
}

/// The format of a file, by its name and by what its first bytes say.
pub(crate) fn decided(by_name: Format, said: Option<Said>) -> Format {
    match said {
        Some(said) if by_name.says_nothing() || !is_believed(by_name, said) => said.format,
        _ => by_name,
    }
}

/// Whether a name that says something is believed against content of another form.
fn is_believed(by_name: Format, said: Said) -> bool {
    let name = by_name.name();
    match said.format.name() {
        // Metadata and texts of captures are records of WARC.
        "warc" => matches!(name, "wat" | "wet"),
        "compressed" => said.is_closed,
        // Documents, tables, programs for virtual machines are zip files.
        "package" => matches!(name, "office" | "wacz" | "table" | "program" | "database"),
        "html" => matches!(name, "text" | "source" | "data" | "office"),
        "data" => matches!(
            name,
            "text" | "source" | "html" | "image" | "office" | "database" | "cdx"
        ),
        "source" => matches!(name, "text" | "data" | "program" | "html"),
        // The same containers hold either.
        "audio" | "video" => matches!(name, "audio" | "video"),
        "image" | "scan" => matches!(name, "image" | "scan"),
        "cdx" => matches!(name, "text" | "data"),
        _ => false,
    }
}

/// The format of this name; a test looks at all that are named here.
fn named(name: &'static str) -> Format {
    Format::named(name).unwrap_or_default()
}

/// Formats that are no web archives.
fn general(head: &[u8]) -> Option<Format> {
    use infer::MatcherType;
    let kind = infer::get(head)?;
    let matcher = kind.matcher_type();
    // Two bytes are enough for some, with which any text may begin.
    if matches!(
        matcher,
        MatcherType::App | MatcherType::Image | MatcherType::Audio
    ) && is_text(head)
    {
        return None;
    }
    if let Some(format) = Format::of_end(kind.extension()) {
        return Some(format);
    }
    Some(named(match (matcher, kind.extension()) {
        (_, "bz3" | "lz") => "compressed",
        (_, "elf" | "mach" | "dex" | "dey" | "bc" | "obj") => "program",
        (_, "par2" | "crx" | "cab" | "ar" | "msi" | "cpio") => "package",
        (MatcherType::Image, _) => "image",
        (MatcherType::Video, _) => "video",
        (MatcherType::Audio, _) => "audio",
        (MatcherType::Book | MatcherType::Doc, _) => "office",
        _ => return None,
    }))
}

/// Whether bytes begin as text: no control characters but white space.
fn is_text(head: &[u8]) -> bool {
    let is_of_text = |byte: &u8| *byte >= b' ' || matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c);
    head.iter().take(64).all(is_of_text) && std::str::from_utf8(head.get(..32).unwrap_or(head)).is_ok()
}

#[cfg(test)]
mod tests;
