//! `weft files policy` and `weft files undo`: effects, untouched files, and messages.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, SystemTime};

use crate::support::{Workspace, json_lines};

/// The default directory of an archive.
const ARCHIVE: &str = "weft-archive";

/// Returns the standard output of a command that must end with code 0. Messages on standard error
/// are allowed, since a new store announces itself.
fn done(place: &Workspace, arguments: &[&str]) -> String {
    let run = place.run(arguments);
    assert_eq!(run.code, Some(0), "weft {}: {run:?}", arguments.join(" "));
    run.stdout
}

/// Returns every file below a directory with its content, without the trash.
fn contents(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut contents = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if path.file_name().unwrap() != ".weft-trash" {
                    open.push(path);
                }
            } else {
                contents.insert(path.clone(), fs::read(&path).unwrap());
            }
        }
    }
    contents
}

/// Returns every file of a directory with its content, including the trash.
fn bytes(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut contents = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path)
            } else {
                contents.insert(path.clone(), fs::read(&path).unwrap());
            }
        }
    }
    contents
}

fn age(path: &Path, days: u64) {
    let time = SystemTime::now() - Duration::from_secs(86_400 * days + 3600);
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_modified(time).unwrap();
}

/// Creates a tree with crawls of several ages and crawler leftovers.
fn tree(place: &Workspace) -> PathBuf {
    let root = place.path("tree");
    for n in 0..12u64 {
        let dir = root.join(["2024", "2025/deep"][n as usize % 2]);
        fs::create_dir_all(&dir).unwrap();
        let path = dir.join(format!(
            "crawl {n}.{}",
            ["warc.gz", "open", "txt"][n as usize % 3]
        ));
        fs::write(&path, format!("content of {n} ").repeat(1000)).unwrap();
        age(&path, n * 10);
    }
    root
}

fn rules(place: &Workspace, text: &str) -> String {
    let path = place.path("rules.toml");
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn the_ready_made_rules_run_on_a_tree() {
    let place = Workspace::new();
    let root = tree(&place);
    let root = root.to_str().unwrap();
    let example = place.good(&["files", "policy", "example"]);
    let rules = rules(&place, &example);
    assert!(
        place
            .good(&["files", "policy", "check", &rules])
            .contains("no errors")
    );
    place.good(&["files", "scan", root]);
    let before = contents(Path::new(root));
    let (a, b) = (place.path("a"), place.path("b"));
    let store = ["--volume", a.to_str().unwrap(), "--volume", b.to_str().unwrap()];
    let run = |names: &[&str]| {
        done(
            &place,
            &[&["files", "policy", "run", "--rules", &rules], names, &store[..]].concat(),
        )
    };
    // Copying also verifies. All policies are due except the one that waits for a full disk.
    let said = run(&[]);
    for expected in [
        "two-replicas: run 1: copy 4 files",
        "verify: run 2: verify 8 files",
        "leftovers: run 3: delete 3 files",
        "growth: run 5",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    assert_eq!(contents(Path::new(root)).len(), 9);
    // Now no policy is due; run by name, they have no work left.
    assert!(run(&[]).contains("less is used") || run(&[]).contains("no policy is due"));
    assert!(run(&["two-replicas"]).contains("copy 0 files"));
    let folders = ["crawls/2024/", "crawls/2025/deep/"];
    let listed = folders.map(|folder| done(&place, &[&["store", "ls", folder], &store[..]].concat()));
    let objects = listed.concat();
    assert_eq!(objects.matches(".warc.gz").count(), 4, "{objects}");
    // The trash is too recent.
    assert!(run(&["empty-trash"]).contains("empty-trash 0 files"));
    place.good(&["files", "undo", "3"]);
    assert!(contents(Path::new(root)) == before);
}

#[test]
fn a_dry_run_leaves_every_byte_as_it_was() {
    let place = Workspace::new();
    let root = tree(&place);
    let rules = rules(
        &place,
        "[policy.all]\naction = 'delete'\ncondition = 'size > 0'\n",
    );
    place.good(&["files", "scan", root.to_str().unwrap()]);
    let archive = place.path(ARCHIVE);
    let before = (bytes(&archive), bytes(&root));
    for _ in 0..3 {
        let said = place.good(&["files", "policy", "run", "--dry-run", "--rules", &rules]);
        assert!(said.contains("all: delete 12 files"), "{said}");
        place.good(&["files", "policy", "plan", "--rules", &rules, "--json"]);
    }
    let after = (bytes(&archive), bytes(&root));
    let names = |side: &BTreeMap<PathBuf, Vec<u8>>| side.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&before.0), names(&after.0));
    for (path, bytes) in &before.0 {
        assert!(after.0[path] == *bytes, "{} changed", path.display());
    }
    assert!(before.1 == after.1);
}

