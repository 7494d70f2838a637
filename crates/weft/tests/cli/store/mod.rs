//! `weft store` on real volumes: standalone, and while another process serves them.

mod alone;
mod away;
mod damage;
mod protection;
mod served;
mod usage;
mod versions;

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Run, Workspace, json_lines};

/// Returns content of several blocks, the same on every call.
pub(crate) fn content(bytes: usize) -> Vec<u8> {
    (0..bytes as u64)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 7) as u8)
        .collect()
}

/// A folder with two empty volumes, `a` and `b`.
pub(crate) struct TwoVolumes {
    pub(crate) place: Workspace,
}

impl TwoVolumes {
    pub(crate) fn new() -> TwoVolumes {
        TwoVolumes {
            place: Workspace::new(),
        }
    }

    /// Makes a store with one small object and one of several blocks.
    pub(crate) fn filled() -> TwoVolumes {
        let kept = TwoVolumes::new();
        kept.fill();
        kept
    }

    /// Puts both objects into the store.
    #[track_caller]
    pub(crate) fn fill(&self) {
        self.place.write("large.warc.gz", &content(700_000));
        self.place.write("small.txt", b"small");
        let run = self.run(&["put", "large.warc.gz", "small.txt", "store://crawls/2014/"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    }

    /// Runs `weft store ARGUMENTS` on the two volumes.
    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        self.place.run(&with_volumes(arguments))
    }

    /// Returns the standard output of a command that must end with code 0.
    #[track_caller]
    pub(crate) fn good(&self, arguments: &[&str]) -> String {
        let run = self.run(arguments);
        assert_eq!(run.code, Some(0), "{arguments:?}\n{}{}", run.stdout, run.stderr);
        run.stdout
    }

    /// Returns the JSON objects that a command prints, whatever its exit code.
    pub(crate) fn json(&self, arguments: &[&str]) -> Vec<Value> {
        let arguments: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
        json_lines(&self.run(&arguments).stdout)
    }

    /// Returns the replica files of a volume that hold content, sorted by path.
    pub(crate) fn replica_files(&self, volume: &str) -> Vec<PathBuf> {
        let mut files = Vec::new();
        walk(&self.place.path(volume).join("objects"), &mut files);
        files.sort();
        files
    }

    /// Empties a volume's directory like `rm -r VOLUME/*`, with `volume.json` last: once that is
    /// gone, a running process starts over, and its new files must not be removed.
    pub(crate) fn wipe(&self, volume: &str) {
        let entries = std::fs::read_dir(self.place.path(volume)).expect("a volume");
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() {
                std::fs::remove_dir_all(path).expect("remove a folder");
            } else {
                std::fs::remove_file(path).expect("remove a file");
            }
        }
    }
}

fn with_volumes<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    let volumes = ["--volume", "a", "--volume", "b"];
    std::iter::once("store")
        .chain(arguments.iter().copied())
        .chain(volumes)
        .collect()
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            walk(&path, files);
        } else {
            files.push(path);
        }
    }
}
