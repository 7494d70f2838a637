//! Tests with the command-line clients s3cmd and rclone, if installed.

use std::path::Path;

use crate::support::{ADMIN, Rig, run, say};

fn is_installed(program: &str) -> bool {
    let tried = test_env::command(program, &std::env::temp_dir())
        .arg("--version")
        .output();
    let found = tried.is_ok_and(|output| output.status.success());
    if !found {
        say(&format!("skipped: there is no {program} (make need-clients)"));
    }
    found
}

/// Creates files to send: a small one, one of several parts, one with an unusual name.
fn make_files(dir: &Path) {
    std::fs::create_dir(dir).unwrap();
    std::fs::write(dir.join("small.txt"), "small").unwrap();
    std::fs::write(dir.join("big.bin"), vec![5; 20_000_000]).unwrap();
    std::fs::write(dir.join("a b+ü.txt"), "odd").unwrap();
}

fn assert_same(one: &Path, other: &Path) {
    for entry in std::fs::read_dir(one).unwrap() {
        let name = entry.unwrap().file_name();
        let same = std::fs::read(one.join(&name)).unwrap() == std::fs::read(other.join(&name)).unwrap();
        assert!(same, "{name:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s3cmd() {
    if !is_installed("s3cmd") {
        return;
    }
    let rig = Rig::start().await;
    let (there, back) = (rig.dir().join("there"), rig.dir().join("back"));
    make_files(&there);
    std::fs::create_dir(&back).unwrap();
    let config = rig.dir().join("s3cfg");
    let address = rig.server.address();
    let text = format!(
        "[default]\naccess_key = {}\nsecret_key = {}\nhost_base = {address}\nhost_bucket = {address}\n\
         use_https = False\nmultipart_chunk_size_mb = 5\n",
        ADMIN.0, ADMIN.1
    );
    std::fs::write(&config, text).unwrap();
    let s3cmd = |words: &[&str]| {
        let mut command = rig.command("s3cmd");
        command.arg("-c").arg(&config).arg("--no-progress").args(words);
        async move {
            let (passed, text) = run(command).await;
            assert!(passed, "{text}");
            text
        }
    };
    // s3cmd signs for its default region `US` first, then for the region named in the refusal.
    s3cmd(&["mb", "s3://cmd-bucket"]).await;
    s3cmd(&["sync", &format!("{}/", there.display()), "s3://cmd-bucket/in/"]).await;
    let listed = s3cmd(&["ls", "s3://cmd-bucket/in/"]).await;
    assert!(
        listed.contains("a b+ü.txt") && listed.contains("20000000"),
        "{listed}"
    );
    s3cmd(&["cp", "s3://cmd-bucket/in/big.bin", "s3://cmd-bucket/copied.bin"]).await;
    s3cmd(&["sync", "s3://cmd-bucket/in/", &format!("{}/", back.display())]).await;
    assert_same(&there, &back);
    s3cmd(&["info", "s3://cmd-bucket"]).await;
    s3cmd(&["rb", "--recursive", "s3://cmd-bucket"]).await;
    assert_eq!(rig.keys("cmd-bucket/").await, Vec::<String>::new());
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rclone() {
    if !is_installed("rclone") {
        return;
    }
    let rig = Rig::start().await;
    let (there, back) = (rig.dir().join("there"), rig.dir().join("back"));
    make_files(&there);
    let endpoint = rig.endpoint();
    let rclone = |words: &[&str]| {
        let mut command = rig.command("rclone");
        command
            .args(words)
            .arg("--s3-upload-cutoff=5M")
            .env("RCLONE_CONFIG", "/dev/null")
            .env("RCLONE_CONFIG_FACE_TYPE", "s3")
            .env("RCLONE_CONFIG_FACE_PROVIDER", "Other")
            .env("RCLONE_CONFIG_FACE_ENDPOINT", &endpoint)
            .env("RCLONE_CONFIG_FACE_ACCESS_KEY_ID", ADMIN.0)
            .env("RCLONE_CONFIG_FACE_SECRET_ACCESS_KEY", ADMIN.1);
        async move {
            let (passed, text) = run(command).await;
            assert!(passed, "{text}");
            text
        }
    };
    rclone(&["mkdir", "face:rclone-bucket"]).await;
    rclone(&["sync", there.to_str().unwrap(), "face:rclone-bucket/in"]).await;
    rclone(&["check", there.to_str().unwrap(), "face:rclone-bucket/in"]).await;
    rclone(&["copy", "face:rclone-bucket/in", back.to_str().unwrap()]).await;
    assert_same(&there, &back);
    rclone(&["purge", "face:rclone-bucket"]).await;
    assert_eq!(rig.keys("rclone-bucket/").await, Vec::<String>::new());
    rig.stop().await;
}
