//! A recount gives the same counts as a load.

use std::path::Path;

use archive::question::{Check, FingerprintRow};
use archive::{Archive, OpenSettings};

use crate::data::{dump, load, own, request, status};

const FILES: [&str; 8] = [
    "crawls/dupes.warc.gz",
    "crawls/iana.cdxj",
    "crawls/iana.warc.gz",
    "crawls/blackbook.arc.gz",
    "crawls/blackbook.warc.gz",
    "crawls/govuk-2-revisits.warc.gz",
    "crawls/govuk-1.warc.gz",
    "commoncrawl/whirlwind.warc.wat.gz",
];

fn recount(dir: &Path) -> Archive {
    let mut settings = OpenSettings::default();
    settings.create = true;
    settings.own = true;
    settings.recount = true;
    Archive::open(dir, settings).unwrap()
}

fn fingerprints(archive: &Archive) -> Vec<FingerprintRow> {
    let checked = archive.ask(Check {}).unwrap().body;
    assert_eq!(checked.damages, []);
    checked.fingerprints
}

#[test]
fn fingerprints_and_ledger_are_those_of_an_archive() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let kept = own(&root.path().join("kept"));
    load(&kept, &request(&shared, &FILES));
    let found = fingerprints(&kept);

    let mut reversed = FILES;
    reversed.reverse();
    let counted = recount(&root.path().join("counted"));
    load(&counted, &request(&shared, &reversed));
    let (sums, expected) = (status(&counted), fingerprints(&counted));
    assert_eq!(expected.len(), 6);
    for row in &expected {
        assert!(row.rows > 0 && found.contains(row), "{row:?}: {found:#?}");
    }
    for view in ["ledger", "quarantine"] {
        assert_eq!(dump(&counted, view), dump(&kept, view), "{view}");
    }
    assert_eq!(sums.captures, status(&kept).captures);

    // Without one file and one index, every fingerprint differs.
    let fewer = recount(&root.path().join("fewer"));
    load(&fewer, &request(&shared, &FILES[2..]));
    for row in fingerprints(&fewer) {
        assert!(!found.contains(&row), "{row:?}");
    }
}
