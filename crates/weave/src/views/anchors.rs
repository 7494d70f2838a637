//! What the links to a URI say of it: their anchor texts, and how many pages of each host say it.
//!
//! Not a view of its own but a part of `inlinks`, for search: a page is found by the words of the anchors that lead to it, and
//! those of many hosts count more. Definition: for each anchor text that is not empty, cut to [`TEXT_BYTES_MAX`], and each host
//! (with its port), the number of current versions of that host that link to the URI with it.
//!
//! The anchors of a URI whose sources stand in its row ([`crate::views::uris`]) stand there, too; there are no more of them
//! than sources. Beyond that they have rows of their own, which begin with the URI's number, big-endian:
//!
//! | key | value |
//! |---|---|
//! | number (8), 0, hash of the text (8) | varint: hosts; the text |
//! | number (8), 1, hash of the text (8), host (4) | varint: pages |
//!
//! So a link that comes or goes costs two small rows, however many there are.

use std::collections::BTreeMap;

use crate::codec::{self, Corrupt, Reader};
use crate::cut::Cut;
use crate::error::SnapshotError;
use crate::rows::AnchorRow;
use crate::tables::Table;
use crate::write::Write;

/// Bytes of an anchor text that count. Links have up to 256 characters; what is longer than this names nothing.
const TEXT_BYTES_MAX: usize = 120;

/// Anchor texts of a page that search is told of.
pub(crate) const SHOWN_MAX: usize = 16;

const TEXT: u8 = 0;
const HOST: u8 = 1;

/// A host, by its hash: two that share one count as one, which changes a weight at most.
pub(crate) type Host = u32;

/// Anchor texts, each with a host and the number of its pages.
pub(crate) type Said = BTreeMap<(String, Host), u64>;

/// One of them.
type Saying = ((String, Host), u64);

/// What comes to [`Said`] and goes.
pub(crate) type Moved = BTreeMap<(String, Host), i64>;

/// The host of a URL key.
pub(crate) fn host_of(url_key: &str) -> Host {
    let host = url_key.split_once(')').map_or(url_key, |(host, _)| host);
    let [a, b, c, d, ..] = *blake3::hash(host.as_bytes()).as_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// The part of an anchor text that counts.
pub(crate) fn cut(text: &str) -> &str {
    let mut end = text.len().min(TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].trim_end()
}

/// What becomes of anchors that stand in the row of their URI.
pub(crate) fn apply(said: &mut Said, moved: Moved) {
    for (at, by) in moved {
        let pages = said.remove(&at).unwrap_or(0).saturating_add_signed(by);
        if pages > 0 {
            said.insert(at, pages);
        }
    }
}

/// The weightiest texts, as search is told of them.
pub(crate) fn shown(said: &Said) -> Vec<AnchorRow> {
    let mut texts: Vec<AnchorRow> = Vec::new();
    for (text, _) in said.keys() {
        match texts.last_mut() {
            Some(last) if last.text == *text => last.hosts += 1,
            _ => texts.push(AnchorRow {
                text: text.clone(),
                hosts: 1,
            }),
        }
    }
    weightiest(texts)
}

/// The first [`SHOWN_MAX`] by weight, then by text: so a host more or less changes them only where it changes a weight.
fn weightiest(mut texts: Vec<AnchorRow>) -> Vec<AnchorRow> {
    texts.sort_unstable_by(|a, b| (b.weight(), &a.text).cmp(&(a.weight(), &b.text)));
    texts.truncate(SHOWN_MAX);
    texts
}

/// Whether search would take two lists for the same.
pub(crate) fn weigh_the_same(a: &[AnchorRow], b: &[AnchorRow]) -> bool {
    a.len() == b.len()
        && a.iter()
            .zip(b)
            .all(|(a, b)| (&a.text, a.weight()) == (&b.text, b.weight()))
}

/// Writes the anchors of a URI that has none in rows of their own.
pub(crate) fn put_all(write: &mut Write<'_>, number: u64, said: &Said) {
    for (key, value) in rows(number, said) {
        write.put(Table::Anchors, key, value);
    }
}

/// The rows of a URI's anchors, sorted by key.
pub(crate) fn rows(number: u64, said: &Said) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let (mut rows, mut hosts) = (BTreeMap::new(), BTreeMap::<&str, u64>::new());
    for ((text, host), pages) in said {
        *hosts.entry(text).or_default() += 1;
        rows.insert(host_key(number, hash(text), *host), host_row(*pages));
    }
    for (text, hosts) in hosts {
        rows.insert(text_key(number, hash(text)), text_row(text, hosts));
    }
    rows
}

