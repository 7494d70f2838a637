//! Opens an index of a program before format 4: URIs name their sources by key, and sources have no
//! numbers.

use std::path::Path;
use std::sync::Arc;

use crate::codec;
use crate::crash::RENUMBERING_CRASH_POINTS;
use crate::cut::Cut;
use crate::place::{FORMAT_ROW, MAGIC};
use crate::tables::{Table, Tables};
use crate::tests::support::{Pair, page, run_child, settings};
use crate::views::inlinks::{self, Sources};
use crate::views::links;
use crate::views::sources::SourceKeys;
use crate::views::uris;
use crate::write::Write;
use crate::{InputId, Weave};

const DIR: &str = "WEFT_TEST_OLDER_DIR";

/// Maximum number of in-links in a row of `uris` of the older format.
const OLD_INLINE_MAX: usize = 4;

/// Converts rows to the older format.
fn make_older(tables: &Arc<Tables>) {
    let cut = Cut::take(tables);
    let mut write = Write::new(tables);
    for row in cut.iter(Table::Links) {
        let (key, value) = row.unwrap();
        let (_, row) = links::split_head(&value).unwrap().unwrap();
        write.put(Table::Links, key, row.to_vec());
    }
    for table in [Table::Sources, Table::Inlinks] {
        for row in cut.iter(table) {
            write.remove(table, row.unwrap().0);
        }
    }
    let mut keys = SourceKeys::of(&cut);
    // For URIs without a number today: beyond all assigned ones.
    let mut number = 1 << 20;
    for row in cut.iter(Table::Uris) {
        let (key, value) = row.unwrap();
        let uri = uris::decode(&value).unwrap();
        let sources = inlinks::sorted(&mut keys, &uri.sources, None).unwrap();
        let sources: Vec<String> = sources.collect::<Result<_, _>>().unwrap();
        let is_spilled = sources.len() > OLD_INLINE_MAX;
        let flags = u8::from(uri.captured) + 2 * u8::from(uri.is_page) + 4 * u8::from(is_spilled);
        let mut old = vec![1, flags];
        codec::put_varint(&mut old, uri.counts.inlinks);
        codec::put_varint(&mut old, uri.counts.inlinks_external);
        if is_spilled {
            number += 1;
            let number = match uri.sources {
                Sources::Spilled(number) => number,
                Sources::Inline(_) => number,
            };
            codec::put_varint(&mut old, number);
            for source in sources {
                let key = [&number.to_be_bytes(), source.as_bytes()].concat();
                write.put(Table::Inlinks, key, []);
            }
        } else {
            for source in sources {
                codec::put_bytes(&mut old, source.as_bytes());
            }
        }
        write.put(Table::Uris, key, old);
    }
    write.put(Table::Meta, FORMAT_ROW, [MAGIC, b"\x03\x00\x03"].concat());
    write.commit().unwrap();
}

fn pages(from: u64, count: u64) -> Vec<extract::Capture> {
    let page = |n: u64| {
        let url = format!("http://s{}.org/{n}", n % 7);
        let targets = [
            "http://all.com/".to_owned(),
            format!("http://t.com/{}", n % 11),
            format!("http://t.com/only/{n}"),
        ];
        let links: Vec<(&str, &str)> = targets.iter().map(|target| (target.as_str(), "x")).collect();
        page(&url, (from + n) as i64, &links[..1 + (n % 3) as usize])
    };
    (from..from + count).map(page).collect()
}

/// Loads some pages in one epoch and some one by one, and some of them again.
fn pair() -> (Pair, InputId) {
    let (mut pair, input) = Pair::with_input();
    pair.apply(pages(0, 90).into_iter().map(|page| (input, page)).collect());
    pair.load(input, pages(80, 20));
    make_older(pair.snapshot().cut().tables().unwrap());
    (pair, input)
}

#[test]
fn an_older_index_answers_as_before_and_goes_on() {
    let (mut pair, input) = pair();
    pair.reopen();
    pair.check();
    pair.load(input, pages(95, 20));
    pair.reopen();
    pair.check();
}

/// Not a test itself: the test below runs it in another process.
#[test]
fn child() {
    if let Some(dir) = std::env::var_os(DIR) {
        Weave::open(Path::new(&dir), None, settings()).unwrap();
    }
}

#[test]
fn a_crash_while_an_older_index_is_opened_changes_nothing_in_the_end() {
    for point in RENUMBERING_CRASH_POINTS {
        for nth in [1, 4] {
            let (mut pair, _) = pair();
            pair.close();
            let mut crashes = 0;
            while crashes < 3
                && !run_child(
                    "tests::older_format::child",
                    DIR,
                    &pair.dir(),
                    &format!("{point}:{nth}"),
                )
            {
                crashes += 1;
            }
            assert!(crashes > 0 || nth > 1, "{point} was never reached");
            pair.reopen();
            pair.check();
        }
    }
}
