//! A violated invariant: a pending write contradicts existing data. That write and all later ones
//! are refused, nothing panics, and existing data is still served.

use std::process::Stdio;

use crate::program::{FILES, Server, assert_same, dumps, finish, load, run, said, undisturbed, weft};

#[test]
fn a_server_refuses_writes_after_a_broken_invariant_and_answers_as_before() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    for place in ["index.epochs", "index.positions", "index.totals"] {
        let root = tempfile::tempdir().unwrap();
        let archive = root.path().join("a");
        run(weft(&shared, &archive, &["load", FILES[1]]), &[0, 1]);
        let mut serve = Server::command(&shared, &archive);
        serve
            .env("WEFT_BREAK_INVARIANT", format!("{place}:3"))
            .stdout(Stdio::piped());
        let server = Server::of(serve.spawn().unwrap());
        let output = load(&shared, &archive).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{place}: {}", said(&output));
        let status = run(weft(&shared, &archive, &["status"]), &[0]);
        let refused = format!("refused: broken invariant {place}: ");
        assert!(status.contains(&refused), "{place}: {status}\n{}", said(&output));
        let captures = run(weft(&shared, &archive, &["dump", "captures"]), &[0]);
        assert!(captures.lines().count() > 1, "{place}: {captures}");
        // The next load reopens the index and commits the outstanding captures.
        finish(load(&shared, &archive).spawn().unwrap(), &[0, 1]);
        let status = run(weft(&shared, &archive, &["status"]), &[0]);
        assert!(!status.contains("refused"), "{place}: {status}");
        assert_same(&dumps(&archive), &undisturbed(&shared).dumps, place);
        server.stop();
    }
}
