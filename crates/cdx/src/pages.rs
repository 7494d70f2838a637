//! Pages of captures by number.
//!
//! A page is a number of blocks, and a block is [`BLOCK_ROWS`] captures in key order, regardless of
//! filters: clients compute with these numbers, so they must not depend on the number of matches.
//! The ends of blocks are cursors, so page 500 is found by its cursor. While a load runs, the pages
//! of one list neither overlap nor leave a capture out; new captures are in the page to which their
//! keys belong.

/// Number of captures in a block. Clients compute with this number.
pub const BLOCK_ROWS: usize = 3000;

/// Default number of blocks per page, as in Common Crawl's server.
const PAGE_SIZE: usize = 5;

/// Maximum number of blocks per page, as in the Internet Archive's server.
const PAGE_SIZE_MAX: usize = 50;

/// Limit of blocks of a list: some 20 MB of cursors, enough for 300 million captures.
const BLOCKS_MAX: usize = 100_000;

/// Returns the requested page number, from 0. cdx_toolkit begins at -1; as at the Internet Archive,
/// that means no page.
pub fn page_number(asked: Option<i64>) -> Option<usize> {
    asked.and_then(|page| usize::try_from(page).ok())
}

/// Returns the number of blocks per page. A number above the limit is reduced to it, as at the
/// Internet Archive, because clients do ask for more.
pub fn page_size(asked: Option<i64>) -> usize {
    asked.map_or(PAGE_SIZE, |size| {
        usize::try_from(size).map_or(PAGE_SIZE_MAX, |size| size.clamp(1, PAGE_SIZE_MAX))
    })
}

/// The known ends of the blocks of a list.
#[derive(Debug, Clone, Default)]
pub struct Blocks {
    ends: Vec<String>,
    /// Cursor for the ends after the last known one.
    next: Option<String>,
    /// Whether all ends are known.
    whole: bool,
}

impl Blocks {
    /// Returns whether at least `blocks` ends are known, or all ends.
    pub fn knows(&self, blocks: usize) -> bool {
        self.whole || self.ends.len() >= blocks
    }

    /// Returns whether the list has more blocks than are kept.
    pub fn is_full(&self) -> bool {
        self.ends.len() >= BLOCKS_MAX
    }

    /// Returns the cursor with which to ask for further ends; `None` at the beginning.
    pub fn next(&self) -> Option<&str> {
        self.next.as_deref()
    }

    /// Adds the ends of an answer, and its cursor for further ones.
    pub fn add(&mut self, ends: Vec<String>, next: Option<String>) {
        self.ends.extend(ends);
        self.whole = next.is_none();
        self.next = next;
    }

    /// Returns the number of blocks whose ends are known.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether no end is known.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the number of pages of `size` blocks. An empty list has one page.
    pub fn pages(&self, size: usize) -> usize {
        self.ends.len().div_ceil(size).max(1)
    }

    /// Returns how many ends must be known to find a page: one more than the page needs, which
    /// shows whether it is the last. `None` if no list has that many.
    pub fn needed(page: usize, size: usize) -> Option<usize> {
        let end = page.checked_add(1)?.checked_mul(size)?;
        Some(end.saturating_add(1))
    }

    /// Returns the cursor after which a page begins and the one with which it ends; `None` at the
    /// ends of the list. Returns `None` instead of a pair if there are fewer pages; the first page
    /// always exists. The last page has no end, so that it includes captures made since. At least
    /// [`Blocks::needed`] ends must be known.
    pub fn page(&self, page: usize, size: usize) -> Option<(Option<String>, Option<String>)> {
        let begin = page.checked_mul(size)?;
        let end = begin.checked_add(size)?;
        if page > 0 && begin >= self.ends.len() {
            return None;
        }
        let after = begin.checked_sub(1).and_then(|last| self.ends.get(last).cloned());
        let until = (end < self.ends.len()).then(|| self.ends[end - 1].clone());
        Some((after, until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(count: usize) -> Blocks {
        let mut blocks = Blocks::default();
        blocks.add((1..=count).map(|n| n.to_string()).collect(), None);
        blocks
    }

    #[track_caller]
    fn check(count: usize, page: usize, expected: Option<(Option<&str>, Option<&str>)>) {
        let found = blocks(count).page(page, 2);
        let found = found
            .as_ref()
            .map(|(after, until)| (after.as_deref(), until.as_deref()));
        assert_eq!(found, expected, "page {page} of {count} blocks");
    }

    #[test]
    fn pages_follow_one_another_and_the_last_has_no_end() {
        check(0, 0, Some((None, None)));
        check(0, 1, None);
        check(2, 0, Some((None, None)));
        check(2, 1, None);
        check(5, 0, Some((None, Some("2"))));
        check(5, 1, Some((Some("2"), Some("4"))));
        check(5, 2, Some((Some("4"), None)));
        check(5, 3, None);
        check(5, usize::MAX, None);
        assert_eq!([0, 1, 2, 3].map(|count| blocks(count).pages(2)), [1, 1, 1, 2]);
    }

    #[test]
    fn a_page_needs_one_end_more_than_it_has() {
        assert_eq!(Blocks::needed(0, 5), Some(6));
        assert_eq!(Blocks::needed(2, 5), Some(16));
        assert_eq!(Blocks::needed(usize::MAX, 5), None);
        let mut blocks = Blocks::default();
        assert!(!blocks.knows(1) && blocks.next().is_none());
        blocks.add(vec!["a".into()], Some("a".into()));
        assert!(blocks.knows(1) && !blocks.knows(2) && blocks.next() == Some("a"));
        blocks.add(Vec::new(), None);
        assert!(blocks.knows(usize::MAX) && !blocks.is_full());
    }

    #[test]
    fn sizes_and_numbers_are_read_as_other_servers_do() {
        assert_eq!(
            [None, Some(-1), Some(0), Some(3)].map(page_number),
            [None, None, Some(0), Some(3)]
        );
        assert_eq!(
            [None, Some(0), Some(7), Some(51), Some(i64::MAX)].map(page_size),
            [5, 1, 7, 50, 50]
        );
        assert_eq!(page_size(Some(-1)), 50);
    }
}
