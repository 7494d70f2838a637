//! Rows of links that are packed with a dictionary, together with rows from before it existed.

use crate::cut::Cut;
use crate::packed;
use crate::tables::Table;
use crate::tests::support::{Pair, page};
use crate::views::links;

/// Links with much in common across pages, but not within one.
fn links(source: usize) -> Vec<(String, String)> {
    let link = |n: usize| {
        let host = (source * 7 + n * 3) % 53;
        let url = format!("https://host{host}.org/news/archive/{n}/Story?id={}", source * n);
        (url, format!("Read more of story {n} of {host}"))
    };
    (0..24).map(link).collect()
}

fn page_of(source: usize, time: i64, keep: usize) -> extract::Capture {
    let links = links(source);
    let links: Vec<(&str, &str)> = links[..keep]
        .iter()
        .map(|(url, text)| (&**url, &**text))
        .collect();
    page(&format!("http://source.com/{source}"), time, &links)
}

/// Returns how many rows of links are stored packed, and how many are not.
fn stored(cut: &Cut) -> (usize, usize) {
    let rows = cut.iter(Table::Links).map(|row| row.unwrap().1);
    let (packed, plain): (Vec<_>, Vec<_>) =
        rows.partition(|row| links::split_head(row).unwrap().1[0] == packed::PACKED);
    (packed.len(), plain.len())
}

#[test]
fn links_are_the_same_packed_or_not() {
    let (mut pair, input) = Pair::with_input();
    pair.load(input, (0..3).map(|source| page_of(source, source as i64, 24)));
    assert_eq!(stored(pair.snapshot().cut()), (0, 3));
    let many = (3..120).map(|source| (input, page_of(source, source as i64, 24)));
    pair.apply(many.collect());
    pair.check();
    assert_eq!(stored(pair.snapshot().cut()), (117, 3));

    pair.reopen();
    // Loads pages again with the same links, with fewer and with none; one of the unpacked rows
    // becomes packed.
    let again = [(0, 24), (1, 12), (50, 24), (51, 12), (52, 0)];
    let again = again.map(|(source, keep)| (input, page_of(source, 1000 + source as i64, keep)));
    let report = pair.apply(again.to_vec());
    assert_eq!((report.links_added, report.links_removed), (0, 12 + 12 + 24));
    pair.check();
    assert_eq!(stored(pair.snapshot().cut()), (117, 2));
}
