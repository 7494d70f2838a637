//! Several processes sharing one archive.

use std::path::{Path, PathBuf};
use std::process::Child;

use tempfile::TempDir;

use crate::program::{
    Dumps, FILES, Server, assert_same, dumps, finish, load, run, status, undisturbed, weft,
};

/// The shared crawls, and the path of an archive to make.
struct Crawls {
    shared: PathBuf,
    /// The dumps of a load that nothing disturbs.
    expected: &'static Dumps,
    archive: PathBuf,
    _root: TempDir,
}

impl Crawls {
    /// Returns `None` on a machine without the crawls.
    fn new() -> Option<Crawls> {
        let shared = test_env::shared_data()?;
        let root = tempfile::tempdir().unwrap();
        Some(Crawls {
            expected: &undisturbed(&shared).dumps,
            archive: root.path().join("a"),
            shared,
            _root: root,
        })
    }
}

/// Starts a load that is slow enough to overlap with others.
fn slow_load(shared: &Path, archive: &Path, files: &[&str]) -> Child {
    let mut arguments = vec!["load", "--rate", "150", "--epoch-bytes", "200000"];
    arguments.extend(files);
    weft(shared, archive, &arguments).spawn().unwrap()
}

/// The owner ends as soon as its own load is done, while others still wait for theirs. They must
/// continue with the next owner, and none may end before its files are loaded.
#[test]
fn two_loads_at_once() {
    let Some(Crawls {
        shared,
        expected,
        archive,
        _root,
    }) = Crawls::new()
    else {
        return;
    };
    let (one, other) = FILES.split_at(2);
    let first = slow_load(&shared, &archive, one);
    let second = slow_load(&shared, &archive, other);
    let third = slow_load(&shared, &archive, &FILES);
    for child in [first, second, third] {
        let said = finish(child, &[0]);
        assert!(!said.contains("run the same command again"), "{said}");
    }
    assert_same(&dumps(&archive), expected, "two loads at once");
}

#[test]
fn questions_while_a_load_runs() {
    let Some(Crawls {
        shared,
        expected,
        archive,
        _root,
    }) = Crawls::new()
    else {
        return;
    };
    let mut loading = slow_load(&shared, &archive, &FILES);
    while !archive.join("weft.json").exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let mut captures = Vec::new();
    while loading.try_wait().unwrap().is_none() {
        captures.push(status(&shared, &archive, "captures"));
        run(weft(&shared, &archive, &["top", "--json"]), &[0]);
    }
    finish(loading, &[0, 1]);
    assert!(captures.is_sorted(), "{captures:?}");
    assert_same(&dumps(&archive), expected, "asked while it loaded");
}

#[test]
fn a_load_while_a_server_runs() {
    let Some(Crawls {
        shared,
        expected,
        archive,
        _root,
    }) = Crawls::new()
    else {
        return;
    };
    let server = Server::start(&shared, &archive);
    let text = run(
        {
            let mut command = load(&shared, &archive);
            command.arg("--json");
            command
        },
        &[0, 1],
    );
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(
        (last["state"].as_str(), last["inputs_done"].as_u64()),
        (Some("done"), Some(FILES.len() as u64)),
        "{last}"
    );
    assert_eq!(status(&shared, &archive, "owner_pid"), u64::from(server.id()));
    assert_same(&dumps(&archive), expected, "through the server");
    server.stop();
    assert_same(&dumps(&archive), expected, "after the server");
}

#[test]
fn a_server_killed_during_a_load_is_replaced_by_the_loader() {
    let Some(Crawls {
        shared,
        expected,
        archive,
        _root,
    }) = Crawls::new()
    else {
        return;
    };
    let server = Server::start(&shared, &archive);
    let loading = slow_load(&shared, &archive, &FILES);
    while status(&shared, &archive, "captures") == 0 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    server.kill();
    finish(loading, &[0, 1]);
    assert_same(&dumps(&archive), expected, "after the server was killed");
}
