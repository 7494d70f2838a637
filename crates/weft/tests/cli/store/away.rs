//! Missing or unusable volumes, and lost layouts.

use super::TwoVolumes;

/// Scenario: a backup of both volumes is restored without `node/`. No command guesses a layout. A
/// user declares the layouts lost, and repair moves everything to its new place.
#[test]
fn lost_layouts_are_recovered_when_a_person_says_so() {
    let kept = TwoVolumes::filled();
    for volume in ["a", "b"] {
        std::fs::remove_dir_all(kept.place.path(volume).join("node")).expect("remove a folder");
    }
    let refused = kept.run(&["ls"]);
    assert_eq!(refused.code, Some(1), "{}", refused.stdout);
    for part in ["volume.json", "weft store layout recover"] {
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
    let recovered = kept.good(&["layout", "recover"]);
    assert!(recovered.contains("weft store repair"), "{recovered}");
    assert_eq!(
        kept.run(&["layout", "recover"]).code,
        Some(1),
        "nothing is lost now"
    );
    assert_eq!(kept.good(&["get", "crawls/2014/small.txt", "-"]), "small");
    kept.good(&["repair"]);
    assert!(kept.good(&["census"]).contains("\nwhole, by layout 1"));
    assert_eq!(kept.good(&["status"]).matches("in service").count(), 2);
}

/// A disk is not mounted, or a directory is mistyped: read commands work without it, report it, and
/// create nothing.
#[test]
fn commands_that_read_make_no_directories() {
    let kept = TwoVolumes::filled();
    std::fs::rename(kept.place.path("b"), kept.place.path("unmounted")).expect("rename");
    for command in [
        &["ls"] as &[&str],
        &["get", "crawls/2014/small.txt", "-"],
        &["stat", "crawls/2014/small.txt"],
        &["census"],
        &["scrub"],
        &["repair"],
        &["fixity"],
        &["layout", "show"],
    ] {
        let run = kept.run(command);
        assert!(
            run.stderr.contains("out of service") && run.stderr.contains("local/b"),
            "{command:?}: {}",
            run.stderr
        );
        assert!(!kept.place.path("b").exists(), "{command:?} made a directory");
    }
    assert_eq!(kept.good(&["get", "crawls/2014/small.txt", "-"]), "small");
    assert_eq!(kept.run(&["status"]).code, Some(1));
    assert_eq!(kept.json(&["status"])[0]["volumes"][1]["state"], "out");
    kept.place.write("new", b"new");
    assert_eq!(
        kept.run(&["put", "new", "crawls/"]).code,
        Some(1),
        "two copies, one volume"
    );
    assert!(!kept.place.path("b").exists());
    std::fs::rename(kept.place.path("unmounted"), kept.place.path("b")).expect("rename");
    kept.good(&["census"]);
}

/// Two of three disks are missing. The current version cannot be determined, so nothing is read
/// unless any version is acceptable.
#[test]
fn what_can_be_reached_is_read_when_any_will_do() {
    let kept = TwoVolumes::new();
    let run = |arguments: &[&str]| {
        let volumes = ["--volume", "a", "--volume", "b", "--volume", "c"];
        let arguments: Vec<_> = ["store"]
            .iter()
            .chain(arguments)
            .chain(&volumes)
            .copied()
            .collect();
        kept.place.run(&arguments)
    };
    // Each object is on the remaining volume with a probability of two thirds: of this many, some
    // are and some are not.
    let names: Vec<_> = (10..40).map(|i| format!("{i}.txt")).collect();
    let mut put = vec!["put"];
    for name in &names {
        kept.place.write(name, name.as_bytes());
        put.push(name);
    }
    put.push("store://crawls/");
    assert_eq!(run(&put).code, Some(0));
    for volume in ["b", "c"] {
        std::fs::rename(kept.place.path(volume), kept.place.path(&format!("no-{volume}"))).expect("rename");
    }
    let mut reached = Vec::new();
    for name in &names {
        let key = format!("crawls/{name}");
        for refused in [run(&["get", &key, "-"]), run(&["stat", &key])] {
            assert_eq!(refused.code, Some(1), "{}", refused.stdout);
            assert!(
                refused.stderr.contains("no certain answer is possible"),
                "{}",
                refused.stderr
            );
        }
        let any = run(&["get", "--any", &key, "-"]);
        if any.code == Some(0) {
            assert_eq!(any.stdout, *name);
            // The exit code only reports that a copy is unreachable.
            assert!(run(&["stat", "--any", &key]).stdout.contains("MD5 "));
            reached.push(key);
        }
    }
    assert!(!reached.is_empty() && reached.len() < names.len(), "{reached:?}");
    assert_eq!(run(&["ls", "crawls/"]).code, Some(1));
    let listed = run(&["ls", "--any", "crawls/"]);
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    for name in &names {
        let is_reached = reached.iter().any(|key| key.ends_with(name.as_str()));
        assert_eq!(
            listed.stdout.contains(name.as_str()),
            is_reached,
            "{}",
            listed.stdout
        );
    }
}

/// Scenario: a disk died, and this morning's backup is restored as docs/store/backup.md describes.
/// Later deletions and overwrites stay in force, and objects that only the backup has are recovered.
#[test]
fn a_copy_of_a_volume_without_its_identity_knows_nothing_better() {
    let kept = TwoVolumes::filled();
    let copied = std::process::Command::new("cp")
        .args(["-a", "b", "backup"])
        .current_dir(kept.place.path("."))
        .status();
    assert!(copied.expect("cp runs").success());
    kept.good(&["rm", "crawls/2014/small.txt"]);
    kept.place.write("large.warc.gz", b"overwritten");
    assert_eq!(
        kept.run(&["put", "large.warc.gz", "store://crawls/2014/"]).code,
        Some(0)
    );
    let old = [
        "store",
        "get",
        "--any",
        "crawls/2014/small.txt",
        "-",
        "--volume",
        "backup,name=b",
    ];
    assert_eq!(kept.place.run(&old).stdout, "small");
    std::fs::remove_dir_all(kept.place.path("b")).expect("remove a folder");
    std::fs::rename(kept.place.path("backup"), kept.place.path("b")).expect("rename");
    std::fs::remove_file(kept.place.path("b/volume.json")).expect("remove a file");
    let status = kept.run(&["status"]);
    assert!(status.stdout.contains("rebuilding"), "{}", status.stdout);
    for _ in 0..2 {
        assert_eq!(
            kept.good(&["get", "crawls/2014/large.warc.gz", "-"]),
            "overwritten"
        );
        assert_eq!(kept.run(&["stat", "crawls/2014/small.txt"]).code, Some(1));
        kept.good(&["repair"]);
    }
    assert!(kept.good(&["census"]).contains("\nwhole, by layout 1"));
}

/// Scenario: a disk is not mounted when the process starts. It serves from the other one, reports
/// this everywhere, and uses the disk once it appears.
#[cfg(unix)]
#[test]
fn a_volume_that_is_away_at_the_start_comes_back_by_itself() {
    let kept = TwoVolumes::filled();
    std::fs::rename(kept.place.path("b"), kept.place.path("unmounted")).expect("rename");
    let mut served = crate::serve::Served::start_with(&kept.place, &super::served::SERVE);
    assert_eq!(kept.good(&["get", "crawls/2014/small.txt", "-"]), "small");
    let status = kept.run(&["status"]);
    assert_eq!(status.code, Some(1));
    assert!(
        status
            .stdout
            .contains("volume local/b is out: there is no such directory"),
        "{}",
        status.stdout
    );
    assert!(served.get("/store").contains("there is no such directory"));
    let up = |line: &str| line.starts_with("weft_store_volume_up{volume=\"local/b\"") && line.ends_with(" 0");
    assert!(served.get("/metrics").lines().any(up));
    assert!(kept.run(&["fixity"]).stdout.contains("volume-out"));
    assert!(!kept.place.path("b").exists());
    std::fs::rename(kept.place.path("unmounted"), kept.place.path("b")).expect("rename");
    let begun = std::time::Instant::now();
    while kept.run(&["status"]).code != Some(0) {
        assert!(
            begun.elapsed() < super::served::PATIENCE,
            "{}",
            kept.run(&["status"]).stdout
        );
    }
    kept.good(&["census"]);
    assert!(kept.good(&["fixity"]).contains("volume-back"));
    assert_eq!(served.stop(), Some(0));
}

/// The process logs events of its volumes unasked, and commands name the volumes that it does not
/// have.
#[cfg(unix)]
#[test]
fn a_process_says_what_happens() {
    use std::io::{BufRead, BufReader};
    let kept = TwoVolumes::filled();
    let mut command = kept.place.command(&super::served::STORE_SERVE);
    let mut child = command
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe"))
        .lines()
        .map_while(Result::ok);
    let owner = kept.place.path("b/node/owner.json");
    let begun = std::time::Instant::now();
    while !owner.exists() {
        assert!(begun.elapsed() < super::served::PATIENCE, "it never served");
        std::thread::yield_now();
    }
    let more = kept.place.run(&["store", "ls", "--volume", "a", "--volume", "c"]);
    assert_eq!(more.code, Some(0), "{}", more.stderr);
    assert!(
        more.stderr.contains("c is not open in the running process"),
        "{}",
        more.stderr
    );
    let apply = [
        "store", "layout", "apply", "--volume", "a", "--volume", "b", "--volume", "c",
    ];
    let refused = kept.place.run(&apply);
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    assert!(
        refused.stderr.contains("restart it with this volume"),
        "{}",
        refused.stderr
    );
    assert!(!kept.place.path("c").exists());

    kept.wipe("b");
    // In any order: events of replicas are summarised and logged a little later.
    let mut expected = vec![
        "volume local/b is being rebuilt: volume.json was gone",
        " repaired",
        "volume local/b is rebuilt, and in service",
    ];
    while !expected.is_empty() {
        let line = lines
            .next()
            .unwrap_or_else(|| panic!("it ended without {expected:?}"));
        expected.retain(|said| !line.contains(said));
    }
    child.kill().expect("it ends");
    child.wait().expect("it has ended");
}

#[test]
fn a_retired_volume_is_explained() {
    let kept = TwoVolumes::filled();
    let alone = ["store", "layout", "apply", "--volume", "a", "--yes"];
    let applied = kept.place.run(&alone);
    assert_eq!(applied.code, Some(0), "{}", applied.stderr);
    assert!(applied.stdout.contains("weft store repair"), "{}", applied.stdout);
    let again = kept.run(&["layout", "apply"]);
    assert_ne!(again.code, Some(0), "{}", again.stdout);
    assert!(again.stderr.contains("was retired"), "{}", again.stderr);
    // Its replicas move away; after that the volume is ignored.
    kept.good(&["repair"]);
    let list = kept.run(&["ls"]);
    assert_eq!(list.code, Some(0), "{}", list.stderr);
    for part in ["local/b was retired", "name=NEW"] {
        assert!(list.stderr.contains(part), "{}", list.stderr);
    }
}
