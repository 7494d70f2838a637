//! External files are committed with their epoch, or not at all.

use super::support::{Pair, page, settings};
use crate::{ApplyError, Batch, Index, NewCaptures};

fn batch(input: crate::InputId, times: &[i64]) -> Batch {
    let captures = times
        .iter()
        .map(|time| (input, page("http://a.org/", *time, &[])));
    Batch {
        captures: captures.collect(),
        ..Batch::default()
    }
}

#[test]
fn a_note_commits_with_the_epoch_that_it_is_of() {
    let (mut pair, input) = Pair::with_input();
    let dir = pair.dir();
    let index = pair.take_index();
    assert_eq!(index.snapshot().external_note().unwrap(), None);
    let mut given = Vec::new();
    let mut write = |arriving: NewCaptures<'_>| {
        let times = arriving.captures().map(|(_, entry, capture)| {
            assert_eq!(entry.input, "a.warc.gz");
            capture.fetch_time_ms
        });
        given.push((arriving.epoch.0, times.collect::<Vec<_>>()));
        Ok(format!("note {}", arriving.epoch.0).into_bytes())
    };
    index
        .apply_with_external(batch(input, &[2, 1]), Some(&mut write))
        .unwrap();
    // Known captures are not passed again, and a batch without new ones requests no note.
    index
        .apply_with_external(batch(input, &[1, 3]), Some(&mut write))
        .unwrap();
    index
        .apply_with_external(batch(input, &[1, 2]), Some(&mut write))
        .unwrap();
    assert_eq!(given, [(1, vec![1000, 2000]), (2, vec![3000])]);
    drop(index);
    let index = Index::open(&dir, None, settings()).unwrap();
    assert_eq!(
        index.snapshot().external_note().unwrap().as_deref(),
        Some(b"note 2".as_slice())
    );
}

#[test]
fn what_cannot_be_written_beside_is_no_epoch() {
    let (mut pair, input) = Pair::with_input();
    let index = pair.take_index();
    let before = index.snapshot().epoch();
    let error = index.apply_with_external(batch(input, &[1]), Some(&mut |_| Err("no room".into())));
    assert!(
        matches!(&error, Err(ApplyError::External(why)) if why.to_string() == "no room"),
        "{error:?}"
    );
    assert_eq!(index.snapshot().epoch(), before);
    // Later writes are accepted.
    let report = index
        .apply_with_external(batch(input, &[1]), Some(&mut |_| Ok(Vec::new())))
        .unwrap();
    assert_eq!((report.epoch.0, report.captures_new), (before.0 + 1, 1));
}
