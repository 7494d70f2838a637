//! Rows of the serving tables (docs/format-serving.md) as JSON lines, each table in the order of its
//! key.
//!
//! Unlike dumps, these rows have the numbers of inputs, so they depend on the order of loading.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::str::FromStr;

use extract::{CaptureKind, Link};
use serde::Serialize;

use super::rows::{pack_rank, unpack_rank};
use crate::codec::{self, Corrupt, Reader};
use crate::dump::DumpNameError;
use crate::error::DumpError;
use crate::rows::KeyRange;
use crate::snapshot::Snapshot;
use crate::sort::Sorter;
use crate::tables::Table;
use crate::views::capture_key::split_key;
use crate::views::{captures, index_lines, links, uris};

/// Characters of a text in a table. Answers about a page show no more.
const PREVIEW_CHARS: usize = 2000;

/// A serving table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the tables")]
pub enum ServingRows {
    Inputs,
    Captures,
    Aliases,
    Versions,
    Outlinks,
    Inlinks,
    Uris,
    Domains,
    Top,
    Previews,
    PastVersions,
    Attachments,
}

impl ServingRows {
    /// All of them.
    pub const ALL: [ServingRows; 12] = [
        ServingRows::Inputs,
        ServingRows::Captures,
        ServingRows::Aliases,
        ServingRows::Versions,
        ServingRows::Outlinks,
        ServingRows::Inlinks,
        ServingRows::Uris,
        ServingRows::Domains,
        ServingRows::Top,
        ServingRows::Previews,
        ServingRows::PastVersions,
        ServingRows::Attachments,
    ];

    /// Name in a request for a dump. Views have some of the same names.
    pub fn name(self) -> &'static str {
        match self {
            ServingRows::Inputs => "serving/inputs",
            ServingRows::Captures => "serving/captures",
            ServingRows::Aliases => "serving/aliases",
            ServingRows::Versions => "serving/versions",
            ServingRows::Outlinks => "serving/outlinks",
            ServingRows::Inlinks => "serving/inlinks",
            ServingRows::Uris => "serving/uris",
            ServingRows::Domains => "serving/domains",
            ServingRows::Top => "serving/top",
            ServingRows::Previews => "serving/previews",
            ServingRows::PastVersions => "serving/past_versions",
            ServingRows::Attachments => "serving/attachments",
        }
    }
}

impl FromStr for ServingRows {
    type Err = DumpNameError;

    fn from_str(name: &str) -> Result<ServingRows, DumpNameError> {
        let known = ServingRows::ALL.into_iter().find(|rows| rows.name() == name);
        known.ok_or_else(|| DumpNameError::Serving(name.to_owned()))
    }
}

#[derive(Serialize)]
struct InputLine<'a> {
    input_number: u32,
    input: &'a str,
    location: &'a str,
    digest: &'a str,
    collection: &'a str,
}

#[derive(Serialize)]
struct CaptureLine<'a> {
    url_key: &'a str,
    fetch_time: i64,
    input_number: u32,
    offset: u64,
    url: &'a str,
    mime: &'a str,
    status: u16,
    method: &'a str,
    digest: &'a str,
    length: u64,
    kind: &'static str,
    index_only: bool,
    is_damaged: bool,
    record_offset: Option<u64>,
    filename: Option<&'a str>,
    original_url_key: Option<&'a str>,
    original_fetch_time: Option<i64>,
    original_input_number: Option<u32>,
    original_offset: Option<u64>,
}

#[derive(Serialize)]
struct AliasLine<'a> {
    url_key: &'a str,
    input_number: u32,
    line_offset: u64,
    alias_of: &'a str,
}

#[derive(Serialize)]
struct VersionLine<'a> {
    url_key: &'a str,
    fetch_time: i64,
    last_seen: i64,
    input_number: u32,
    offset: u64,
    url: &'a str,
    kind: &'static str,
    status: u16,
    mime: &'a str,
    digest: &'a str,
    is_page: bool,
    is_document: bool,
    title: &'a str,
    language: &'a str,
    canonical: Option<&'a str>,
    robots: Option<&'a str>,
    links: u32,
    links_dropped: u32,
    text_truncated: Option<bool>,
}

#[derive(Serialize)]
struct LinkLine<'a> {
    source_key: &'a str,
    target_key: &'a str,
    target_url: &'a str,
    anchor: &'a str,
    nofollow: bool,
}

#[derive(Serialize)]
struct UriLine<'a> {
    url_key: &'a str,
    domain: &'a str,
    captured: bool,
    is_page: bool,
    inlinks: u64,
    inlinks_external: u64,
}

#[derive(Serialize)]
struct TopLine<'a> {
    domain: &'a str,
    rank: u64,
    url_key: &'a str,
    inlinks: u64,
    inlinks_external: u64,
}

