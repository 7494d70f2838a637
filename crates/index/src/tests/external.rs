//! External files are committed with their epoch, or not at all.

use super::support::{Pair, page, settings};
use crate::{ApplyError, Arriving, Batch, Weave};

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
    let weave = pair.take_weave();
    assert_eq!(weave.snapshot().note_beside().unwrap(), None);
    let mut given = Vec::new();
    let mut write = |arriving: Arriving<'_>| {
        let times = arriving.captures().map(|(_, entry, capture)| {
            assert_eq!(entry.input, "a.warc.gz");
            capture.fetch_time_ms
        });
        given.push((arriving.epoch.0, times.collect::<Vec<_>>()));
        Ok(format!("note {}", arriving.epoch.0).into_bytes())
    };
    weave.apply_with(batch(input, &[2, 1]), Some(&mut write)).unwrap();
    // Known captures are not passed again, and a batch without new ones requests no note.
    weave.apply_with(batch(input, &[1, 3]), Some(&mut write)).unwrap();
    weave.apply_with(batch(input, &[1, 2]), Some(&mut write)).unwrap();
    assert_eq!(given, [(1, vec![1000, 2000]), (2, vec![3000])]);
    drop(weave);
    let weave = Weave::open(&dir, None, settings()).unwrap();
    assert_eq!(
        weave.snapshot().note_beside().unwrap().as_deref(),
        Some(b"note 2".as_slice())
    );
}

#[test]
fn what_cannot_be_written_beside_is_no_epoch() {
    let (mut pair, input) = Pair::with_input();
    let weave = pair.take_weave();
    let before = weave.snapshot().epoch();
    let error = weave.apply_with(batch(input, &[1]), Some(&mut |_| Err("no room".to_owned())));
    assert!(
        matches!(&error, Err(ApplyError::Beside(why)) if why == "no room"),
        "{error:?}"
    );
    assert_eq!(weave.snapshot().epoch(), before);
    // Later writes are accepted.
    let report = weave
        .apply_with(batch(input, &[1]), Some(&mut |_| Ok(Vec::new())))
        .unwrap();
    assert_eq!((report.epoch.0, report.captures_new), (before.0 + 1, 1));
}
