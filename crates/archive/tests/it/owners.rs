//! One owner at a time. All other processes are its clients, and both get the same answers.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use archive::question::{
    Body, Domains, Inlinks, JobState, Ledger, LinkScope, LoadRequest, Page, Question, SearchQuestion, Status,
    Top,
};
use archive::{Archive, ErrorCode, OpenError, OpenSettings};

use crate::data::{self, VIEWS, dump, load, open, own, status};

const FILES: [&str; 2] = ["crawls/hackfest.warc.gz", "crawls/dupes.warc.gz"];

fn questions() -> Vec<Question> {
    let url = || "http://www.archive.org/".to_owned();
    vec![
        Question::Ledger(Ledger {
            state: None,
            input: None,
            after: None,
            limit: 100,
        }),
        Question::Domains(Domains {
            order: archive::question::DomainOrder::Pages,
            after: None,
            limit: 10,
        }),
        Question::Top(Top {
            domain: None,
            after: None,
            limit: 10,
        }),
        Question::Page(Page { url: url() }),
        Question::Inlinks(Inlinks {
            url: url(),
            limit: 5,
            ..Inlinks::default()
        }),
        Question::Search(SearchQuestion {
            query: "the".into(),
            limit: 3,
            ..SearchQuestion::default()
        }),
        Question::Page(Page {
            url: "http://nowhere.example/".into(),
        }),
    ]
}

fn answer(archive: &Archive, question: &Question) -> String {
    let mut answer = match archive.ask(question.clone()) {
        Ok(answer) => serde_json::to_value(&answer).unwrap(),
        Err(error) => return serde_json::to_string(&error).unwrap(),
    };
    if let Some(took) = answer.get_mut("took_ms") {
        *took = 0.into();
    }
    answer.to_string()
}

#[test]
fn owner_and_client_answer_alike() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let owner = own(root.path());
    load(&owner, &data::request(&shared, &FILES));
    let client = open(root.path());
    assert!(owner.is_owner() && !client.is_owner());
    for question in questions() {
        assert_eq!(
            answer(&client, &question),
            answer(&owner, &question),
            "{question:?}"
        );
    }
    for view in VIEWS {
        assert_eq!(dump(&client, view), dump(&owner, view), "{view}");
    }
    assert_eq!(status(&client).owner_pid, std::process::id());
}

#[test]
fn a_load_through_a_client_gives_the_same_result() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let owner = own(&root.path().join("a"));
    load(&owner, &data::request(&shared, &FILES));
    let other = own(&root.path().join("b"));
    let client = open(&root.path().join("b"));
    let looks = AtomicUsize::new(0);
    let (epoch, job) = client
        .load(&data::request(&shared, &FILES), &mut |_, job| {
            assert_eq!(job.id, 1);
            looks.fetch_add(1, Ordering::Relaxed);
            true
        })
        .unwrap();
    assert!(looks.load(Ordering::Relaxed) > 0 && epoch > 0);
    assert_eq!((job.inputs, job.inputs_done, job.inputs_failed), (2, 2, 0));
    for view in VIEWS {
        assert_eq!(dump(&other, view), dump(&owner, view), "{view}");
    }
}

#[test]
fn a_client_goes_on_when_the_owner_goes_away() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let owner = own(root.path());
    load(&owner, &data::request(&shared, &FILES));
    let client = open(root.path());
    let captures = status(&client).captures;
    let before = dump(&client, "captures");
    drop(owner);
    assert_eq!(dump(&client, "captures"), before);
    assert_eq!(status(&client).captures, captures);
    assert!(client.is_owner());
}

#[test]
fn a_load_goes_on_when_the_owner_goes_away() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let mut owner = Some(own(root.path()));
    let client = open(root.path());
    // At the first progress call the load was only just requested: it may have begun, but has not
    // ended.
    let (_, job) = client
        .load(&data::request(&shared, &FILES), &mut |_, job| {
            if owner.take().is_some() {
                assert_ne!(job.state, JobState::Done);
            }
            true
        })
        .unwrap();
    assert_eq!(job.state, JobState::Done);
    assert!(client.is_owner());
    let whole = own(&root.path().join("whole"));
    load(&whole, &data::request(&shared, &FILES));
    assert_eq!(dump(&client, "captures"), dump(&whole, "captures"));
    assert_eq!(dump(&client, "ledger"), dump(&whole, "ledger"));
}

#[test]
fn only_one_can_own() {
    let root = tempfile::tempdir().unwrap();
    let _owner = own(root.path());
    let mut settings = OpenSettings::default();
    settings.own = true;
    match Archive::open(root.path(), settings) {
        Err(OpenError::Owned { owner, .. }) => assert_eq!(owner, format!("process {}", std::process::id())),
        other => panic!("{:?}", other.map(|_| "opened")),
    }
}