#[derive(Serialize)]
struct PreviewLine<'a> {
    url_key: &'a str,
    since: i64,
    text_preview: String,
}

#[derive(Serialize)]
struct PastVersionLine<'a> {
    url_key: &'a str,
    number: usize,
    since: i64,
    until: Option<i64>,
    fetch_time: i64,
    url: &'a str,
    title: &'a str,
    mime: &'a str,
    language: &'a str,
    digest: &'a str,
    collection: &'a str,
    page: Option<&'a str>,
    text_name: Option<String>,
    text_preview: Option<String>,
}

#[derive(Serialize)]
struct AttachmentLine<'a> {
    url_key: &'a str,
    fetch_time: i64,
    input_number: u32,
    offset: u64,
    url: &'a str,
    mime: &'a str,
    status: u16,
    digest: &'a str,
    length: u64,
}

/// Writes rows as JSON lines and counts them.
struct Lines<'o> {
    out: BufWriter<&'o mut dyn Write>,
    rows: u64,
}

impl Lines<'_> {
    fn row(&mut self, row: &impl Serialize) -> Result<(), DumpError> {
        self.rows += 1;
        serde_json::to_writer(&mut self.out, row).map_err(|error| DumpError::Output(error.into()))?;
        self.out.write_all(b"\n").map_err(DumpError::Output)
    }
}

impl Snapshot {
    /// Writes all rows of a serving table and returns their number.
    ///
    /// # Errors
    /// As [`Snapshot::dump`].
    pub fn dump_serving(&self, rows: ServingRows, out: &mut dyn Write) -> Result<u64, DumpError> {
        let mut lines = Lines {
            out: BufWriter::with_capacity(1 << 16, out),
            rows: 0,
        };
        match rows {
            ServingRows::Inputs => self.serve_inputs(&mut lines)?,
            ServingRows::Captures => self.serve_captures(&mut lines)?,
            ServingRows::Aliases => self.serve_aliases(&mut lines)?,
            ServingRows::Versions => self.serve_versions(&mut lines)?,
            ServingRows::Outlinks => self.serve_outlinks(&mut lines)?,
            ServingRows::Inlinks => self.serve_inlinks(&mut lines)?,
            ServingRows::Uris => self.serve_uris(&mut lines)?,
            ServingRows::Domains => {
                for row in self.all_domains(None) {
                    lines.row(&row?)?;
                }
            }
            ServingRows::Top => self.serve_top(&mut lines)?,
            ServingRows::Previews => self.serve_previews(&mut lines)?,
            ServingRows::PastVersions => self.serve_past_versions(&mut lines)?,
            ServingRows::Attachments => self.serve_attachments(&mut lines)?,
        }
        lines.out.flush().map_err(DumpError::Output)?;
        Ok(lines.rows)
    }

    fn serve_inputs(&self, lines: &mut Lines<'_>) -> Result<(), DumpError> {
        for (id, entry) in self.ledger()? {
            lines.row(&InputLine {
                input_number: id.0,
                input: &entry.input,
                location: &entry.location,
                digest: &entry.digest,
                collection: &entry.collection,
            })?;
        }
        Ok(())
    }

    fn serve_captures(&self, lines: &mut Lines<'_>) -> Result<(), DumpError> {
        let mut walk = self.captures_and_lines(KeyRange::All, false, None);
        while let Some(capture) = walk.next().transpose()? {
            let split = split_key(walk.cursor()).map(|(_, place)| place);
            let place = self.cut().decode(Table::Captures, walk.cursor(), split)?;
            let original = match capture.kind {
                CaptureKind::Revisit if !capture.index_only => {
                    captures::at(self.cut(), &capture.url_key, &place)?
                        .and_then(|stored| stored.capture.original)
                }
                _ => None,
            };
            let original = original.as_deref();
            lines.row(&CaptureLine {
                url_key: &capture.url_key,
                fetch_time: capture.fetch_time_ms,
                input_number: place.input.0,
                offset: place.offset,
                url: &capture.url,
                mime: &capture.mime,
                status: capture.status,
                method: &capture.method,
                digest: &capture.digest,
                length: capture.length,
                kind: capture.kind.name(),
                index_only: capture.index_only,
                is_damaged: capture.is_damaged,
                record_offset: capture.index_only.then_some(capture.offset),
                filename: capture.index_only.then_some(capture.input_name.as_str()),
                original_url_key: original.map(|original| original.url_key.as_str()),
                original_fetch_time: original.map(|original| original.fetch_time_ms),
                original_input_number: original.map(|original| original.input),
                original_offset: original.map(|original| original.offset),
            })?;
        }
        Ok(())
    }

