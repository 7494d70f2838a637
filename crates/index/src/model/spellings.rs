//! Separates captures of one URL key that are of different pages, because their addresses differ in
//! case.

use std::collections::BTreeSet;

use extract::Capture;

use super::content;
use crate::ids::InputId;

/// One of the pages of a key.
pub(super) struct SpelledPage<'c> {
    /// The spellings of its address.
    pub(super) spellings: BTreeSet<String>,
    pub(super) captures: Vec<(InputId, &'c Capture)>,
}

/// Returns the key of a URL with its letters in their original case.
pub(super) fn spelling(url: &str) -> String {
    urlkey::Spelling::new(url).map_or_else(|_| url.to_owned(), |spelling| spelling.as_str().to_owned())
}

/// Groups captures of one key by page. Two spellings are one page if a page or document of one has
/// the digest of one of the other.
pub(super) fn different_pages<'c>(captures: &[(InputId, &'c Capture)]) -> Vec<SpelledPage<'c>> {
    let mut pages: Vec<SpelledPage<'c>> = Vec::new();
    for (input, c) in captures {
        let is_of_one = |(_, other): &(InputId, &Capture)| {
            spelling(&other.url) == spelling(&c.url)
                || other.digest == c.digest && content(other).is_some() && content(c).is_some()
        };
        let (same, apart): (Vec<_>, Vec<_>) = pages
            .into_iter()
            .partition(|page| page.captures.iter().any(is_of_one));
        let mut page = SpelledPage {
            spellings: BTreeSet::from([spelling(&c.url)]),
            captures: vec![(*input, *c)],
        };
        for other in same {
            page.spellings.extend(other.spellings);
            page.captures.extend(other.captures);
        }
        pages = apart;
        pages.push(page);
    }
    pages
}
