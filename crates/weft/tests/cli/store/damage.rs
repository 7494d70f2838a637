//! Damage that is detected, tolerated by reads, and repaired.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{TwoVolumes, content};
use crate::support::Workspace;

impl TwoVolumes {
    /// Checks that `status` reports these problems.
    #[track_caller]
    fn check_troubled(&self, said: &[&str]) {
        let run = self.run(&["status"]);
        assert_eq!(run.code, Some(1), "{}", run.stdout);
        assert!(run.stdout.starts_with("attention: "), "{}", run.stdout);
        for said in said {
            let look = run
                .stdout
                .lines()
                .any(|line| line.starts_with("attention:") && line.contains(said));
            assert!(look, "{said} is not in\n{}", run.stdout);
        }
        let status = &self.json(&["status"])[0];
        assert!(
            status["troubles"]
                .as_array()
                .is_some_and(|troubles| !troubles.is_empty()),
            "{status}"
        );
    }

    /// Checks that `status` reports no problem.
    #[track_caller]
    fn check_well(&self) {
        assert!(self.good(&["status"]).starts_with("all is well\n"));
    }
}

/// Scenario: a disk dies and is replaced by an empty one. Reads use the other one, a census counts
/// the missing replicas, repair restores them, and the log records it.
#[test]
fn a_wiped_volume_comes_back() {
    let kept = TwoVolumes::filled();
    kept.wipe("b");
    assert_eq!(kept.good(&["get", "crawls/2014/small.txt", "-"]), "small");
    kept.run(&["census"]).expect(1, &["not whole"], &[]);
    assert_eq!(kept.json(&["census"])[0]["replicas_missing"], 3);
    kept.run(&["repair", "--dry-run"])
        .expect(1, &["3 missing replicas to make"], &[]);
    assert_eq!(kept.run(&["stat", "crawls/2014/small.txt"]).code, Some(1));

    let repaired = kept.good(&["repair"]);
    assert!(repaired.contains("made 3 replicas"), "{repaired}");
    assert!(kept.good(&["census"]).contains("\nwhole, by layout 1"));
    kept.good(&["stat", "crawls/2014/small.txt"]);
    let story = kept.good(&["fixity", "crawls/2014/small.txt"]);
    assert!(story.contains("repaired"), "{story}");
    assert!(kept.good(&["fixity"]).contains("volume-wiped"));
    let status = kept.good(&["status"]);
    assert_eq!(status.matches("in service").count(), 2, "{status}");
}

/// Scenario: a bit of one copy flips on disk. Reads still return correct content; scrub finds the
/// copy, and repair replaces it.
#[test]
fn a_flipped_bit_is_read_around_found_and_replaced() {
    let kept = TwoVolumes::filled();
    flip(&largest(&kept.replica_files("a")));

    kept.good(&["get", "crawls/2014/large.warc.gz", "copy"]);
    assert_eq!(
        std::fs::read(kept.place.path("copy")).expect("a file"),
        content(700_000)
    );
    kept.run(&["scrub"]).expect(1, &["1 bad"], &[]);
    assert_eq!(kept.json(&["census"])[0]["replicas_bad"], 1);
    kept.good(&["repair"]);
    kept.good(&["census"]);
    assert!(kept.good(&["scrub"]).contains("nothing bad, nothing missing"));
    let story = kept.good(&["fixity", "crawls/2014/large.warc.gz"]);
    assert!(story.contains("bad") && story.contains("repaired"), "{story}");
}

#[test]
fn an_object_without_a_good_copy_is_an_error_not_wrong_bytes() {
    let kept = TwoVolumes::filled();
    for volume in ["a", "b"] {
        // The first byte of each content.
        kept.replica_files(volume)
            .iter()
            .for_each(|file| flip_at(file, 2048));
    }
    let run = kept.run(&["get", "crawls/2014/large.warc.gz", "copy"]);
    assert_eq!(run.code, Some(1));
    assert!(!kept.place.path("copy").exists());
    assert_eq!(kept.run(&["scrub"]).code, Some(1));
    kept.run(&["repair"]).expect(1, &["lost"], &[]);
    let lost = kept.json(&["census"])[0]["lost"].to_string();
    assert!(
        lost.contains("large.warc.gz") && lost.contains("small.txt"),
        "{lost}"
    );
}

