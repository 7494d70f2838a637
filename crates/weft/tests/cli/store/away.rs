//! Volumes that are away or cannot be used, and layouts that are lost.

use super::Kept;

/// The story: a backup of both volumes was restored without `node/`. No command makes up where things lie; a person
/// says that the layouts are lost, and repair brings everything to its new place.
#[test]
fn lost_layouts_are_recovered_when_a_person_says_so() {
    let kept = Kept::filled();
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

/// A disk that is not mounted, or a mistyped directory: what only reads goes on without it, says so, and makes nothing.
#[test]
fn commands_that_read_make_no_directories() {
    let kept = Kept::filled();
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

/// The story: a disk is not mounted when the process starts. It serves from the other, says so everywhere, and takes
/// the disk in when it is there.
#[cfg(unix)]
#[test]
fn a_volume_that_is_away_at_the_start_comes_back_by_itself() {
    let kept = Kept::filled();
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
