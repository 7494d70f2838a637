//! A full disk returns a clear error, and loading works again once there is space.
//!
//! A limit on the size of files, set in another process (the test binary runs itself through a
//! shell that sets the limit), keeps the journal from growing, as on a full disk.

use std::path::Path;
use std::process::Command;

use crate::tests::support::{all_dumps, entry, noise, page, progress, settings};
use crate::{ApplyError, Batch, Index, InputId, InputState};

const DIR: &str = "WEFT_TEST_FULL_DISK_DIR";
const EPOCHS: u64 = 12;

/// Applies epochs from the ledger's position up to `end`; each takes about 100 kB of journal.
fn load(dir: &Path, end: u64) -> Result<Index, (Index, ApplyError)> {
    let index = Index::open(dir, None, settings()).unwrap();
    let (input, known) = index.register_input(entry("a.warc.gz"), None).unwrap();
    for epoch in known.bytes_done..end {
        if let Err(error) = index.apply(batch(input, epoch)) {
            return Err((index, error));
        }
    }
    Ok(index)
}

fn batch(input: InputId, epoch: u64) -> Batch {
    let mut capture = page(
        &format!("http://h.com/{epoch}"),
        epoch as i64,
        &[("http://t.org/", "x")],
    );
    if let Some(page) = &mut capture.page {
        page.text = noise(epoch);
    }
    Batch {
        captures: vec![(input, capture)],
        progress: vec![progress(input, epoch + 1, InputState::Loading)],
        ..Batch::default()
    }
}

/// Not a test itself: the test below runs it in another process, with a limit of some 400 kB per
/// file.
#[test]
fn child() {
    let Some(dir) = std::env::var_os(DIR) else { return };
    let (index, error) = load(Path::new(&dir), EPOCHS)
        .err()
        .expect("the limit is not reached");
    assert!(matches!(error, ApplyError::DiskFull { .. }), "{error}");
    assert!(error.to_string().contains(&*dir.to_string_lossy()), "{error}");
    let refused = index.apply(Batch::default()).unwrap_err();
    assert!(matches!(refused, ApplyError::Poisoned { .. }), "{refused}");
    // Reads still work.
    let snapshot = index.snapshot();
    assert_eq!(snapshot.totals().unwrap().captures, snapshot.epoch().0);
    assert!(index.refuses_writes().is_some());
    let full = index.recover().unwrap_err();
    assert!(matches!(full, ApplyError::DiskFull { .. }), "{full}");
    make_room();
    // Recovery waits for a reader and does not disturb it.
    let reader = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(100));
        snapshot.totals().unwrap().captures
    });
    index.recover().unwrap();
    assert!(reader.join().unwrap() > 0);
    assert_eq!(index.refuses_writes(), None);
    let now = index.snapshot();
    assert_eq!(now.totals().unwrap().captures, now.epoch().0);
    index.apply(batch(InputId(1), now.epoch().0)).unwrap();
    assert_eq!(index.snapshot().epoch().0, now.epoch().0 + 1);
}

/// Removes the limit; only the soft limit was set.
fn make_room() {
    let pid = std::process::id().to_string();
    let raised = Command::new("prlimit")
        .args(["--pid", &pid, "--fsize=unlimited:"])
        .status();
    assert!(raised.unwrap().success());
}

#[test]
fn a_full_disk_is_a_clear_error_and_loses_nothing() {
    let home = tempfile::tempdir().unwrap();
    let expected = all_dumps(
        &load(&home.path().join("undisturbed"), EPOCHS)
            .ok()
            .unwrap()
            .snapshot(),
    );
    let dir = home.path().join("index");
    drop(load(&dir, 1).ok().unwrap());
    // If the signal is ignored, the write call returns an error instead.
    let output = Command::new("sh")
        .args([
            "-c",
            "trap '' XFSZ; ulimit -S -f 800; exec \"$0\" --exact tests::full_disk::child --nocapture",
        ])
        .arg(std::env::current_exe().unwrap())
        .env(DIR, &dir)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let before = Index::open(&dir, None, settings()).unwrap().snapshot().epoch();
    assert!((1..EPOCHS).contains(&before.0));
    let index = load(&dir, EPOCHS).ok().unwrap();
    assert_eq!(all_dumps(&index.snapshot()), expected);
}