/// Moves anchors that have rows of their own; gives the texts whose number of hosts is another now.
pub(crate) fn apply_to_rows(
    cut: &Cut,
    write: &mut Write<'_>,
    number: u64,
    moved: Moved,
) -> Result<BTreeMap<Vec<u8>, Recount>, SnapshotError> {
    let mut recounts: BTreeMap<Vec<u8>, (String, i64)> = BTreeMap::new();
    for ((text, host), by) in moved.into_iter().filter(|(_, by)| *by != 0) {
        let hash = hash(&text);
        let key = host_key(number, hash, host);
        let before = match cut.get(Table::Anchors, &key)? {
            Some(row) => cut.decode(Table::Anchors, &key, Reader::new(&row).varint())?,
            None => 0,
        };
        let now = before.saturating_add_signed(by);
        let hosts = i64::from(now > 0) - i64::from(before > 0);
        if now > 0 {
            write.put(Table::Anchors, key, host_row(now));
        } else if before > 0 {
            write.remove(Table::Anchors, key);
        }
        if hosts != 0 {
            recounts.entry(text_key(number, hash)).or_insert((text, 0)).1 += hosts;
        }
    }
    let mut recounted = BTreeMap::new();
    for (key, (text, by)) in recounts {
        let before = match cut.get(Table::Anchors, &key)? {
            Some(row) => cut.decode(Table::Anchors, &key, decode_text(&row))?.hosts,
            None => 0,
        };
        let hosts = before.saturating_add_signed(by);
        if hosts > 0 {
            write.put(Table::Anchors, key.clone(), text_row(&text, hosts));
        } else if before > 0 {
            write.remove(Table::Anchors, key.clone());
        }
        let now = AnchorRow { text, hosts };
        recounted.insert(key, Recount { before, now });
    }
    Ok(recounted)
}

/// A text whose number of hosts an epoch changed.
pub(crate) struct Recount {
    before: u64,
    now: AnchorRow,
}

impl Recount {
    fn changes_weight(&self) -> bool {
        let before = AnchorRow {
            text: String::new(),
            hosts: self.before,
        };
        before.weight() != self.now.weight()
    }
}

/// What search is told of anchors in rows of their own, as the cut has them but for what an epoch changed; `None` where
/// that changed nothing of it, unless `always`.
pub(crate) fn shown_of_rows(
    cut: &Cut,
    number: u64,
    mut recounted: BTreeMap<Vec<u8>, Recount>,
    always: bool,
) -> Result<Option<Vec<AnchorRow>>, SnapshotError> {
    if !always && !recounted.values().any(Recount::changes_weight) {
        return Ok(None);
    }
    let mut texts = Vec::new();
    for row in cut.prefix(Table::Anchors, &prefix(number, TEXT)) {
        let (key, value) = row?;
        match recounted.remove(&*key) {
            Some(recount) => texts.push(recount.now),
            None => texts.push(cut.decode(Table::Anchors, &key, decode_text(&value))?),
        }
    }
    texts.extend(recounted.into_values().map(|recount| recount.now));
    texts.retain(|anchor| anchor.hosts > 0);
    Ok(Some(weightiest(texts)))
}

/// All rows of a URI's anchors.
pub(crate) fn stored(cut: &Cut, number: u64) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, SnapshotError> {
    let rows = cut.prefix(Table::Anchors, &number.to_be_bytes());
    rows.map(|row| {
        let (key, value) = row?;
        Ok((key.to_vec(), value.to_vec()))
    })
    .collect()
}

/// Anchors in rows of their own, and the number of these rows.
///
/// # Errors
/// [`SnapshotError`] also where the rows contradict each other.
pub(crate) fn read(cut: &Cut, number: u64) -> Result<(Said, u64), SnapshotError> {
    let stored = stored(cut, number)?;
    let (mut said, mut texts) = (Said::new(), BTreeMap::new());
    for (key, value) in &stored {
        let decoded = read_row(key, value, &mut texts);
        said.extend(cut.decode(Table::Anchors, key, decoded)?);
    }
    let agree = rows(number, &said) == stored;
    let decoded = agree
        .then_some(())
        .ok_or(Corrupt("texts and hosts contradict each other"));
    cut.decode(Table::Anchors, &number.to_be_bytes(), decoded)?;
    Ok((said, stored.len() as u64))
}

