//! A set of links as one row: that of a source's current version in `links`, those of past versions
//! in `past_links`.
//!
//! | bytes | content |
//! |---|---|
//! | 1 | version: 1 |
//! | varint | number of links |
//! | per link: varint, varint, n | target key: length shared with the previous, rest |
//! | | target URL, see `url_code`; bit 4: nofollow, bit 5: an anchor follows |
//! | varint, n | with bit 5: anchor |

use std::borrow::Borrow;

use extract::{Capture, Link};

use crate::codec::{self, Corrupt, Reader};
use crate::url_code;
use crate::views::capture_key::is_usable_key;
use crate::views::order::{is_eligible, page_of};

const ROW_VERSION: u8 = 1;
const NOFOLLOW: u8 = 0x10;
const HAS_ANCHOR: u8 = 0x20;

/// First bytes of the BLAKE3 hash of a row. As for texts, strangers must not be able to make two
/// sets collide.
pub(crate) type LinksName = [u8; 16];

/// Returns the name of an encoded set.
pub(crate) fn name_of_row(row: &[u8]) -> LinksName {
    let mut name = LinksName::default();
    name.copy_from_slice(&blake3::hash(row).as_bytes()[..16]);
    name
}

/// Returns the name of the links that a capture has if it becomes current; `None` without links.
pub(crate) fn name_of(capture: &Capture) -> Option<LinksName> {
    row_of(capture).map(|row| name_of_row(&row))
}

/// Returns these links as encoded by [`encode`].
pub(crate) fn row_of(capture: &Capture) -> Option<Vec<u8>> {
    if !is_eligible(capture) {
        return None;
    }
    let links: &[Link] = match page_of(capture) {
        Some(page) => &page.links,
        None if (300..400).contains(&capture.shown_status()) => capture.redirect.as_slice(),
        None => &[],
    };
    let is_kept = |link: &&Link| link.url_key != capture.url_key && is_usable_key(&link.url_key);
    let mut links: Vec<&Link> = links.iter().filter(is_kept).collect();
    // Must agree with `take_links`, which moves the links out.
    links.sort_by(|a, b| a.url_key.as_bytes().cmp(b.url_key.as_bytes()));
    links.dedup_by(|later, first| later.url_key == first.url_key);
    (!links.is_empty()).then(|| encode(&links))
}

/// Moves out the links that the capture has if it becomes current, sorted by target key. Also
/// returns how many were dropped.
pub(crate) fn take_links(capture: &mut Capture) -> (Vec<Link>, u32) {
    let is_page = page_of(capture).is_some();
    let is_redirect = (300..400).contains(&capture.shown_status());
    let (mut links, mut dropped) = match &mut capture.page {
        Some(page) if is_page => (std::mem::take(&mut page.links), page.links_dropped),
        _ if is_redirect => (capture.redirect.take().into_iter().collect(), 0),
        _ => (Vec::new(), 0),
    };
    links.retain(|link| link.url_key != capture.url_key);
    let before = links.len();
    links.retain(|link| is_usable_key(&link.url_key));
    dropped += (before - links.len()) as u32;
    // The sort is stable: of several links to one target, the first in document order stays.
    links.sort_by(|a, b| a.url_key.as_bytes().cmp(b.url_key.as_bytes()));
    links.dedup_by(|later, first| later.url_key == first.url_key);
    (links, dropped)
}

pub(crate) fn encode(links: &[impl Borrow<Link>]) -> Vec<u8> {
    let mut out = Vec::with_capacity(8 + links.len() * 64);
    out.push(ROW_VERSION);
    codec::put_varint(&mut out, links.len() as u64);
    let mut previous: &[u8] = b"";
    for link in links.iter().map(Borrow::borrow) {
        codec::put_front_coded(&mut out, previous, link.url_key.as_bytes());
        previous = link.url_key.as_bytes();
        let nofollow = if link.nofollow { NOFOLLOW } else { 0 };
        let anchor = if link.anchor.is_empty() { 0 } else { HAS_ANCHOR };
        url_code::put(&mut out, &link.url_key, &link.url, nofollow | anchor);
        if !link.anchor.is_empty() {
            codec::put_bytes(&mut out, link.anchor.as_bytes());
        }
    }
    out
}

/// Decodes only target keys and anchor texts.
pub(crate) fn decode_anchors(row: &[u8]) -> Result<Vec<(String, String)>, Corrupt> {
    let mut r = Reader::versioned(row, ROW_VERSION)?;
    let count = r.varint()?;
    let mut targets = Vec::new();
    let mut key = Vec::new();
    for _ in 0..count {
        r.front_coded(&mut key)?;
        let anchor = match url_code::skip(&mut r)? & HAS_ANCHOR {
            0 => "",
            _ => r.str()?,
        };
        targets.push((codec::to_text(&key)?, anchor.to_owned()));
    }
    Ok(targets)
}

/// Returns the links of an encoded row whose target key satisfies `wanted`.
pub(crate) fn decode(row: &[u8], mut wanted: impl FnMut(&[u8]) -> bool) -> Result<Vec<Link>, Corrupt> {
    let mut r = Reader::versioned(row, ROW_VERSION)?;
    let count = r.varint()?;
    let mut links = Vec::new();
    let mut key = Vec::new();
    for _ in 0..count {
        r.front_coded(&mut key)?;
        if !wanted(&key) {
            if url_code::skip(&mut r)? & HAS_ANCHOR != 0 {
                r.bytes()?;
            }
            continue;
        }
        let url_key = codec::to_text(&key)?;
        let (url, flags) = url_code::get(&mut r, &url_key)?;
        let anchor = if flags & HAS_ANCHOR == 0 { "" } else { r.str()? };
        links.push(Link {
            url_key,
            url,
            anchor: anchor.to_owned(),
            nofollow: flags & NOFOLLOW != 0,
            // Not stored, because no view shows it.
            kind: Default::default(),
        });
    }
    Ok(links)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn link(key: &str, anchor: &str, nofollow: bool) -> Link {
        Link {
            url_key: key.into(),
            url: format!("http://x/{key}"),
            anchor: anchor.into(),
            nofollow,
            kind: Default::default(),
        }
    }

    proptest! {
        #[test]
        fn rows_come_back(rows in proptest::collection::btree_map("[a-c]{1,4}", ("[x ]{0,3}", any::<bool>()), 0..9)) {
            let links: Vec<Link> = rows.iter().map(|(k, (a, n))| link(k, a, *n)).collect();
            let row = encode(&links);
            prop_assert_eq!(decode(&row, |_| true).unwrap(), links.clone());
            let said = rows.iter().map(|(k, (a, _))| (k.clone(), a.clone())).collect::<Vec<_>>();
            prop_assert_eq!(decode_anchors(&row).unwrap(), said);
            let only = links.iter().filter(|l| l.url_key == "a").cloned().collect::<Vec<_>>();
            prop_assert_eq!(decode(&row, |k| k == b"a").unwrap(), only);
        }
    }
}
