//! Tests with boto3, the most common client: `tests/boto3/server.py`, `owners.py` for permissions,
//! `versions.py` for versions and object lock, and `sweep.py` for every operation known to
//! botocore.

use test_env::python;

use crate::support::{ADMIN, OWNERS, READER, Rig, run, say};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn boto3() {
    let Some(python) = python(&["boto3"]) else {
        say("skipped: there is no python3 with boto3 (make need-clients)");
        return;
    };
    let rig = Rig::start().await;
    let mut command = rig.command(python);
    command
        .arg(test_env::crate_dir().join("tests/boto3/server.py"))
        .arg(rig.endpoint())
        .args([ADMIN.0, ADMIN.1, READER.0, READER.1]);
    let (passed, text) = run(command).await;
    assert!(passed, "{text}");
    for line in text.lines().filter(|line| line.starts_with("skipped")) {
        say(line);
    }
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn owners() {
    with_owners("owners.py").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn versions() {
    with_owners("versions.py").await;
}

/// No operation is taken for a different one, and unimplemented ones are refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_operation_is_what_it_says() {
    let Some(python) = python(&["boto3"]) else {
        say("skipped: there is no python3 with boto3 (make need-clients)");
        return;
    };
    let rig = Rig::start_with_keys(OWNERS).await;
    let mut command = rig.command(python);
    command
        .arg(test_env::crate_dir().join("tests/boto3/sweep.py"))
        .arg(rig.endpoint())
        .args(["OWNER", "secret-of-OWNER"]);
    let (passed, text) = run(command).await;
    assert!(passed, "{text}");
    rig.stop().await;
}

/// Values that are too long or too many are refused as the client's error.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_are_the_clients_mistake() {
    let Some(python) = python(&["boto3"]) else {
        say("skipped: there is no python3 with boto3 (make need-clients)");
        return;
    };
    let rig = Rig::start_with_keys(OWNERS).await;
    let mut command = rig.command(python);
    command
        .arg(test_env::crate_dir().join("tests/boto3/limits.py"))
        .arg(rig.endpoint())
        .args(["OWNER", "secret-of-OWNER"]);
    let (passed, text) = run(command).await;
    assert!(passed, "{text}");
    rig.stop().await;
}

/// Runs a script against a server whose users own the objects and buckets that they create.
async fn with_owners(script: &str) {
    let Some(python) = python(&["boto3"]) else {
        say("skipped: there is no python3 with boto3 (make need-clients)");
        return;
    };
    let rig = Rig::start_with_keys(OWNERS).await;
    let mut command = rig.command(python);
    command
        .arg(test_env::crate_dir().join(format!("tests/boto3/{script}")))
        .arg(rig.endpoint());
    let (passed, text) = run(command).await;
    assert!(passed, "{text}");
    rig.stop().await;
}
