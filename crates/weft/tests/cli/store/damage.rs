//! Damage found, read around, and put right.

use super::{Kept, content};

/// The story: a disk dies and is replaced by an empty one. Reads go on from the other, a census says what is
/// missing, repair brings it back, and the log tells it.
#[test]
fn a_wiped_volume_comes_back() {
    let kept = Kept::filled();
    kept.wipe("b");
    assert_eq!(kept.good(&["get", "crawls/2014/small.txt", "-"]), "small");
    let census = kept.run(&["census"]);
    assert_eq!(census.code, Some(1), "{}", census.stdout);
    assert!(census.stdout.contains("not whole"), "{}", census.stdout);
    assert_eq!(kept.json(&["census"])[0]["replicas_missing"], 2);
    let would = kept.run(&["repair", "--dry-run"]);
    assert_eq!(would.code, Some(1));
    assert!(
        would.stdout.contains("2 missing replicas to make"),
        "{}",
        would.stdout
    );
    assert_eq!(kept.run(&["stat", "crawls/2014/small.txt"]).code, Some(1));

    let repaired = kept.good(&["repair"]);
    assert!(repaired.contains("made 2 replicas"), "{repaired}");
    assert!(kept.good(&["census"]).contains("\nwhole, by layout 1"));
    kept.good(&["stat", "crawls/2014/small.txt"]);
    let story = kept.good(&["fixity", "crawls/2014/small.txt"]);
    assert!(story.contains("repaired"), "{story}");
    assert!(kept.good(&["fixity"]).contains("volume-wiped"));
    let status = kept.good(&["status"]);
    assert_eq!(status.matches("in service").count(), 2, "{status}");
}

/// The story: a bit of one copy flips on the disk. What is read is right all the same; scrub finds the copy, repair
/// replaces it.
#[test]
fn a_flipped_bit_is_read_around_found_and_replaced() {
    let kept = Kept::filled();
    let file = kept
        .replica_files("a")
        .into_iter()
        .max_by_key(|file| std::fs::metadata(file).map_or(0, |metadata| metadata.len()))
        .expect("a replica");
    let mut bytes = std::fs::read(&file).expect("a file");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).expect("write");

    kept.good(&["get", "crawls/2014/large.warc.gz", "copy"]);
    assert_eq!(
        std::fs::read(kept.place.path("copy")).expect("a file"),
        content(700_000)
    );
    let scrub = kept.run(&["scrub"]);
    assert_eq!(scrub.code, Some(1), "{}", scrub.stdout);
    assert!(scrub.stdout.contains("1 bad"), "{}", scrub.stdout);
    assert_eq!(kept.json(&["census"])[0]["replicas_bad"], 1);
    kept.good(&["repair"]);
    kept.good(&["census"]);
    assert!(kept.good(&["scrub"]).contains("nothing bad, nothing missing"));
    let story = kept.good(&["fixity", "crawls/2014/large.warc.gz"]);
    assert!(story.contains("bad") && story.contains("repaired"), "{story}");
}

#[test]
fn an_object_without_a_good_copy_is_an_error_not_wrong_bytes() {
    let kept = Kept::filled();
    for volume in ["a", "b"] {
        let files = kept.replica_files(volume);
        for file in files {
            let mut bytes = std::fs::read(&file).expect("a file");
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            std::fs::write(&file, bytes).expect("write");
        }
    }
    let run = kept.run(&["get", "crawls/2014/large.warc.gz", "copy"]);
    assert_eq!(run.code, Some(1));
    assert!(!kept.place.path("copy").exists());
    assert_eq!(kept.run(&["scrub"]).code, Some(1));
    let repair = kept.run(&["repair"]);
    assert_eq!(repair.code, Some(1));
    assert!(repair.stdout.contains("lost"), "{}", repair.stdout);
    assert_eq!(kept.json(&["census"])[0]["objects_lost"], 2);
}