/// Scenario: both copies of a file lose a block, but different ones. Every block is intact in one
/// copy, so the file is not lost.
#[test]
fn two_copies_damaged_at_different_blocks_are_one_whole_file() {
    let kept = TwoVolumes::filled();
    flip_at(&largest(&kept.replica_files("a")), 2048 + 10);
    flip_at(&largest(&kept.replica_files("b")), 2048 + 300_000);
    let read = || {
        kept.good(&["get", "crawls/2014/large.warc.gz", "copy"]);
        let found = std::fs::read(kept.place.path("copy")).expect("a file");
        assert!(found == content(700_000));
    };
    read();
    let scrub = kept.run(&["scrub"]);
    assert!(scrub.stdout.contains("2 bad"), "{}", scrub.stdout);
    read();
    assert_eq!(kept.json(&["census"])[0]["objects_lost"], 0);
    kept.good(&["repair"]);
    kept.check_well();
    read();
}

/// Only a block is lost, not the file: the rest stays readable, and commands report the missing
/// bytes.
#[test]
fn a_block_that_is_bad_in_both_copies_is_all_that_is_lost() {
    let kept = TwoVolumes::filled();
    for volume in ["a", "b"] {
        flip_at(&largest(&kept.replica_files(volume)), 2048 + 300_000);
    }
    let lost = "bytes 262144-524287 of 700000 have no intact replica";
    let name = "crawls/2014/large.warc.gz";
    let get = kept.run(&["get", name, "copy"]);
    assert!(get.code == Some(1) && get.stderr.contains(lost), "{}", get.stderr);
    for (range, place) in [("0-262143", 0..262_144), ("524288-", 524_288..700_000)] {
        kept.good(&["get", name, "part", "--range", range]);
        let found = std::fs::read(kept.place.path("part")).expect("a file");
        assert!(found == content(700_000)[place]);
    }
    kept.run(&["scrub"]);
    for command in ["repair", "census"] {
        let run = kept.run(&[command]);
        assert!(run.code == Some(1) && run.stdout.contains(lost), "{}", run.stdout);
    }
    kept.good(&["get", name, "part", "--range", "0-262143"]);
}

/// Scenario: a volume is full, one of its files is missing, and another has a flipped bit. Nothing
/// can be repaired until there is room, and every command reports that by message and exit code.
#[test]
fn repair_that_finds_no_room_is_no_success() {
    let kept = TwoVolumes::new();
    let Some(small) = Small::mount(&kept.place.path("b"), "64m") else {
        println!("skipped: no file system can be mounted here");
        return;
    };
    kept.fill();
    let files = kept.replica_files("b");
    let large = largest(&files);
    // A replica contains the name of its object. The bucket has a replica too.
    let is_small = |file: &&PathBuf| {
        let bytes = std::fs::read(file).expect("a file");
        bytes.windows(9).any(|window| window == b"small.txt")
    };
    let other = files.iter().find(is_small).expect("another file");
    std::fs::remove_file(other).expect("remove a file");
    flip(&large);
    small.fill_but(4 << 20);

    kept.run(&["scrub"]).expect(1, &["1 bad, 1 missing"], &[]);
    kept.run(&["repair"]).expect(
        1,
        &[
            "failed: crawls/2014/large.warc.gz: copy failed: volume local/b is full",
            "failed: crawls/2014/small.txt: ",
            "2 replicas are still missing or bad",
        ],
        &[],
    );
    let report = &kept.json(&["repair"])[0];
    assert_eq!((&report["failures"], &report["wanting"]), (&2.into(), &2.into()));
    kept.run(&["scrub"]).expect(1, &["known before"], &[]);
    kept.check_troubled(&["volume local/b is full", "weft store repair"]);

    drop(std::fs::remove_file(kept.place.path("b/filler")));
    kept.good(&["repair"]);
    kept.check_well();
}