#[test]
fn a_released_file_comes_back_from_the_store() {
    let place = Workspace::new();
    let root = tree(&place);
    let rules = rules(
        &place,
        "[policy.keep]\naction = 'copy'\ncondition = 'format == \"warc\" and replicas < 2'\nto = 'store://crawls/'\nreplicas = 2\n\
         [policy.free]\naction = 'release'\nreplicas = 2\ncondition = 'replicas >= 2 and last_modified > 35 d'\n",
    );
    place.good(&["files", "scan", root.to_str().unwrap()]);
    let (a, b) = (place.path("a"), place.path("b"));
    let store = ["--volume", a.to_str().unwrap(), "--volume", b.to_str().unwrap()];
    let run =
        |name: &'static str| [&["files", "policy", "run", name, "--rules", &rules], &store[..]].concat();
    let before = contents(&root);
    // No file was copied yet.
    assert!(done(&place, &run("free")).contains("nothing to do"));
    assert!(done(&place, &run("keep")).contains("copy 4 files"));
    // A file changed after it was copied no longer equals its copy.
    let changed = root.join("2024/crawl 6.warc.gz");
    let modified = fs::metadata(&changed).unwrap().modified().unwrap();
    fs::write(&changed, "another").unwrap();
    let file = fs::File::options().write(true).open(&changed).unwrap();
    file.set_modified(modified + Duration::from_secs(1)).unwrap();
    let said = done(&place, &run("free"));
    assert!(said.contains("release 1 file"), "{said}");
    assert!(said.contains("1 skipped"), "{said}");
    let released = root.join("2025/deep/crawl 9.warc.gz");
    assert!(!released.exists() && changed.exists());
    assert!(!root.join(".weft-trash").exists());
    done(&place, &[&["files", "undo", "2"], &store[..]].concat());
    assert!(fs::read(&released).unwrap() == before[&released]);
    let restored = fs::metadata(&released).unwrap().modified().unwrap();
    assert!(SystemTime::now().duration_since(restored).unwrap() > Duration::from_secs(86_400 * 90));
    // With one replica damaged, no file is released.
    place.good(&["files", "scan", root.to_str().unwrap()]);
    for (path, mut bytes) in bytes(&a) {
        if bytes.windows(12).any(|part| part == b"content of 9") {
            let at = bytes.len() / 2;
            bytes[at] ^= 1;
            fs::write(path, bytes).unwrap();
        }
    }
    let output = place.command(&run("free")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("1 right replicas of 2"), "{said}");
    assert!(released.exists());
}

const COPY_AND_FREE: &str = "\
[policy.keep]
action = 'copy'
condition = 'type == \"file\" and replicas < 2'
to = 'store://crawls/'
replicas = 2
[policy.free]
action = 'release'
replicas = 2
condition = 'replicas >= 2'
[policy.check]
action = 'verify'
";