#[test]
fn questions_are_answered_beside_readers_and_changes_are_refused_with_their_name() {
    let root = tempfile::tempdir().unwrap();
    drop(own(root.path()));
    let open = |set: fn(&mut OpenSettings)| {
        let mut settings = OpenSettings::default();
        set(&mut settings);
        Archive::open(root.path(), settings)
    };
    let reader = open(|settings| settings.read_only = true).unwrap();
    let asker = open(|settings| settings.asks_only = true).unwrap();
    for archive in [&reader, &asker] {
        assert!(status(archive).read_only);
    }
    drop(asker);
    for set in [(|_| ()) as fn(&mut OpenSettings), |settings| settings.own = true] {
        match open(set) {
            Err(OpenError::Read { readers, .. }) => {
                assert_eq!(readers, format!("process {}", std::process::id()));
            }
            other => panic!("{:?}", other.map(|_| "opened")),
        }
    }
    drop(reader);
    let owner = open(|settings| settings.asks_only = true).unwrap();
    assert!(!status(&owner).read_only);
}

#[test]
fn many_open_at_once_and_all_are_answered() {
    let root = Arc::new(tempfile::tempdir().unwrap());
    drop(own(root.path()));
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let root = root.clone();
            std::thread::spawn(move || {
                for _ in 0..3 {
                    assert_eq!(status(&open(root.path())).captures, 0);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn what_a_crash_leaves_behind_is_replaced() {
    let root = tempfile::tempdir().unwrap();
    drop(own(root.path()));
    let socket = root.path().join("run/socket");
    std::fs::write(&socket, "left behind").unwrap();
    std::fs::write(root.path().join("lock"), "4711\n").unwrap();
    std::fs::write(root.path().join("weft.json.new"), "{").unwrap();
    let owner = own(root.path());
    assert!(!open(root.path()).is_owner());
    drop(owner);
    assert!(!socket.exists());
}

/// A process that can connect has the owner's rights. Other users of the machine must not be able
/// to, even with a permissive umask.
#[test]
fn the_socket_is_closed_to_others_whatever_the_mask_is() {
    use std::os::unix::fs::PermissionsExt as _;
    let root = tempfile::tempdir().unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let (folder, socket) = (root.path().join("run"), root.path().join("run/socket"));
    // A copy of the archive, for example, may have a folder that others can enter.
    for before in [None, Some(0o777)] {
        if let Some(before) = before {
            std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(before)).unwrap();
        }
        let owner = own(root.path());
        assert_eq!((mode(&folder), mode(&socket)), (0o700, 0o600));
        assert!(!open(root.path()).is_owner());
        drop(owner);
    }
}

fn open_error(dir: &Path, create: bool) -> String {
    let mut settings = OpenSettings::default();
    settings.create = create;
    Archive::open(dir, settings).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn what_is_no_archive_is_left_alone() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("x");
    assert!(open_error(&dir, false).contains("is not an archive; load something first"));
    std::fs::create_dir(&dir).unwrap();
    assert!(open_error(&dir, false).contains("is not an archive"));
    std::fs::write(dir.join("letter.txt"), "dear").unwrap();
    assert!(open_error(&dir, true).contains("not empty; it contains letter.txt"));
    std::fs::remove_file(dir.join("letter.txt")).unwrap();
    drop(own(&dir));
    let settings = std::fs::read_to_string(dir.join("weft.json")).unwrap();
    std::fs::write(
        dir.join("weft.json"),
        settings.replace("\"format\": 1", "\"format\": 99"),
    )
    .unwrap();
    assert!(
        open_error(&dir, true)
            .contains("has format 99, this program reads format 1: load its inputs again into a new archive")
    );
}

#[test]
fn a_deep_folder_is_no_obstacle() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("d".repeat(100)).join("e".repeat(100));
    let _owner = own(&dir);
    let client = open(&dir);
    assert!(!client.is_owner());
    assert_eq!(status(&client).archive, dir.display().to_string());
}

#[test]
fn the_link_scope_stays() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let owner = own(root.path());
    let request = LoadRequest {
        links: Some(LinkScope::External),
        ..data::request(&shared, &FILES)
    };
    let error = owner.ask(Question::Load(request.clone())).unwrap_err();
    assert_eq!(error.code, ErrorCode::BadRequest);
    assert!(error.message.contains("--links all"), "{error}");
    let mut settings = OpenSettings::default();
    settings.create = true;
    settings.links = Some(LinkScope::External);
    let external = Archive::open(&root.path().join("external"), settings).unwrap();
    load(&external, &request);
    let links = dump(&external, "links");
    assert!(links.lines().count() > 0);
    assert!(links.len() < dump_all_links(&shared).len());
    assert!(
        matches!(external.ask(Question::Status(Status {})).unwrap().body, Body::Status(s) if s.links_scope == LinkScope::External)
    );
}

fn dump_all_links(shared: &Path) -> String {
    let root = tempfile::tempdir().unwrap();
    let archive = own(root.path());
    load(&archive, &data::request(shared, &FILES));
    dump(&archive, "links")
}

/// Regression: the archive's directory was removed, and the program that had it open never ended.
#[test]
fn an_archive_whose_directory_is_gone_is_closed() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("a");
    let archive = own(&directory);
    assert_eq!(status(&archive).captures, 0);
    std::fs::remove_dir_all(&directory).unwrap();
    let (closed, waiting) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        drop(archive);
        closed.send(()).unwrap();
    });
    waiting
        .recv_timeout(std::time::Duration::from_secs(30))
        .expect("the archive is closed");
}
