//! A full disk: the load ends with a clear error, the archive opens again, and the load can be
//! continued.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::program::{Dumps, FILES, Server, assert_same, dumps, finish, load, run, said, undisturbed, weft};

/// Loads with too little room, then with enough.
fn check(shared: &Path, archive: &Path, expected: &Dumps, cramped: &mut Command, make_room: impl FnOnce()) {
    let output = cramped.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let message = String::from_utf8_lossy(&output.stderr).to_lowercase();
    let clear = ["no space left", "file too large", "quota"]
        .iter()
        .any(|words| message.contains(words));
    assert!(clear, "{message}");
    make_room();
    run(weft(shared, archive, &["status"]), &[0]);
    finish(load(shared, archive).spawn().unwrap(), &[0, 1]);
    assert_same(&dumps(archive), expected, "after a full disk");
}

#[test]
fn files_that_cannot_grow() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let archive = root.path().join("a");
    let whole = load(&shared, &archive);
    let mut cramped = test_env::command("sh", root.path());
    // With the signal ignored, the write fails with an error instead. The limit is in blocks of 512
    // bytes.
    cramped.args(["-c", "trap '' XFSZ; ulimit -f 1500; exec \"$0\" \"$@\""]);
    cramped
        .arg(whole.get_program())
        .args(whole.get_args())
        .current_dir(&shared);
    check(
        &shared,
        &archive,
        &undisturbed(&shared).dumps,
        &mut cramped,
        || {},
    );
}

/// The owner keeps running: neither it nor its clients must be restarted.
#[test]
fn a_server_goes_on_when_there_is_room_again() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let archive = root.path().join("a");
    // The engine allocates a large file when an index is created.
    run(weft(&shared, &archive, &["load", FILES[1]]), &[0, 1]);
    let serve = Server::command(&shared, &archive);
    let mut cramped = test_env::command("sh", root.path());
    cramped.args(["-c", "trap '' XFSZ; ulimit -S -f 1500; exec \"$0\" \"$@\""]);
    cramped
        .arg(serve.get_program())
        .args(serve.get_args())
        .current_dir(&shared)
        .stdout(Stdio::piped());
    let server = Server::of(cramped.spawn().unwrap());
    let output = load(&shared, &archive).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let status = run(weft(&shared, &archive, &["status"]), &[0]);
    assert!(status.contains("writes   refused: "), "{status}");
    let again = load(&shared, &archive).output().unwrap();
    let message = String::from_utf8_lossy(&again.stderr).to_lowercase();
    assert!(message.contains("no space left"), "{}", said(&again));
    let raised = Command::new("prlimit")
        .args(["--pid", &server.id().to_string(), "--fsize=unlimited:"])
        .status()
        .unwrap();
    assert!(raised.success());
    finish(load(&shared, &archive).spawn().unwrap(), &[0, 1]);
    let status = run(weft(&shared, &archive, &["status"]), &[0]);
    assert!(!status.contains("refused"), "{status}");
    assert_same(&dumps(&archive), &undisturbed(&shared).dumps, "after a full disk");
    server.stop();
}

/// A small in-memory file system, unmounted on drop.
struct Small<'a>(&'a Path);

impl Small<'_> {
    fn mount<'a>(at: &'a Path, options: &str) -> Option<Small<'a>> {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(at)
            .output();
        mounted
            .is_ok_and(|output| output.status.success())
            .then_some(Small(at))
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

#[test]
fn a_small_file_system() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let Some(small) = Small::mount(root.path(), "size=1m") else {
        println!("skipped: no file system can be mounted here");
        return;
    };
    let archive = root.path().join("a");
    let mut cramped = load(&shared, &archive);
    check(
        &shared,
        &archive,
        &undisturbed(&shared).dumps,
        &mut cramped,
        || {
            let grown = Command::new("mount")
                .args(["-o", "remount,size=1g"])
                .arg(small.0)
                .status()
                .unwrap();
            assert!(grown.success());
        },
    );
}
