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