    fn serve_aliases(&self, lines: &mut Lines<'_>) -> Result<(), DumpError> {
        for row in self.cut().iter(Table::IndexLines) {
            let (key, value) = row?;
            let decoded = index_lines::decode(&key, &value);
            let (input, line) = self.cut().decode(Table::IndexLines, &key, decoded)?;
            if let Some(alias_of) = &line.alias_of {
                lines.row(&AliasLine {
                    url_key: &line.url_key,
                    input_number: input.0,
                    line_offset: line.offset,
                    alias_of,
                })?;
            }
        }
        Ok(())
    }

    fn serve_versions(&self, lines: &mut Lines<'_>) -> Result<(), DumpError> {
        for key in self.version_keys() {
            let (url_key, _) = key?;
            let Some(version) = self.version(&url_key)? else {
                continue;
            };
            lines.row(&VersionLine {
                url_key: &url_key,
                fetch_time: version.fetch_time_ms,
                last_seen: version.last_seen_ms,
                input_number: version.input.0,
                offset: version.offset,
                url: &version.url,
                kind: version.kind.name(),
                status: version.status,
                mime: &version.mime,
                digest: &version.digest,
                is_page: version.is_page,
                is_document: version.is_document,
                title: &version.title,
                language: &version.language,
                canonical: version.canonical.as_deref(),
                robots: version.robots.as_deref(),
                links: version.links,
                links_dropped: version.links_dropped,
                text_truncated: version.text_truncated,
            })?;
        }
        Ok(())
    }

    fn serve_previews(&self, lines: &mut Lines<'_>) -> Result<(), DumpError> {
        for key in self.version_keys() {
            let (url_key, _) = key?;
            let (since, _) = self.history(&url_key)?;
            lines.row(&PreviewLine {
                url_key: &url_key,
                since,
                text_preview: preview(self.text(&url_key)?),
            })?;
        }
        Ok(())
    }

    fn serve_past_versions(&self, lines: &mut Lines<'_>) -> Result<(), DumpError> {
        for key in self.version_keys() {
            let (url_key, _) = key?;
            let (_, past) = self.history(&url_key)?;
            for (number, past) in past.iter().enumerate() {
                // The present state of another page is shown with its text.
                let text_preview = match past.text.filter(|_| past.is_open()) {
                    Some(text) => Some(preview(self.past_text(&url_key, text)?)),
                    None => None,
                };
                lines.row(&PastVersionLine {
                    url_key: &url_key,
                    number,
                    since: past.since_ms,
                    until: (!past.is_open()).then_some(past.until_ms),
                    fetch_time: past.fetch_time_ms,
                    url: &past.url,
                    title: &past.title,
                    mime: &past.mime,
                    language: &past.language,
                    digest: &past.digest,
                    collection: &past.collection,
                    page: past.page.as_deref(),
                    text_name: past
                        .text
                        .map(|name| format!("{:032x}", u128::from_be_bytes(name))),
                    text_preview,
                })?;
            }
        }
        Ok(())
    }

    fn serve_attachments(&self, lines: &mut Lines<'_>) -> Result<(), DumpError> {
        for row in self.cut().iter(Table::IndexLines) {
            let (key, value) = row?;
            let decoded = index_lines::decode(&key, &value);
            let (input, line) = self.cut().decode(Table::IndexLines, &key, decoded)?;
            if line.is_attachment() {
                lines.row(&AttachmentLine {
                    url_key: &line.url_key,
                    fetch_time: line.fetch_time_ms,
                    input_number: input.0,
                    offset: line.record_offset,
                    url: &line.url,
                    mime: &line.mime,
                    status: line.status,
                    digest: &line.digest,
                    length: line.record_length,
                })?;
            }
        }
        Ok(())
    }

    fn serve_outlinks(&self, lines: &mut Lines<'_>) -> Result<(), DumpError> {
        for row in self.cut().iter(Table::Links) {
            let (key, value) = row?;
            let source_key = self.cut().decode(Table::Links, &key, codec::to_text(&key))?;
            for link in links::read_row(self.cut(), &key, &value, |_| true)? {
                lines.row(&LinkLine {
                    source_key: &source_key,
                    target_key: &link.url_key,
                    target_url: &link.url,
                    anchor: &link.anchor,
                    nofollow: link.nofollow,
                })?;
            }
        }
        Ok(())
    }

    fn serve_inlinks(&self, lines: &mut Lines<'_>) -> Result<(), DumpError> {
        let mut sorter = Sorter::new(self.dir());
        for row in self.cut().iter(Table::Links) {
            let (key, value) = row?;
            for link in links::read_row(self.cut(), &key, &value, |_| true)? {
                sorter
                    .push(&pack_link(&key, &link))
                    .map_err(scratch(self.dir()))?;
            }
        }
        for row in sorter.finish().map_err(scratch(self.dir()))? {
            let row = row.map_err(scratch(self.dir()))?;
            let link = self.cut().decode(Table::Links, &row, unpack_link(&row))?;
            lines.row(&link)?;
        }
        Ok(())
    }

