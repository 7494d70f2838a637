//! The end of the engine's journal, and what a loss of power does to it.
//!
//! A process that is killed leaves everything that it wrote to the system. A machine that loses power loses what was
//! not synced: any part of it, in any state. So after a kill the bytes behind the last synced one may be cut off or
//! changed; the ledger must then stand at an epoch that no reader saw the end of, or later.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rig::Dice;

/// A journal is longer than what is written to it; the rest is zeros.
const PIECE_BYTES: usize = 64 << 10;

/// The journal of an index, and how many bytes of it are written. `None` if it has none, or several.
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

/// Where the last byte that is not zero ends.
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

/// Loses what is not synced: everything from some byte after `synced` on. Returns in words what was done, if there was
/// anything to lose.
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
            return Some("cut off");
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
