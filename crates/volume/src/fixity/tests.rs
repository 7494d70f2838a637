//! The log on several volumes: lines that were written are read again, even if some copies are lost
//! or damaged.

use std::fs::OpenOptions;
use std::sync::Arc;

use super::*;

struct Node {
    log: Arc<FixityLog>,
    home: tempfile::TempDir,
}

impl Node {
    fn new(volumes: &[&str]) -> Self {
        let node = Self {
            log: FixityLog::new(),
            home: tempfile::tempdir().unwrap(),
        };
        volumes.iter().for_each(|volume| node.attach(volume));
        node
    }

    fn dir(&self, volume: &str) -> PathBuf {
        self.home.path().join(volume)
    }

    fn file(&self, volume: &str) -> PathBuf {
        self.dir(volume).join(FIXITY)
    }

    fn attach(&self, volume: &str) {
        std::fs::create_dir_all(self.dir(volume)).unwrap();
        let failed = |error: &io::Error| panic!("{error}");
        self.log
            .attach(&id(volume), &self.dir(volume), Box::new(failed))
            .unwrap();
    }

    fn append(&self, name: &str, n: u64) {
        let mut event = event(name, &id("a"), Some((&key(n % 3), version(n))), Cause::Scrub, "");
        event.time_ms = n;
        self.log.append(&event, n.is_multiple_of(2));
    }

    fn read(&self, about: Option<&Key>, limit: usize) -> Vec<u64> {
        let events = self.log.read(about, limit).unwrap();
        events.iter().map(|event| event.time_ms).collect()
    }
}

fn id(name: &str) -> VolumeId {
    VolumeId(name.into())
}

fn key(n: u64) -> Key {
    Key::new("bucket", &n.to_string()).unwrap()
}

fn version(millis: u64) -> Version {
    Version {
        term: store_protocol::Term::NONE,
        millis,
        counter: 0,
        node: 0,
    }
}

#[test]
fn lines_come_back_once_and_in_order() {
    let node = Node::new(&["a", "b", "c"]);
    (0..10).for_each(|n| node.append("verified", n));
    assert_eq!(node.read(None, 100), (0..10).collect::<Vec<_>>());
    assert_eq!(node.read(None, 3), [7, 8, 9]);
    assert_eq!(node.read(Some(&key(1)), 100), [1, 4, 7]);
    assert_eq!(node.read(Some(&key(1)), 2), [4, 7]);
}

#[test]
fn the_story_outlives_the_volumes_one_after_the_other() {
    let node = Node::new(&["a", "b"]);
    (0..5).for_each(|n| node.append("verified", n));
    for (wiped, n) in [("a", 5), ("b", 6)] {
        std::fs::remove_file(node.file(wiped)).unwrap();
        node.attach(wiped);
        node.append("missing", n);
    }
    assert_eq!(node.read(None, 100), (0..7).collect::<Vec<_>>());
    assert_eq!(
        std::fs::read(node.file("a")).unwrap(),
        std::fs::read(node.file("b")).unwrap()
    );
}

#[test]
fn a_torn_line_costs_only_itself() {
    let node = Node::new(&["a"]);
    (0..3).for_each(|n| node.append("verified", n));
    node.log.detach(&id("a"));
    let text = std::fs::read(node.file("a")).unwrap();
    std::fs::write(node.file("a"), &text[..text.len() - 5]).unwrap();
    node.attach("a");
    node.append("verified", 3);
    assert_eq!(node.read(None, 100), [0, 1, 3]);
}

#[test]
fn what_is_no_line_of_the_log_is_passed_over() {
    let node = Node::new(&["a"]);
    node.append("verified", 0);
    let mut file = OpenOptions::new().append(true).open(node.file("a")).unwrap();
    file.write_all(&vec![b'x'; 200_000]).unwrap();
    file.write_all(b"\n\n{\"time_ms\":\n\xff\xfe\n").unwrap();
    node.append("verified", 1);
    assert_eq!(node.read(None, 100), [0, 1]);
}

#[test]
fn concurrent_writers_lose_no_line() {
    let node = Node::new(&["a", "b"]);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let node = &node;
            scope.spawn(move || (0..50).for_each(|n| node.append("verified", thread * 50 + n)));
        }
    });
    assert_eq!(node.read(None, 1000), (0..400).collect::<Vec<_>>());
}
