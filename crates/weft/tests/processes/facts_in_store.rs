//! Scenario: an archive keeps its facts in an S3 store, and loads are killed, or the store becomes
//! unreachable in the middle. The same command continues, and in the end views and tables equal
//! those of an undisturbed archive with local facts.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use system::FileStore as _;

use crate::crash::{record, write_old};
use crate::program::{
    Dumps, assert_same, dumps_with, finish, load, load_few, run, said, status, undisturbed, undisturbed_few,
    weft,
};
use crate::s3_server::S3Server;

/// Lets a command keep facts at `address`.
fn with_facts(server: &S3Server, mut command: Command, address: &str) -> Command {
    server.is_used_by(&mut command);
    command.args(["--facts", address]);
    command
}

/// Returns all views of an archive, and its tables as stored.
fn dumps_of(server: &S3Server, archive: &Path, address: &str) -> Dumps {
    let copy = tempfile::tempdir().unwrap();
    server.download(address, copy.path());
    dumps_with(archive, copy.path())
}

#[test]
fn aborted_at_every_point_of_facts_in_a_store() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let expected = &undisturbed_few(&shared).dumps;
    let server = S3Server::start();
    let points = facts::CRASH_POINTS
        .into_iter()
        .chain(["apply.before_commit", "apply.before_sync", "apply.before_publish"])
        .filter(|point| !point.starts_with("retract."));
    for point in points {
        for nth in [1, 4] {
            let root = tempfile::tempdir().unwrap();
            let archive = root.path().join("a");
            let address = format!("s3://lake/{point}/{nth}");
            let loading = || with_facts(&server, load_few(&shared, &archive), &address);
            let output = loading()
                .env("WEFT_CRASH_POINT", format!("{point}:{nth}"))
                .output()
                .unwrap();
            assert_eq!(output.status.code(), None, "{point}:{nth}: {}", said(&output));
            run(loading(), &[0, 1]);
            let found = dumps_of(&server, &archive, &address);
            assert_same(&found, expected, &format!("{point}:{nth}"));
        }
    }
}

/// Killed between the last epoch and its tables: the next load finds nothing new to commit, but
/// still publishes the facts.
#[test]
fn the_last_epoch_is_published_by_a_load_that_adds_nothing() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = S3Server::start();
    write_old(&root.join("x.warc"), record(1).as_bytes());
    let archive = root.join("a");
    let loading = || with_facts(&server, weft(root, &archive, &["load", "x.warc"]), "s3://lake/x");
    let output = loading()
        .env("WEFT_CRASH_POINT", "publish.before_rename:3")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), None, "{}", said(&output));
    let rows = || {
        let copy = tempfile::tempdir().unwrap();
        server.download("s3://lake/x", copy.path());
        facts::read_table(&copy.path().join("captures"), None)
            .unwrap()
            .len()
    };
    assert_eq!(rows(), 0);
    // A query does not write to the store.
    assert!(run(weft(root, &archive, &["dump", "captures"]), &[0]).contains("a.com"));
    assert_eq!(rows(), 0);
    run(loading(), &[0]);
    assert_eq!(rows(), 1);
}

#[test]
fn aborted_while_facts_in_a_store_are_taken_back() {
    let whole: String = (0..24).map(record).collect();
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = S3Server::start();
    let write = |length: usize| write_old(&root.join("x.warc"), &whole.as_bytes()[..length]);
    let calm = root.join("calm");
    write(whole.len());
    run(weft(root, &calm, &["load", "x.warc"]), &[0]);
    let expected = dumps_with(&calm, &calm.join("facts"));
    let points = facts::CRASH_POINTS
        .into_iter()
        .filter(|point| !point.starts_with("stage."));
    for point in points.chain(["take_back.before_publish"]) {
        let archive = root.join(point);
        let address = format!("s3://lake/{point}");
        let loading = || with_facts(&server, weft(root, &archive, &["load", "x.warc"]), &address);
        write(whole.len() - 20);
        run(loading(), &[1]);
        write(whole.len());
        let output = loading().env("WEFT_CRASH_POINT", point).output().unwrap();
        assert_eq!(output.status.code(), None, "{point}: {}", said(&output));
        run(loading(), &[0]);
        assert_same(&dumps_of(&server, &archive, &address), &expected, point);
    }
}

/// Multipart uploads, and a commit that the store refuses because it exists.
#[test]
fn large_files_go_in_parts() {
    let server = S3Server::start();
    let folder = server.remote().folder("s3://lake/large").unwrap();
    let large: bytes::Bytes = (0..20_000_000u32)
        .map(|n| (n >> 7) as u8)
        .collect::<Vec<u8>>()
        .into();
    folder.put("links/large", large.clone()).unwrap();
    assert!(folder.get("links/large").unwrap().unwrap() == large);
    assert!(
        folder
            .put_if_absent("links/_delta_log/0", "first".into())
            .unwrap()
    );
    assert!(
        !folder
            .put_if_absent("links/_delta_log/0", "second".into())
            .unwrap()
    );
    assert_eq!(folder.get("links/_delta_log/0").unwrap().unwrap(), "first");
    assert_eq!(folder.list("links").unwrap(), ["large"]);
    let absent = server.remote().folder("s3://lakes/large").unwrap();
    for error in [
        absent.list("links").unwrap_err(),
        absent.get("links/x").unwrap_err(),
        absent.put("links/x", large.slice(..9)).unwrap_err(),
    ] {
        assert!(error.to_string().contains("there is no bucket lakes"), "{error}");
    }
}

#[test]
fn a_store_that_goes_away_in_mid_load() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let expected = &undisturbed(&shared).dumps;
    let mut server = S3Server::start();
    let root = tempfile::tempdir().unwrap();
    let archive = root.path().join("a");
    let address = "s3://lake/away";
    let load_there = |server: &S3Server| {
        let mut command = with_facts(server, load(&shared, &archive), address);
        command.env("AWS_MAX_ATTEMPTS", "2");
        command
    };
    let mut slowly = load_there(&server);
    slowly.args(["--rate", "60"]);
    let child = slowly.spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while !archive.join("run/socket").exists() || status(&shared, &archive, "captures") == 0 {
        assert!(Instant::now() < deadline, "nothing is indexed");
        std::thread::sleep(Duration::from_millis(20));
    }
    server.go_away();
    let stderr = {
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(
        stderr.contains("s3://lake/away/") && stderr.to_lowercase().contains("connect"),
        "{stderr}"
    );
    // Queries need no facts; a status query reports the missing store. None of them waits long.
    let begun = Instant::now();
    let found = run(weft(&shared, &archive, &["search", "--json", "the"]), &[0]);
    assert!(found.contains("\"total\""), "{found}");
    run(weft(&shared, &archive, &["dump", "pages"]), &[0]);
    assert!(begun.elapsed() < Duration::from_secs(5));
    let mut asking = weft(&shared, &archive, &["status"]);
    let told = finish(server.is_used_by(&mut asking).spawn().unwrap(), &[0]);
    assert!(told.contains("in s3://lake/away"), "{told}");
    // Again without the store: nothing is committed.
    let before = status(&shared, &archive, "captures");
    let again = load_there(&server).output().unwrap();
    assert_eq!(again.status.code(), Some(1), "{}", said(&again));
    assert_eq!(status(&shared, &archive, "captures"), before);
    server.come_back();
    run(load_there(&server), &[0, 1]);
    let found = dumps_of(&server, &archive, address);
    assert_same(&found, expected, "after the store was away");
}
