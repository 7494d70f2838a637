//! Scenario: a scan of a bucket is killed at any of its durable steps, or the store becomes
//! unreachable. The next scan continues, and in the end the catalogue equals one made without
//! interruption.

use std::path::Path;
use std::process::Command;

use system::FileStore;

use crate::program::{run, said, weft};
use crate::s3_server::S3Server;

fn files(server: &S3Server, archive: &Path, arguments: &[&str]) -> Command {
    let mut command = weft(Path::new("/"), archive, &[&["files"], arguments].concat());
    server.is_used_by(&mut command);
    command
}

/// Small commits, so that there are many.
fn scan(server: &S3Server, archive: &Path) -> Command {
    files(
        server,
        archive,
        &["scan", "s3://lake/crawl/", "--max-pending", "10"],
    )
}

/// Returns every entry with all its attributes, and all totals.
fn all(server: &S3Server, archive: &Path) -> String {
    run(files(server, archive, &["status", "--recompute"]), &[0]);
    let entries = run(files(server, archive, &["find", "--json"]), &[0]);
    entries
        + &run(
            files(server, archive, &["report", "--json", "-n", "100000"]),
            &[0],
        )
}

#[test]
fn a_scan_of_objects_that_ends_anywhere_goes_on_where_it_was() {
    let mut server = S3Server::start();
    let folder = server.remote().folder("s3://lake/crawl").unwrap();
    for dir in 0..20 {
        for n in 0..4 {
            folder
                .put(&format!("{}/{dir}/{n}.warc", dir % 3), vec![b'x'; n].into())
                .unwrap();
        }
    }
    let undisturbed = tempfile::tempdir().unwrap();
    run(scan(&server, undisturbed.path()), &[0]);
    let expected = all(&server, undisturbed.path());
    assert_eq!(expected.matches("\"kind\":\"file\"").count(), 80);
    for point in ["files.before_commit", "files.before_sync", "files.after_sync"] {
        for time in [1, 5] {
            let archive = tempfile::tempdir().unwrap();
            let mut command = scan(&server, archive.path());
            command.env("WEFT_CRASH_POINT", format!("{point}:{time}"));
            let ended = command.output().unwrap();
            assert_eq!(ended.status.code(), None, "{point}:{time}: {}", said(&ended));
            let result = run(scan(&server, archive.path()), &[0]);
            let begun = run(
                files(&server, archive.path(), &["status", "--scans", "--json"]),
                &[0],
            );
            assert_eq!(begun.lines().count(), 1, "one scan, not two: {begun}");
            assert!(
                time == 1 || result.contains("continued after a stop"),
                "{point}:{time}: {result}"
            );
            assert!(
                all(&server, archive.path()) == expected,
                "{point}:{time}: the catalogues differ"
            );
        }
    }
    // An unreachable store does not empty the catalogue.
    server.go_away();
    let away = run(scan(&server, undisturbed.path()), &[1]);
    assert!(away.is_empty(), "{away}");
    server.come_back();
    assert!(all(&server, undisturbed.path()) == expected);
    run(files(&server, undisturbed.path(), &["diff"]), &[0]);
}
