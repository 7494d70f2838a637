//! Trees too deep for paths, and directories too large for memory.

use std::fs;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, mkdirat, openat};

use crate::model::Rig;

#[test]
fn a_tree_deeper_than_any_path_may_be_is_scanned() {
    // A path of this many names has 17 kB; the system allows 4 kB.
    const DEPTH: usize = 1500;
    let rig = Rig::new();
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    let mut dir: OwnedFd = openat(rustix::fs::CWD, rig.tree.path(), flags, Mode::empty()).unwrap();
    for _ in 0..DEPTH {
        // A sibling at each step, so that handles are kept for pending directories.
        mkdirat(&dir, "beside", Mode::RWXU).unwrap();
        mkdirat(&dir, "on the way", Mode::RWXU).unwrap();
        dir = openat(&dir, "on the way", flags, Mode::empty()).unwrap();
    }
    drop(dir);
    let counts = rig.scan().row.counts;
    assert_eq!(
        (counts.directories, counts.faults, counts.vanished),
        (2 * DEPTH as u64 + 1, 0, 0)
    );
    rig.check_sums();
    assert_eq!(
        rig.catalogue.trees().unwrap()[0].usage.directories,
        2 * DEPTH as i64 + 1
    );
    let again = rig.scan().row.counts;
    assert_eq!((again.added, again.removed, again.changed), (0, 0, 0));
    // A path this deep cannot be removed by name; `remove_dir_all` works with handles.
    fs::remove_dir_all(rig.tree.path().join("on the way")).unwrap();
    let counts = rig.scan().row.counts;
    assert_eq!(counts.removed, 2 * DEPTH as u64 - 1);
    rig.check();
}

#[test]
fn a_directory_of_many_names_is_sorted_on_disk() {
    // Two sorted runs of 65,536 entries, and a rest.
    const COUNT: usize = 132_000;
    let rig = Rig::new();
    let dir = rig.path().join("many");
    fs::create_dir(&dir).unwrap();
    for n in 0..COUNT {
        rustix::fs::mknodat(
            rustix::fs::CWD,
            dir.join(format!("{n:x}")),
            rustix::fs::FileType::RegularFile,
            Mode::RUSR,
            0,
        )
        .unwrap();
    }
    assert_eq!(rig.scan().row.counts.entries as usize, COUNT + 1);
    rig.check();
    for n in (0..COUNT).step_by(3) {
        fs::remove_file(dir.join(format!("{n:x}"))).unwrap();
    }
    let counts = rig.scan().row.counts;
    assert_eq!((counts.removed as usize, counts.added), (COUNT.div_ceil(3), 0));
    rig.check();
}
