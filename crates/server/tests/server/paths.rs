//! Only the owner of the archive sees the folders of files, in every response.

use std::path::Path;

use archive::question::LoadRequest;
use archive::{Archive, OpenSettings};
use inputs::LoadInput;
use server::ServerSettings;

use crate::port::{Running, with_replay};
use crate::rights::{OPEN, SECRET, addresses};

/// A folder in the path of every file, but of no page.
const FOLDER: &str = "private-folder";

/// A request of another machine, as a proxy forwards it.
const FROM_ELSEWHERE: &str = "X-Forwarded-For: 192.0.2.7\r\n";

/// Creates an archive of two inputs that are named by their paths, and of one that is missing.
fn archive(dir: &Path) -> Archive {
    let folder = dir.join(FOLDER);
    std::fs::create_dir(&folder).unwrap();
    let mut settings = OpenSettings::default();
    settings.create = true;
    let archive = Archive::open(&folder.join("archive"), settings).unwrap();
    let named = |name: &str, content: &str| {
        let path = folder.join(name);
        std::fs::write(&path, content).unwrap();
        LoadInput {
            name: path.display().to_string(),
            path: path.display().to_string(),
        }
    };
    let gone = LoadInput {
        name: folder.join("gone.warc").display().to_string(),
        path: folder.join("gone.warc").display().to_string(),
    };
    let request = LoadRequest {
        inputs: vec![
            named(
                "open.warc",
                &crate::rights::record(OPEN, "<title>Open</title>river"),
            ),
            named(
                "secret.warc",
                &crate::rights::record(SECRET, "<title>Other</title>river"),
            ),
            // Without a valid length, so that a record is in quarantine.
            named(
                "damaged.warc",
                "WARC/1.0\r\nWARC-Type: response\r\n\r\nno record of any kind",
            ),
            gone,
        ],
        ..LoadRequest::default()
    };
    archive.load(&request, &mut |_, _| true).unwrap();
    std::fs::remove_file(folder.join("secret.warc")).unwrap();
    archive
}

fn get(running: &Running, path: &str, headers: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n");
    running.raw(request.as_bytes())
}

fn every_address() -> Vec<String> {
    let mut all = addresses();
    all.extend(
        [
            "/loads",
            "/loads/live",
            "/quarantine",
            "/statistics",
            "/pages",
            "/takedowns",
            "/api/v1/status",
            "/api/v1/ledger",
            "/api/v1/ledger?limit=1",
            "/api/v1/quarantine",
            "/api/v1/pages",
            "/api/v1/jobs",
            "/api/v1/jobs/1",
            "/api/v1/stages",
            "/cdx?url=open.org/*&filenames=path",
            "/api/v1/cdx?url=secret.org/*&filenames=path",
            "/record/secret.warc?offset=0",
            "/replay/http://secret.org/page",
        ]
        .map(str::to_owned),
    );
    all
}

/// Returns whether the folder occurs in a text, also within cursors, which are base64.
fn holds_the_folder(text: &str) -> bool {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'));
    let decoded = words.filter_map(|word| data_encoding::BASE64URL_NOPAD.decode(word.as_bytes()).ok());
    text.contains(FOLDER)
        || decoded
            .into_iter()
            .any(|bytes| String::from_utf8_lossy(&bytes).contains(FOLDER))
}

#[test]
fn folders_are_shown_to_the_owner_alone() {
    let dir = tempfile::tempdir().unwrap();
    let running = Running::start_over(archive(dir.path()), with_replay());
    let shown_to_the_owner = every_address()
        .into_iter()
        .filter(|path| holds_the_folder(&get(&running, path, "")))
        .count();
    assert!(shown_to_the_owner > 5, "{shown_to_the_owner}");
    for path in every_address() {
        let answer = get(&running, &path, FROM_ELSEWHERE);
        assert!(!holds_the_folder(&answer), "{path}\n{answer}");
    }
    // The name shown finds the same record.
    let record = get(&running, "/record/open.warc?offset=0", FROM_ELSEWHERE);
    assert!(record.starts_with("HTTP/1.1 200"), "{record}");
}

#[test]
fn behind_a_proxy_nobody_is_the_owner() {
    let dir = tempfile::tempdir().unwrap();
    let settings = ServerSettings {
        hosts: vec!["archive.example".to_owned()],
        ..ServerSettings::default()
    };
    let running = Running::start_over(archive(dir.path()), settings);
    for path in ["/api/v1/ledger", "/loads", "/api/v1/status"] {
        let answer = get(&running, path, "");
        assert!(!holds_the_folder(&answer), "{path}\n{answer}");
    }
}
