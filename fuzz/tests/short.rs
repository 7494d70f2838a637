//! Every target, some seconds each: its own seeds, the real files at hand, and changes of both.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use fuzz::{Driver, TARGETS, Target};

const SECONDS: u64 = 4;

/// Broken and odd files of other projects, where they are at hand.
fn edge_files() -> Option<PathBuf> {
    let shared = std::env::var_os("WEFT_SHARED_DATA").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data"));
    Some(shared.join("edge")).filter(|edge| edge.is_dir())
}

fn check(target: &Target) {
    // Another seed every day, so that more is tried in time, and printed, so that a failure is found again.
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let day = now.map_or(0, |since| since.as_secs() / 86_400);
    let seed =
        std::env::var("WEFT_TEST_SEED").map_or(day, |seed| seed.parse().expect("WEFT_TEST_SEED is a number"));
    let files = match edge_files() {
        Some(folder) => vec![folder],
        None => {
            println!("skipped: the files of ../shared/data/edge because they are missing");
            Vec::new()
        }
    };
    // Inputs that were refused once.
    let own = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target.name);
    let artifacts = tempfile::tempdir().expect("a folder");
    let driver = Driver {
        seed,
        time_max: Duration::from_secs(SECONDS),
        steps_max: u64::MAX,
        corpus: Vec::from_iter(own.is_dir().then_some(own)),
        files,
        artifacts_dir: artifacts.keep(),
    };
    println!("{}: seed {seed}", target.name);
    let outcome = driver.run(target).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(outcome.corpus_inputs > 0 && outcome.steps > 0, "{outcome:?}");
}

#[test]
fn warc_reader() {
    check(&fuzz::targets::warc_reader::TARGET);
}

#[test]
fn extract() {
    check(&fuzz::targets::extract::TARGET);
}

#[test]
fn url_key() {
    check(&fuzz::targets::url_key::TARGET);
}

#[test]
fn query() {
    check(&fuzz::targets::query::TARGET);
}

#[test]
fn replica() {
    check(&fuzz::targets::replica::TARGET);
}

/// cargo-fuzz finds a target by its file.
#[test]
fn every_target_has_its_file() {
    for target in TARGETS {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fuzz_targets/{}.rs", target.name));
        assert!(file.is_file(), "{} is missing", file.display());
        let test = format!("fn {}()", target.name);
        assert!(
            include_str!("short.rs").contains(&test),
            "there is no test {test}"
        );
    }
}
