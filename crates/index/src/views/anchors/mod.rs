//! Anchor texts of the links to a URI, and the number of pages of each host that use them.
//!
//! They are part of `inlinks`, for search: a page is found by the words of its anchors, and texts
//! of many hosts weigh more. Definition: for each non-empty anchor text, cut to [`TEXT_BYTES_MAX`],
//! and each host (with its port), the number of current versions of that host that link to the URI
//! with it.
//!
//! At most [`INLINE_MAX`] anchors are stored in the row of their URI ([`crate::views::uris`]),
//! which is nearly always enough: that row is read and written for its counts anyway. A URI with
//! more has its anchors in table `anchors` ([`rows`]), and keeps them there.

pub(crate) mod rows;

use std::collections::BTreeMap;

use crate::codec::{self, Corrupt, Reader};
use crate::cut::Cut;
use crate::error::SnapshotError;
use crate::rows::AnchorRow;

/// Bytes of an anchor text that count. Links have up to 256 characters, but longer texts are not
/// names.
const TEXT_BYTES_MAX: usize = 120;

/// Maximum number of anchor texts of a page that are reported to search.
pub(crate) const SHOWN_MAX: usize = 16;

/// Maximum number of pairs of text and host in the row of a URI: some hundred bytes, which are
/// rewritten with each link. A URI with more anchors has more sources than its row holds, and so it
/// has a number.
pub(crate) const INLINE_MAX: usize = if cfg!(test) { 4 } else { 32 };

/// A host, by its hash. Two hosts with the same hash count as one, which at most changes a weight.
pub(crate) type Host = u32;

/// Anchor texts, each with a host and the number of its pages.
pub(crate) type AnchorCounts = BTreeMap<(String, Host), u64>;

/// One entry of [`AnchorCounts`].
type AnchorCount = ((String, Host), u64);

/// The anchors of a URI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Anchors {
    /// All anchors.
    Inline(AnchorCounts),
    /// In table `anchors`, under the number of the URI.
    Spilled,
}

impl Default for Anchors {
    fn default() -> Self {
        Anchors::Inline(AnchorCounts::new())
    }
}

/// Changes of [`AnchorCounts`].
pub(crate) type AnchorDeltas = BTreeMap<(String, Host), i64>;

/// Returns the host of a URL key.
pub(crate) fn host_of(url_key: &str) -> Host {
    let host = url_key.split_once(')').map_or(url_key, |(host, _)| host);
    let [a, b, c, d, ..] = *blake3::hash(host.as_bytes()).as_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// Returns the part of an anchor text that counts.
pub(crate) fn cut(text: &str) -> &str {
    let mut end = text.len().min(TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].trim_end()
}

/// Applies changes to the anchors in the row of a URI.
pub(crate) fn apply(anchor_counts: &mut AnchorCounts, deltas: AnchorDeltas) {
    for (at, by) in deltas {
        let pages = anchor_counts.remove(&at).unwrap_or(0).saturating_add_signed(by);
        if pages > 0 {
            anchor_counts.insert(at, pages);
        }
    }
}

/// Returns the weightiest texts, as reported to search.
pub(crate) fn anchor_rows(anchor_counts: &AnchorCounts) -> Vec<AnchorRow> {
    let mut texts: Vec<AnchorRow> = Vec::new();
    for (text, _) in anchor_counts.keys() {
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

/// Returns the first [`SHOWN_MAX`] by weight, then by text. So a change in the number of hosts
/// matters only if it changes a weight.
fn weightiest(mut texts: Vec<AnchorRow>) -> Vec<AnchorRow> {
    texts.sort_unstable_by(|a, b| (b.weight(), &a.text).cmp(&(a.weight(), &b.text)));
    texts.truncate(SHOWN_MAX);
    texts
}

/// Returns whether two lists are equal for search.
pub(crate) fn weigh_the_same(a: &[AnchorRow], b: &[AnchorRow]) -> bool {
    a.len() == b.len()
        && a.iter()
            .zip(b)
            .all(|(a, b)| (&a.text, a.weight()) == (&b.text, b.weight()))
}

/// Reads the anchors of a URI with this number. Also returns how many rows of table `anchors` they
/// have.
///
/// # Errors
/// [`SnapshotError`] also if these rows contradict each other.
pub(crate) fn read(
    cut: &Cut,
    anchors: Anchors,
    number: Option<u64>,
) -> Result<(AnchorCounts, u64), SnapshotError> {
    match (anchors, number) {
        (Anchors::Inline(anchor_counts), _) => Ok((anchor_counts, 0)),
        (Anchors::Spilled, Some(number)) => rows::read(cut, number),
        (Anchors::Spilled, None) => Ok((AnchorCounts::new(), 0)),
    }
}

/// Appends anchors to the row of their URI.
pub(crate) fn put_inline(out: &mut Vec<u8>, anchor_counts: &AnchorCounts) {
    codec::put_varint(out, anchor_counts.len() as u64);
    let mut previous = "";
    for ((text, host), pages) in anchor_counts {
        codec::put_front_coded(out, previous.as_bytes(), text.as_bytes());
        out.extend_from_slice(&host.to_le_bytes());
        codec::put_varint(out, *pages);
        previous = text;
    }
}

/// Reads the encoding of [`put_inline`].
pub(crate) fn get_inline(r: &mut Reader<'_>) -> Result<AnchorCounts, Corrupt> {
    let (mut anchor_counts, mut text) = (AnchorCounts::new(), Vec::new());
    for _ in 0..r.varint()? {
        r.front_coded(&mut text)?;
        let host = r.take(4)?.try_into().map_err(|_| Corrupt("host is too short"))?;
        let host = u32::from_le_bytes(host);
        anchor_counts.insert((codec::to_text(&text)?, host), r.varint()?);
    }
    Ok(anchor_counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts_of(anchor_counts: &[(&str, Host, u64)]) -> AnchorCounts {
        let anchor_counts = anchor_counts.iter();
        anchor_counts
            .map(|(text, host, pages)| (((*text).to_owned(), *host), *pages))
            .collect()
    }

    #[test]
    fn inline_anchors_come_back_and_cut_ones_are_errors() {
        let anchor_counts = counts_of(&[("home", 1, 3), ("home", 9, 1), ("hotel", 1, 300)]);
        let mut row = Vec::new();
        put_inline(&mut row, &anchor_counts);
        assert_eq!(get_inline(&mut Reader::new(&row)), Ok(anchor_counts));
        for end in 0..row.len() {
            assert!(get_inline(&mut Reader::new(&row[..end])).is_err());
        }
    }

    #[test]
    fn texts_of_many_hosts_come_first() {
        let mut all: Vec<(&str, Host, u64)> = vec![("b", 1, 900), ("a", 1, 1), ("c", 1, 1), ("c", 2, 1)];
        assert_eq!(
            anchor_rows(&counts_of(&all))
                .iter()
                .map(|a| (a.text.as_str(), a.hosts))
                .collect::<Vec<_>>(),
            [("c", 2), ("a", 1), ("b", 1)]
        );
        let names: Vec<String> = (0..40).map(|n| format!("n{n:02}")).collect();
        all.extend(names.iter().map(|name| (name.as_str(), 5, 1)));
        let shown = anchor_rows(&counts_of(&all));
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
