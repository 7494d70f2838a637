//! Every target for some seconds: its own seeds, real files if available, and mutations of both.

use std::path::PathBuf;
use std::time::Duration;

use fuzz::{Driver, TARGETS, Target};

/// Returns the folder of damaged and unusual files from other projects, if it is available.
fn edge_files() -> Option<PathBuf> {
    let shared = std::env::var_os("WEFT_SHARED_DATA").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| test_env::crate_dir().join("../../shared/data"));
    Some(shared.join("edge")).filter(|edge| edge.is_dir())
}

/// Tries a fixed number of mutated inputs, always the same ones: a test must not depend on the
/// speed of the machine. `make fuzz` continues with further ones.
#[track_caller]
fn check(target: &Target, steps: u64) {
    let seed = std::env::var("WEFT_TEST_SEED")
        .map_or(1, |seed| seed.parse().expect("WEFT_TEST_SEED must be a number"));
    let files = match edge_files() {
        Some(folder) => vec![folder],
        None => {
            println!("skipped: ../shared/data/edge is missing");
            Vec::new()
        }
    };
    // Inputs that failed in the past.
    let own = test_env::crate_dir().join("corpus").join(target.name);
    let artifacts = tempfile::tempdir().expect("a folder");
    let driver = Driver {
        seed,
        time_max: Duration::MAX,
        steps_max: steps,
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
    check(&fuzz::targets::warc_reader::TARGET, 600);
}

#[test]
fn warc_repair() {
    check(&fuzz::targets::warc_repair::TARGET, 150);
}

#[test]
fn extract() {
    check(&fuzz::targets::extract::TARGET, 20_000);
}

#[test]
fn url_key() {
    check(&fuzz::targets::url_key::TARGET, 20_000);
}

#[test]
fn query() {
    check(&fuzz::targets::query::TARGET, 2_000);
}

#[test]
fn replica() {
    check(&fuzz::targets::replica::TARGET, 50_000);
}

#[test]
fn index_lines() {
    check(&fuzz::targets::index_lines::TARGET, 20_000);
}

#[test]
fn inflate() {
    check(&fuzz::targets::inflate::TARGET, 2_000);
}

#[test]
fn node_frames() {
    check(&fuzz::targets::node_frames::TARGET, 20_000);
}

#[test]
fn s3_body() {
    check(&fuzz::targets::s3_body::TARGET, 1_000);
}

/// cargo-fuzz finds a target by its file.
#[test]
fn every_target_has_its_file() {
    for target in TARGETS {
        let file = test_env::crate_dir().join(format!("fuzz_targets/{}.rs", target.name));
        assert!(file.is_file(), "{} is missing", file.display());
        let test = format!("fn {}()", target.name);
        assert!(
            include_str!("short.rs").contains(&test),
            "there is no test {test}"
        );
    }
}
