//! The end of the engine's journal, and the effect of a power failure on it.
//!
//! A killed process leaves all its writes in the system. A power failure loses writes that were not
//! synced: any part of them, in any state. So after a kill the bytes behind the last synced one may
//! be cut off or changed. The ledger must then be at an epoch that includes everything readers have
//! seen.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use store_testkit::Dice;

/// Read size. A journal file is preallocated with zeros.
const PIECE_BYTES: usize = 64 << 10;

/// Returns the journal of an index and its written length; `None` unless there is exactly one.
pub(super) fn end(index: &Path) -> Option<(PathBuf, u64)> {
    let mut journals = std::fs::read_dir(index).ok()?.flatten().map(|entry| entry.path());
    let is_journal = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "jnl");
    let journal = journals.find(is_journal)?;
    if journals.any(|path| is_journal(&path)) {
        return None;
    }
    let length = written(&mut File::open(&journal).ok()?).ok()?;
    Some((journal, length))
}

/// Returns the end of the last byte that is not zero.
fn written(file: &mut File) -> std::io::Result<u64> {
    file.seek(SeekFrom::Start(0))?;
    let (mut at, mut end) = (0, 0);
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let read = file.read(&mut piece)?;
        let Some(last) = piece[..read].iter().rposition(|byte| *byte != 0) else {
            return Ok(end);
        };
        end = at + last as u64 + 1;
        at += read as u64;
    }
}

/// Damages everything from some byte after `synced` on. Returns a description of the damage, or
/// `None` if everything is synced.
pub(super) fn tear(journal: &Path, synced: u64, dice: &mut Dice) -> Option<&'static str> {
    let mut file = File::options().read(true).write(true).open(journal).ok()?;
    let end = written(&mut file).ok()?;
    if end <= synced {
        return None;
    }
    let at = synced + dice.roll(end - synced);
    let (what, byte) = match dice.roll(3) {
        0 => {
            file.set_len(at).ok()?;
            return Some("truncated");
        }
        1 => ("zeros", 0),
        _ => ("junk", 0x5a),
    };
    file.write_all_at(&vec![byte; (end - at) as usize], at).ok()?;
    Some(what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_not_synced_is_lost() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("0.jnl");
        for seed in 0..50 {
            std::fs::write(&path, [[7; 100], [0; 100]].concat()).unwrap();
            assert_eq!(end(dir.path()), Some((path.clone(), 100)));
            assert!(tear(&path, 60, &mut Dice(seed)).is_some());
            let left = std::fs::read(&path).unwrap();
            assert_eq!(left[..60], [7; 60]);
            assert_ne!(left.get(60..100), Some(&[7; 40][..]));
        }
        std::fs::write(&path, [7; 10]).unwrap();
        assert_eq!(tear(&path, 10, &mut Dice(1)), None);
    }
}