/// Bit rot, or a restore that sets old times, left a file that differs from its copy only in
/// content. It was the only instance of that content, so releasing it would lose data.
#[test]
fn a_file_that_is_not_what_was_copied_is_not_released_whatever_its_times_say() {
    let place = Workspace::new();
    let root = place.path("tree");
    let rules = rules(&place, COPY_AND_FREE);
    let (damaged, whole) = (root.join("a.warc.gz"), root.join("b.warc.gz"));
    fs::create_dir(&root).unwrap();
    for path in [&damaged, &whole] {
        fs::write(path, path.to_str().unwrap().repeat(100)).unwrap();
    }
    place.good(&["files", "scan", root.to_str().unwrap()]);
    let (a, b) = (place.path("a"), place.path("b"));
    let store = ["--volume", a.to_str().unwrap(), "--volume", b.to_str().unwrap()];
    let run = |name: &'static str| {
        let arguments = [&["files", "policy", "run", name, "--rules", &rules], &store[..]].concat();
        let output = place.command(&arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.code(), said)
    };
    assert_eq!(run("keep").0, Some(0));
    let modified = fs::metadata(&damaged).unwrap().modified().unwrap();
    let mut content = fs::read(&damaged).unwrap();
    content[5] ^= 1;
    fs::write(&damaged, &content).unwrap();
    let file = fs::File::options().write(true).open(&damaged).unwrap();
    file.set_modified(modified).unwrap();
    place.good(&["files", "scan", root.to_str().unwrap()]);
    let (code, said) = run("free");
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("it is not what store://crawls/a.warc.gz has"),
        "{said}"
    );
    assert!(!whole.exists() && fs::read(&damaged).unwrap() == content);
    // A file already known as damaged need not be read.
    assert!(run("check").1.contains("DAMAGED"));
    let (code, said) = run("free");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("it is damaged, and is left where it is"), "{said}");
    assert!(fs::read(&damaged).unwrap() == content);
}

