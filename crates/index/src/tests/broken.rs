//! A step that contradicts existing rows is not written. Later writes are refused; reads still
//! work.

use crate::tests::support::{Pair, all_dumps, page, progress};
use crate::{ApplyError, Batch, InputState};

#[test]
fn after_a_broken_invariant_writes_are_refused_until_the_index_is_opened_again() {
    let (mut pair, input) = Pair::with_input();
    pair.apply_batch(
        vec![(input, page("http://a.com/", 1, &[]))],
        vec![progress(input, 7, InputState::Loading)],
    );
    let before = all_dumps(&pair.snapshot());
    let back = || Batch {
        captures: vec![(input, page("http://b.com/", 2, &[]))],
        progress: vec![progress(input, 6, InputState::Loading)],
        ..Batch::default()
    };
    let broken = pair.index().apply(back()).unwrap_err().to_string();
    assert!(
        broken.starts_with(
            "broken invariant index.positions: the position of input 1 moves back from 7 to 6: "
        ),
        "{broken}"
    );
    let refused = pair.index().apply(Batch::default()).unwrap_err();
    assert!(
        matches!(&refused, ApplyError::Poisoned { since, .. } if *since == broken),
        "{refused}"
    );
    assert_eq!(
        all_dumps(&pair.snapshot()),
        before,
        "reading goes on, and shows what was committed"
    );

    pair.index().recover().unwrap();
    assert_eq!(all_dumps(&pair.snapshot()), before);
    pair.apply_batch(vec![], vec![progress(input, 8, InputState::Done)]);
    pair.check();
}
