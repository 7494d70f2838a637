//! Questions to an archive on a full disk.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use archive::Archive;
use archive::question::{Body, OptionalStage, Question, SearchQuestion};

use crate::data::{ask, load, open, own, request, status};

/// A small file system in memory, unmounted at the end; `None` if it cannot be mounted.
struct Small<'a>(&'a Path);

impl Small<'_> {
    fn mount(at: &Path) -> Option<Small<'_>> {
        let mut mount = Command::new("mount");
        let mounted = mount.args(["-t", "tmpfs", "-o", "size=80m", "tmpfs"]).arg(at);
        let mounted = mounted.output().is_ok_and(|output| output.status.success());
        if !mounted {
            println!("skipped: no file system can be mounted here");
        }
        mounted.then_some(Small(at))
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

/// Returns the number of results, and their epoch.
fn search(archive: &Archive) -> (u64, u64) {
    let question = SearchQuestion {
        query: "page".into(),
        limit: 3,
        ..SearchQuestion::default()
    };
    match ask(archive, Question::Search(question)) {
        Body::Search(found) => (found.summary.total, found.summary.search_epoch),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_search_index_that_cannot_be_written_answers_from_what_it_has() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let Some(_small) = Small::mount(root.path()) else {
        return;
    };
    let dir = root.path().join("a");
    let archive = own(&dir);
    load(&archive, &request(&shared, &["crawls/etig.warc.gz"]));
    let before = search(&archive);
    assert!(before.0 > 0);
    // A load that ends before its epochs reach the search index leaves it behind.
    let mut unsearched = request(&shared, &["crawls/iana.warc.gz"]);
    unsearched.stages_off = vec![OptionalStage::Search];
    load(&archive, &unsearched);
    drop(archive);
    let filler = root.path().join("filler");
    let mut file = File::create(&filler).unwrap();
    while file.write_all(&[0; 4096]).is_ok() {}
    drop(file);

    let archive = open(&dir);
    // No write was attempted since it was opened.
    let told = status(&archive).search_failure;
    assert!(told.to_lowercase().contains("no space left"), "{told}");
    assert_eq!(search(&archive), before);
    assert_eq!(search(&archive), before, "asked again");
    let told = status(&archive).search_failure;
    assert!(told.to_lowercase().contains("no space left"), "{told}");
    drop(archive);

    std::fs::remove_file(&filler).unwrap();
    let archive = open(&dir);
    let (results, covered) = search(&archive);
    assert!(
        results >= before.0 && covered > before.1,
        "{results} of {covered}"
    );
    assert_eq!(status(&archive).search_failure, "");
}
