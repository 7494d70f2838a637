//! `warc_tools::repair`: any bytes are repaired to an undamaged file, every byte is accounted for,
//! and a second repair changes nothing.
//!
//! The first byte of an input chooses the compression of the output, the rest is the file.

use std::fs;
use std::path::Path;

use warc::Compression;
use warc_tools::repair::{self, RepairReport, quarantine_paths};

use super::{Target, warc_reader};

/// The target; the head of this file describes inputs and properties.
pub const TARGET: Target = Target {
    name: "warc_repair",
    about: "repair of WARC and ARC files, in every container",
    run,
    seeds: warc_reader::TARGET.seeds,
    from_file: warc_reader::TARGET.from_file,
    tokens: warc_reader::TARGET.tokens,
};

/// Repairs the file twice and checks the results.
pub fn run(bytes: &[u8]) {
    let Some((choice, file)) = bytes.split_first() else {
        return;
    };
    let compression = match choice & 1 {
        0 => Compression::Plain,
        _ => Compression::GZIP,
    };
    let folder = tempfile::tempdir().expect("a folder");
    let [input, once, twice] = ["in", "once", "twice"].map(|name| folder.path().join(name));
    fs::write(&input, file).expect("written");
    let first = mend(&input, &once, &compression);
    assert_eq!(first.input_bytes, file.len() as u64);
    check_quarantine(file, &first, &once);
    if first.records == 0 {
        assert!(!once.exists(), "a file without records was written");
        return;
    }
    let second = mend(&once, &twice, &compression);
    assert_eq!(second.records, first.records, "a second repair loses records");
    assert!(second.mends.is_empty(), "{:?}", second.mends);
    assert!(second.quarantine.is_empty(), "{:?}", second.quarantine);
    let [once, twice] = [once, twice].map(|path| fs::read(path).expect("written"));
    assert!(once == twice, "a second repair changes the file");
}

fn mend(input: &Path, out: &Path, compression: &Compression) -> RepairReport {
    let (written, repaired) =
        repair::write(input, out, compression.clone(), &mut |_| true).expect("any bytes can be repaired");
    let proved = written
        .verify(&mut |_| true)
        .expect("the file has the intended content");
    proved.put(false).expect("named");
    let sum = repaired.record_bytes + repaired.padding_bytes + repaired.quarantined_bytes;
    assert_eq!(sum, repaired.input_bytes, "{repaired:?}");
    repaired
}

/// Checks that the quarantine has the bytes given in its list.
fn check_quarantine(file: &[u8], repaired: &RepairReport, out: &Path) {
    let [pieces, _] = quarantine_paths(out);
    let kept = fs::read(pieces).unwrap_or_default();
    let mut at = 0;
    for piece in &repaired.quarantine {
        assert_eq!(piece.at, at, "the pieces are contiguous");
        at += piece.bytes;
        let held = &kept[piece.at as usize..at as usize];
        if !piece.decoded {
            let stored = &file[piece.offset as usize..(piece.offset + piece.length) as usize];
            assert!(held == stored, "{piece:?}");
        }
    }
    assert_eq!(at, kept.len() as u64);
}