/// A file that is written to while it is copied never had the copied content. Such an object would
/// prevent the file from ever being copied.
#[test]
fn no_object_is_made_of_a_file_that_is_written_to_while_it_is_copied() {
    let place = Workspace::new();
    let root = place.path("tree");
    let rules = rules(&place, COPY_AND_FREE);
    fs::create_dir(&root).unwrap();
    let path = root.join("a.warc.gz");
    fs::write(&path, vec![b'x'; 64 << 20]).unwrap();
    place.good(&["files", "scan", root.to_str().unwrap()]);
    let (a, b) = (place.path("a"), place.path("b"));
    let store = ["--volume", a.to_str().unwrap(), "--volume", b.to_str().unwrap()];
    let copy = [&["files", "policy", "run", "keep", "--rules", &rules], &store[..]].concat();
    let is_done = AtomicBool::new(false);
    let said = std::thread::scope(|scope| {
        scope.spawn(|| {
            let file = fs::File::options().write(true).open(&path).unwrap();
            while !is_done.load(Relaxed) {
                file.write_all_at(b"y", 7).unwrap();
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let output = place.command(&copy).output().unwrap();
        is_done.store(true, Relaxed);
        String::from_utf8_lossy(&output.stdout).into_owned()
    });
    assert!(
        said.contains("1 skipped") && said.contains("it changed while it was being read"),
        "{said}"
    );
    place.good(&["files", "scan", root.to_str().unwrap()]);
    let said = done(&place, &copy);
    assert!(said.contains("64.0 MiB done, 0 skipped, 0 failed"), "{said}");
}

#[test]
fn a_file_that_changed_since_the_scan_stays() {
    let place = Workspace::new();
    let root = tree(&place);
    let rules = rules(
        &place,
        "[policy.old]\naction = 'delete'\ncondition = 'last_modified > 55 d'\n",
    );
    place.good(&["files", "scan", root.to_str().unwrap()]);
    let written = root.join("2024/crawl 6.warc.gz");
    fs::write(&written, "new").unwrap();
    let replaced = root.join("2024/crawl 8.txt");
    fs::rename(root.join("2024/crawl 0.warc.gz"), &replaced).unwrap();
    fs::remove_file(root.join("2024/crawl 10.open")).unwrap();
    let said = place.good(&["files", "policy", "run", "old", "--rules", &rules]);
    assert!(said.contains("delete 3 files"), "{said}");
    assert!(said.contains("the condition holds no more"), "{said}");
    assert!(said.contains("another file has its name"), "{said}");
    assert!(said.contains("it is not there any more"), "{said}");
    assert!(written.exists() && replaced.exists());
    // The catalogue does not reflect it yet, the log does.
    let again = place.good(&["files", "policy", "plan", "--rules", &rules]);
    assert!(again.contains("delete 3 files"), "{again}");
    // Undo does not replace a file that now has the name of a deleted one.
    fs::write(root.join("2025/deep/crawl 7.open"), "by now").unwrap();
    let output = place.command(&["files", "undo", "1"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.contains("another file now has its name") && said.contains("2 files restored"),
        "{said}"
    );
    assert_eq!(fs::read(root.join("2025/deep/crawl 7.open")).unwrap(), b"by now");
    let acts = json_lines(&place.good(&["files", "policy", "log", "--run", "1", "--json"]));
    let states: Vec<&str> = acts.iter().map(|act| act["state"].as_str().unwrap()).collect();
    assert_eq!(
        states.iter().filter(|state| **state == "undone").count(),
        2,
        "{states:?}"
    );
}

#[test]
fn damage_is_told_from_a_change() {
    let place = Workspace::new();
    let root = tree(&place);
    let rules = rules(&place, "[policy.check]\naction = 'verify'\n");
    place.good(&["files", "scan", root.to_str().unwrap()]);
    let run = || {
        place
            .command(&["files", "policy", "run", "check", "--rules", &rules])
            .output()
            .unwrap()
    };
    assert!(run().status.success());
    let rewritten = root.join("2024/crawl 0.warc.gz");
    fs::write(&rewritten, "rewritten").unwrap();
    let damaged = root.join("2025/deep/crawl 3.warc.gz");
    let modified = fs::metadata(&damaged).unwrap().modified().unwrap();
    let mut content = fs::read(&damaged).unwrap();
    content[77] ^= 4;
    fs::write(&damaged, content).unwrap();
    fs::File::options()
        .write(true)
        .open(&damaged)
        .unwrap()
        .set_modified(modified)
        .unwrap();
    let output = run();
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("11 files") && said.contains("1 failed"), "{said}");
    assert!(said.contains("crawl 3.warc.gz: DAMAGED"), "{said}");
    let found = place.good(&["files", "find", "--damaged"]);
    assert_eq!(found.trim(), damaged.to_str().unwrap());
}

#[test]
fn what_is_known_of_contents_can_be_asked() {
    let place = Workspace::new();
    let root = tree(&place);
    fs::copy(root.join("2024/crawl 2.txt"), root.join("a copy")).unwrap();
    fs::hard_link(root.join("2024/crawl 4.open"), root.join("another name")).unwrap();
    place.good(&["files", "scan", root.to_str().unwrap()]);
    let rules = rules(
        &place,
        "[policy.some]\naction = 'verify'\ncondition = 'format != \"warc\"'\n",
    );
    assert_eq!(
        place
            .good(&["files", "find", "--verified", "+1y", "--count"])
            .split(',')
            .next(),
        Some("14 entries")
    );
    let report = place.good(&["files", "report", "duplicates"]);
    assert!(report.starts_with("duplicates\nas of scan 1, 20"), "{report}");
    let end = "\ncontent known for 0 of 13 non-empty files: weft files verify reads the others\n";
    assert!(report.ends_with(end), "{report}");
    place.good(&["files", "policy", "run", "some", "--rules", &rules]);
    assert_eq!(
        place
            .good(&["files", "find", "--verified", "-1d", "--count"])
            .split(',')
            .next(),
        Some("10 entries")
    );
    assert_eq!(
        place
            .good(&["files", "find", "--replicas", "0", "--count"])
            .split(',')
            .next(),
        Some("14 entries")
    );
    let rows = json_lines(&place.good(&["files", "find", "--name", "a copy", "--json"]));
    assert_eq!(rows[0]["sha256"].as_str().unwrap().len(), 64);
    let report = place.json(&["files", "report", "duplicates"]);
    assert_eq!(
        (&report["contents"], &report["scan"]),
        (&1.into(), &1.into()),
        "{report}"
    );
    assert_eq!(
        (&report["known_files"], &report["files"]),
        (&9.into(), &13.into()),
        "{report}"
    );
    let first = &report["first"][0];
    assert_eq!(first["files"], 2);
    assert_eq!(first["excess_bytes"], first["size_bytes"]);
    assert!(place.good(&["files", "report", "duplicates"]).contains("a copy"));
}

/// One command makes duplicates and verified files known, without rules.
#[test]
fn contents_become_known_without_rules() {
    let place = Workspace::new();
    let root = tree(&place);
    fs::copy(root.join("2024/crawl 2.txt"), root.join("a copy")).unwrap();
    fs::hard_link(root.join("2024/crawl 2.txt"), root.join("another name")).unwrap();
    place.good(&["files", "scan", root.to_str().unwrap()]);
    let never = || {
        let count = place.good(&["files", "find", "--never-verified", "--count"]);
        count.split(' ').next().unwrap_or_default().to_owned()
    };
    assert_eq!(never(), "14");
    let said = place.good(&["files", "verify"]);
    assert!(
        said.contains("files-verify: run 1: verify ") && said.contains(" 0 failed"),
        "{said}"
    );
    assert_eq!(never(), "0");
    assert!(place.good(&["files", "verify"]).contains("nothing to do"));
    let report = place.good(&["files", "report", "duplicates"]);
    let end = "\ncontent known for 13 of 13 non-empty files\n";
    assert!(report.contains("\n1 content exists more than once: "), "{report}");
    assert!(report.ends_with(end), "{report}");
    // A file that is written again is read again.
    fs::write(root.join("a copy"), "another").unwrap();
    place.good(&["files", "scan", root.to_str().unwrap()]);
    assert_eq!(never(), "1");
    assert!(place.good(&["files", "verify"]).contains("verify 1 file"));
    let report = place.json(&["files", "report", "duplicates"]);
    assert_eq!(report["contents"], 0, "{report}");
}

/// `weft files verify` compares with the disk what it does not read.
#[test]
fn verify_names_what_is_missing_or_changed_since_the_scan() {
    let place = Workspace::new();
    let root = tree(&place);
    let scan = || place.good(&["files", "scan", root.to_str().unwrap()]);
    let verify = |code: i32, stdout: &[&str]| {
        place.run(&["files", "verify"]).expect(code, stdout, &[]);
    };
    let rewrite = |name: &str, content: &str, days: u64| {
        let path = root.join(name);
        fs::write(&path, content).unwrap();
        age(&path, days);
    };
    scan();
    verify(0, &["no catalogued file is missing or changed", "0 failed"]);
    fs::remove_file(root.join("2024/crawl 2.txt")).unwrap();
    rewrite("2025/deep/crawl 3.warc.gz", "newer content", 1);
    rewrite("2024/crawl 4.open", "older content", 3000);
    let permissions = fs::Permissions::from_mode(0o600);
    fs::set_permissions(root.join("2025/deep/crawl 1.open"), permissions).unwrap();
    let lines = [
        "- ",
        "crawl 2.txt",
        "~ ",
        "crawl 3.warc.gz",
        "crawl 4.open",
        "3 names are missing (-)",
    ];
    verify(1, &lines);
    // Nothing was read, so the catalogue does not know it yet.
    verify(1, &["nothing to do", "3 names are missing (-)"]);
    scan();
    // A write explains a newer time, but not an older one.
    let can_be_damage = is_birth_known(&root);
    let said = place.run(&["files", "verify"]);
    let counts = if can_be_damage {
        "verify 1 file, 13 B done, 0 skipped, 1 failed"
    } else {
        "verify 2 files"
    };
    let said = said.expect(can_be_damage.into(), &[counts], &[]);
    if can_be_damage {
        let damaged =
            "crawl 4.open: DAMAGED: its digest is not what it was, though its time of change is not newer";
        assert!(said.stdout.contains(damaged), "{}", said.text());
        // It stays damaged until it has its content, or a newer time.
        verify(1, &["1 failed", "DAMAGED"]);
        let found = place.good(&["files", "find", "--damaged"]);
        assert!(found.trim().ends_with("crawl 4.open"), "{found}");
        rewrite("2024/crawl 4.open", &"content of 4 ".repeat(1000), 3000);
        scan();
        verify(0, &["verify 1 file", "0 failed"]);
    }
    verify(0, &["nothing to do"]);
}

/// Returns whether the file system keeps times of birth. Without them, a file with the same inode
/// may be another file.
fn is_birth_known(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.created().is_ok())
}

#[test]
fn a_part_of_a_tree_or_an_old_scan_is_not_enough_to_remove() {
    let place = Workspace::new();
    let root = tree(&place);
    let write = |rules_text: &str| rules(&place, rules_text);
    let rules = write("[policy.old]\naction = 'delete'\ncondition = 'size > 0'\nstale_max = '0 s'\n");
    place.good(&["files", "scan", root.to_str().unwrap()]);
    std::thread::sleep(Duration::from_millis(20));
    let output = place
        .command(&["files", "policy", "run", "old", "--rules", &rules])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said.contains("the last complete scan of") && said.contains("stale_max"),
        "{said}"
    );
    assert_eq!(contents(&root).len(), 12);
    let rules = write("[policy.old]\naction = 'delete'\ncondition = 'size > 0'\nscope = ['/not/there']\n");
    let output = place
        .command(&["files", "policy", "run", "old", "--rules", &rules])
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("is not catalogued"));
}