    fn serve_uris(&self, lines: &mut Lines<'_>) -> Result<(), DumpError> {
        for row in uris::scan(self.cut()) {
            let (key, value) = row?;
            let url_key = self.cut().decode(Table::Uris, &key, codec::to_text(&key))?;
            let uri = self
                .cut()
                .decode(Table::Uris, &key, uris::decode_counts(&value))?;
            lines.row(&UriLine {
                url_key: &url_key,
                domain: &urlkey::domain_of_key(&url_key),
                captured: uri.captured,
                is_page: uri.is_page,
                inlinks: uri.counts.inlinks,
                inlinks_external: uri.counts.inlinks_external,
            })?;
        }
        Ok(())
    }

    /// Writes the ranking of all URIs, then that of each domain.
    fn serve_top(&self, lines: &mut Lines<'_>) -> Result<(), DumpError> {
        let mut sorter = Sorter::new(self.dir());
        for row in uris::scan(self.cut()) {
            let (key, value) = row?;
            let url_key = self.cut().decode(Table::Uris, &key, codec::to_text(&key))?;
            let uri = self
                .cut()
                .decode(Table::Uris, &key, uris::decode_counts(&value))?;
            let rank = pack_rank(uri.counts, &key);
            let domain = urlkey::domain_of_key(&url_key);
            let mut scopes = vec![""];
            // Keys of other schemes have no domain.
            if !domain.is_empty() {
                scopes.push(&domain);
            }
            for scope in scopes {
                let mut row = scope.as_bytes().to_vec();
                row.push(0);
                row.extend_from_slice(&rank);
                sorter.push(&row).map_err(scratch(self.dir()))?;
            }
        }
        let (mut last, mut rank) = (String::new(), 0);
        for row in sorter.finish().map_err(scratch(self.dir()))? {
            let row = row.map_err(scratch(self.dir()))?;
            let (domain, packed) = self.cut().decode(Table::Uris, &row, split_scope(&row))?;
            let ranked = self.cut().decode(Table::Uris, &row, unpack_rank(packed))?;
            if domain != last {
                (last, rank) = (domain.to_owned(), 0);
            }
            rank += 1;
            lines.row(&TopLine {
                domain,
                rank,
                url_key: &ranked.url_key,
                inlinks: ranked.counts.inlinks,
                inlinks_external: ranked.counts.inlinks_external,
            })?;
        }
        Ok(())
    }
}

/// Returns the beginning of a text.
fn preview(text: Option<String>) -> String {
    text.unwrap_or_default().chars().take(PREVIEW_CHARS).collect()
}

/// Returns the conversion of an error of a temporary file in `dir`.
fn scratch(dir: &Path) -> impl Fn(std::io::Error) -> DumpError + '_ {
    move |source| DumpError::Scratch {
        dir: dir.display().to_string(),
        source,
    }
}

/// Encodes a link so that rows sort by target, then source. A NUL ends each key; URL keys contain
/// none.
fn pack_link(source_key: &[u8], link: &Link) -> Vec<u8> {
    let mut row = Vec::with_capacity(source_key.len() + link.url_key.len() + link.url.len() + 16);
    for key in [link.url_key.as_bytes(), source_key] {
        row.extend_from_slice(key);
        row.push(0);
    }
    row.push(u8::from(link.nofollow));
    codec::put_bytes(&mut row, link.url.as_bytes());
    codec::put_bytes(&mut row, link.anchor.as_bytes());
    row
}

fn unpack_link(row: &[u8]) -> Result<LinkLine<'_>, Corrupt> {
    let bad = Corrupt("truncated sorted row");
    let text = |bytes| std::str::from_utf8(bytes).map_err(|_| Corrupt("text is not UTF-8"));
    let mut parts = row.splitn(3, |&b| b == 0);
    let target_key = text(parts.next().ok_or(bad)?)?;
    let source_key = text(parts.next().ok_or(bad)?)?;
    let mut rest = Reader::new(parts.next().ok_or(bad)?);
    Ok(LinkLine {
        source_key,
        target_key,
        nofollow: rest.u8()? == 1,
        target_url: rest.str()?,
        anchor: rest.str()?,
    })
}

/// Splits a row of a ranking into its domain and the rest.
fn split_scope(row: &[u8]) -> Result<(&str, &[u8]), Corrupt> {
    let end = row.iter().position(|&b| b == 0);
    let (domain, rest) = end
        .and_then(|end| row.split_at_checked(end))
        .ok_or(Corrupt("truncated sorted row"))?;
    let domain = std::str::from_utf8(domain).map_err(|_| Corrupt("text is not UTF-8"))?;
    Ok((domain, rest.get(1..).unwrap_or_default()))
}