/// Of a row of a text, its text (into `texts`, by hash); of a row of a host, what is said: it comes after that of the text.
fn read_row(
    key: &[u8],
    value: &[u8],
    texts: &mut BTreeMap<Vec<u8>, String>,
) -> Result<Option<Saying>, Corrupt> {
    let mut r = Reader::new(key);
    r.take(8)?;
    match r.u8()? {
        TEXT => {
            texts.insert(r.rest().to_vec(), decode_text(value)?.text);
            Ok(None)
        }
        HOST => {
            let text = texts.get(r.take(8)?).ok_or(Corrupt("host of no text"))?;
            let host = r
                .rest()
                .try_into()
                .map_err(|_| Corrupt("host of another length"))?;
            let pages = Reader::new(value).varint()?;
            Ok(Some(((text.clone(), u32::from_be_bytes(host)), pages)))
        }
        _ => Err(Corrupt("unknown kind of row")),
    }
}

/// Appends anchors to the row of their URI.
pub(crate) fn put_inline(out: &mut Vec<u8>, said: &Said) {
    codec::put_varint(out, said.len() as u64);
    let mut previous = "";
    for ((text, host), pages) in said {
        codec::put_front_coded(out, previous.as_bytes(), text.as_bytes());
        out.extend_from_slice(&host.to_le_bytes());
        codec::put_varint(out, *pages);
        previous = text;
    }
}

/// Reads what [`put_inline`] wrote.
pub(crate) fn get_inline(r: &mut Reader<'_>) -> Result<Said, Corrupt> {
    let (mut said, mut text) = (Said::new(), Vec::new());
    for _ in 0..r.varint()? {
        r.front_coded(&mut text)?;
        let host = r.take(4)?.try_into().map_err(|_| Corrupt("host too short"))?;
        let host = u32::from_le_bytes(host);
        said.insert((codec::to_text(&text)?, host), r.varint()?);
    }
    Ok(said)
}

fn hash(text: &str) -> [u8; 8] {
    let [a, b, c, d, e, f, g, h, ..] = *blake3::hash(text.as_bytes()).as_bytes();
    [a, b, c, d, e, f, g, h]
}

fn prefix(number: u64, kind: u8) -> Vec<u8> {
    [&number.to_be_bytes()[..], &[kind]].concat()
}

fn text_key(number: u64, hash: [u8; 8]) -> Vec<u8> {
    [&prefix(number, TEXT)[..], &hash].concat()
}

fn host_key(number: u64, hash: [u8; 8], host: Host) -> Vec<u8> {
    [&prefix(number, HOST)[..], &hash, &host.to_be_bytes()].concat()
}

fn host_row(pages: u64) -> Vec<u8> {
    let mut row = Vec::new();
    codec::put_varint(&mut row, pages);
    row
}

fn text_row(text: &str, hosts: u64) -> Vec<u8> {
    let mut row = host_row(hosts);
    row.extend_from_slice(text.as_bytes());
    row
}

fn decode_text(row: &[u8]) -> Result<AnchorRow, Corrupt> {
    let mut r = Reader::new(row);
    let hosts = r.varint()?;
    Ok(AnchorRow {
        text: codec::to_text(r.rest())?,
        hosts,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(said: &[(&str, Host, u64)]) -> Said {
        let said = said.iter();
        said.map(|(text, host, pages)| (((*text).to_owned(), *host), *pages))
            .collect()
    }

    #[test]
    fn inline_anchors_come_back_and_cut_ones_are_errors() {
        let said = said(&[("home", 1, 3), ("home", 9, 1), ("hotel", 1, 300)]);
        let mut row = Vec::new();
        put_inline(&mut row, &said);
        assert_eq!(get_inline(&mut Reader::new(&row)), Ok(said));
        for end in 0..row.len() {
            assert!(get_inline(&mut Reader::new(&row[..end])).is_err());
        }
    }

    #[test]
    fn texts_of_many_hosts_come_first() {
        let mut all: Vec<(&str, Host, u64)> = vec![("b", 1, 900), ("a", 1, 1), ("c", 1, 1), ("c", 2, 1)];
        assert_eq!(
            shown(&said(&all))
                .iter()
                .map(|a| (a.text.as_str(), a.hosts))
                .collect::<Vec<_>>(),
            [("c", 2), ("a", 1), ("b", 1)]
        );
        let names: Vec<String> = (0..40).map(|n| format!("n{n:02}")).collect();
        all.extend(names.iter().map(|name| (name.as_str(), 5, 1)));
        let shown = shown(&said(&all));
        assert_eq!(shown.len(), SHOWN_MAX);
        assert_eq!(shown[SHOWN_MAX - 1].text, "n12");
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(cut("read more"), "read more");
        assert_eq!(cut(&"é".repeat(100)).len(), 120);
        assert_eq!(cut(&format!("a{}", "é".repeat(100))).len(), 119);
        assert_eq!(cut(&format!("{} end", "x".repeat(119))), "x".repeat(119));
    }
}