#[test]
fn limits_moves_commands_and_wrong_rules() {
    let place = Workspace::new();
    let root = tree(&place);
    let to = place.path("elsewhere");
    fs::create_dir(&to).unwrap();
    let text = format!(
        "[policy.some]\naction = 'move'\nto = '{}'\ncondition = 'format == \"warc\"'\nlimits.count = 2\norder = 'oldest-modified'\n\
         [policy.each]\naction = 'command'\ncommand = ['sh', '-c', 'echo \"$1\" >> {}/list; test \"$2\" -gt 0', 'sh', '{{path}}', '{{size}}']\n\
         condition = 'format == \"text\"'\n\
         [policy.many]\naction = 'report'\ncondition = 'size > 0'\ntrigger = {{ usage_of = 'count', high = '10', low = '10' }}\n",
        to.display(),
        to.display()
    );
    let rules = rules(&place, &text);
    place.good(&["files", "scan", root.to_str().unwrap()]);
    let before = contents(&root);
    let said = place.good(&["files", "policy", "run", "some", "--rules", &rules]);
    assert!(said.contains("move 2 files"), "{said}");
    assert!(to.join("2025/deep/crawl 9.warc.gz").exists() && to.join("2024/crawl 6.warc.gz").exists());
    place.good(&["files", "undo", "1"]);
    assert!(contents(&root) == before);
    assert!(
        place
            .good(&["files", "policy", "run", "each", "--rules", &rules])
            .contains("command 4 files")
    );
    assert_eq!(fs::read_to_string(to.join("list")).unwrap().lines().count(), 4);
    let said = place.good(&["files", "policy", "plan", "many", "--rules", &rules]);
    assert!(
        said.contains("there are 16 entries") && said.contains("report 6 files"),
        "{said}"
    );
    let wrong = place.path("wrong.toml");
    fs::write(
        &wrong,
        "[policy.a]\naction = 'delete'\ncondition = 'size > 1 lb'\n",
    )
    .unwrap();
    let output = place
        .command(&["files", "policy", "check", wrong.to_str().unwrap()])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("wrong.toml:3:21: "));
    let output = place.command(&["files", "policy", "check"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("weft files policy example"));
    let output = place.command(&["files", "undo", "99"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("there is no run 99"));
}

#[test]
fn the_archive_keeps_its_own_files() {
    let place = Workspace::new();
    let root = place.path(ARCHIVE).parent().unwrap().to_owned();
    fs::create_dir_all(root.join("beside")).unwrap();
    fs::write(root.join("beside/x"), "1").unwrap();
    let rules = rules(
        &place,
        "[policy.all]\naction = 'delete'\ncondition = 'size > 0 and not name == \"*.toml\"'\n",
    );
    place.good(&["files", "scan", root.to_str().unwrap()]);
    let said = place.good(&["files", "policy", "run", "all", "--rules", &rules]);
    assert!(said.contains("delete 1 file,"), "{said}");
    place.good(&["files", "status", "--recompute"]);
}

#[test]
fn a_policy_that_has_no_store_does_not_keep_the_others_from_running() {
    let place = Workspace::new();
    let root = tree(&place);
    let rules = rules(
        &place,
        "[policy.first]\naction = 'copy'\nto = 'store://copies/'\nreplicas = 1\ntrigger.every = '1 d'\n\
         [policy.second]\naction = 'verify'\ntrigger.every = '1 d'\n",
    );
    place.good(&["files", "scan", root.to_str().unwrap()]);
    let run = place.run(&["files", "policy", "run", "--rules", &rules]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("policy first: no store was named"), "{run:?}");
    assert!(run.stdout.contains("second: run 1: verify 12 files"), "{run:?}");
}