/// The error names the full disk, not the length received until then.
#[test]
fn a_put_that_fills_the_disk_says_so() {
    let place = Workspace::new();
    let Some(_small) = Small::mount(&place.path("v"), "8m") else {
        println!("skipped: no file system can be mounted here");
        return;
    };
    place.write("large", &content(20_000_000));
    place
        .run(&["store", "put", "large", "bucket/", "--volume", "v"])
        .expect(1, &[], &["no room: volume local/v is full"]);
}

#[test]
fn status_tells_of_bad_replicas_until_they_are_repaired() {
    for damage in [flip as fn(&Path), cut] {
        let kept = TwoVolumes::filled();
        damage(&largest(&kept.replica_files("a")));
        assert_eq!(kept.run(&["scrub"]).code, Some(1));
        kept.check_troubled(&[
            "volume local/a has 1 bad replica (damaged or missing); run weft store repair",
        ]);
        kept.good(&["repair"]);
        kept.check_well();
    }
}

#[test]
fn status_tells_of_missing_replicas_that_nobody_has_met_yet() {
    let kept = TwoVolumes::filled();
    kept.wipe("b");
    kept.check_troubled(&[
        "volume local/b is rebuilding",
        "3 replicas are missing where the layout requires a copy",
    ]);
    kept.good(&["repair"]);
    kept.check_well();
}

/// Scenario: a disk is replaced while a copy on the other one is bad. The rebuild finishes without
/// restoring everything.
#[test]
fn status_tells_of_what_a_rebuilding_could_not_restore() {
    let kept = TwoVolumes::filled();
    flip(&largest(&kept.replica_files("a")));
    kept.wipe("b");
    assert_eq!(kept.run(&["repair"]).code, Some(1));
    kept.check_troubled(&[
        "1 object is lost: some blocks are damaged in every replica (crawls/2014/large.warc.gz)",
    ]);
    assert_eq!(kept.run(&["scrub"]).code, Some(1));
}

/// A scrub reads existing replicas. Replicas that are missing along with their index entries must
/// be reported too.
#[test]
fn a_scrub_of_a_wiped_volume_does_not_find_all_well() {
    let kept = TwoVolumes::filled();
    kept.wipe("b");
    kept.run(&["scrub"]).expect(1, &["0 bad, 3 missing"], &[]);
    let one = kept.good(&["scrub", "local/a"]);
    assert!(one.contains("nothing bad in the replicas read"), "{one}");
}

fn largest(files: &[PathBuf]) -> PathBuf {
    let length = |file: &&PathBuf| std::fs::metadata(file).map_or(0, |metadata| metadata.len());
    files.iter().max_by_key(length).expect("a replica").clone()
}

fn flip(file: &Path) {
    let bytes = std::fs::metadata(file).expect("a file").len();
    flip_at(file, usize::try_from(bytes / 2).expect("a length"));
}

fn flip_at(file: &Path, at: usize) {
    let mut bytes = std::fs::read(file).expect("a file");
    bytes[at] ^= 1;
    std::fs::write(file, bytes).expect("write");
}

fn cut(file: &Path) {
    let bytes = std::fs::read(file).expect("a file");
    std::fs::write(file, &bytes[..bytes.len() / 2]).expect("write");
}

/// A small in-memory file system, unmounted on drop.
struct Small(PathBuf);

impl Small {
    fn mount(at: &Path, size: &str) -> Option<Small> {
        std::fs::create_dir_all(at).expect("a folder");
        let options = format!("size={size}");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
            .arg(at)
            .output();
        mounted
            .is_ok_and(|output| output.status.success())
            .then(|| Small(at.to_owned()))
    }

    /// Writes a file `filler` that leaves `bytes` bytes free.
    fn fill_but(&self, bytes: u64) {
        let free = Command::new("stat")
            .args(["--file-system", "--format", "%a %S"])
            .arg(&self.0)
            .output()
            .expect("stat");
        let free = String::from_utf8_lossy(&free.stdout).into_owned();
        let free: u64 = free
            .split_whitespace()
            .map(|n| n.parse::<u64>().expect("a number"))
            .product();
        let filler = vec![0; usize::try_from(free - bytes).expect("a length")];
        std::fs::write(self.0.join("filler"), filler).expect("fill");
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}
