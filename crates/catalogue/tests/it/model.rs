//! A tree that is created and changed at random and listed by the standard library. The catalogue
//! is compared with it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use catalogue::{Catalogue, CatalogueSettings, Kind, PathEntry, Progress, ScanReport, ScanSettings, Visit};
use tempfile::TempDir;

/// A small deterministic random generator.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(2).wrapping_add(1))
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        // Splitmix64 (Steele, Lea, Flood 2014).
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut n = self.0;
        n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((n ^ (n >> 31)) % end as u64) as usize
    }
}

/// Compared fields of an entry: kind, inode, size, blocks, mode, owner, group, links, modification
/// time.
pub(crate) type Row = (char, u64, u64, u64, u32, u32, u32, u64, i128);

/// Returns what the standard library finds at and below a path.
pub(crate) fn listed(root: &Path) -> BTreeMap<Vec<u8>, Row> {
    let mut rows = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(path) = open.pop() {
        let found = fs::symlink_metadata(&path).unwrap();
        let letter = match found.file_type() {
            kind if kind.is_dir() => 'd',
            kind if kind.is_symlink() => 'l',
            kind if kind.is_file() => 'f',
            _ => 'p',
        };
        if letter == 'd' {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        let modified = i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec());
        let (size, mode) = (found.len(), found.mode() & 0o7777);
        let row = (
            letter,
            found.ino(),
            size,
            found.blocks(),
            mode,
            found.uid(),
            found.gid(),
            found.nlink(),
            modified,
        );
        rows.insert(path.as_os_str().as_bytes().to_vec(), row);
    }
    rows
}

fn row(found: &PathEntry) -> Row {
    let file = &found.attributes;
    let modified = i128::from(file.modified_ns);
    let (size, links) = (file.size_bytes, u64::from(file.links));
    let letter = file.kind.letter();
    (
        letter,
        file.id.inode,
        size,
        file.blocks,
        u32::from(file.mode),
        file.uid,
        file.gid,
        links,
        modified,
    )
}

/// Returns what the catalogue has at and below a path.
pub(crate) fn catalogued(catalogue: &Catalogue, root: &Path) -> BTreeMap<Vec<u8>, Row> {
    let mut rows = BTreeMap::new();
    let top = catalogue.locate(root).unwrap().expect("the root is catalogued");
    catalogue
        .each::<catalogue::CatalogueError>(top, |found| {
            assert!(rows.insert(found.path.clone(), row(found)).is_none(), "twice");
            Ok(Visit::Descend)
        })
        .unwrap();
    rows
}

/// A tree and its catalogue.
pub(crate) struct Rig {
    pub(crate) tree: TempDir,
    state: TempDir,
    pub(crate) catalogue: Arc<Catalogue>,
    pub(crate) settings: ScanSettings,
}

impl Rig {
    pub(crate) fn new() -> Rig {
        let state = tempfile::tempdir().unwrap();
        let catalogue = Arc::new(Catalogue::create(state.path(), &CatalogueSettings::default()).unwrap());
        let settings = ScanSettings {
            read_threads: 3,
            stat_threads: 3,
            ..ScanSettings::default()
        };
        Rig {
            tree: tempfile::tempdir().unwrap(),
            state,
            catalogue,
            settings,
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.tree.path().canonicalize().unwrap()
    }

    /// Closes the catalogue and opens it again.
    pub(crate) fn reopen(&mut self) {
        let settings = CatalogueSettings::default();
        // The engine stays open until the last reference is dropped.
        let aside = tempfile::tempdir().unwrap();
        self.catalogue = Arc::new(Catalogue::create(aside.path(), &settings).unwrap());
        self.catalogue = Arc::new(Catalogue::open(self.state.path(), &settings).unwrap());
    }

    pub(crate) fn scan(&self) -> ScanReport {
        self.scan_of(&self.path())
    }

    pub(crate) fn scan_of(&self, path: &Path) -> ScanReport {
        self.catalogue
            .scan(path, &self.settings, &Progress::default())
            .unwrap()
    }

    /// Checks that the catalogue equals the disk and that its sums equal those of its entries.
    #[track_caller]
    pub(crate) fn check(&self) {
        Rig::check_beside(&self.catalogue, &self.path());
    }

    /// As [`Rig::check`], for any catalogue and tree.
    #[track_caller]
    pub(crate) fn check_beside(catalogue: &Catalogue, root: &Path) {
        let (expected, found) = (listed(root), catalogued(catalogue, root));
        let differing: Vec<_> = expected
            .keys()
            .chain(found.keys())
            .collect::<BTreeSet<_>>()
            .into_iter()
            .filter(|path| expected.get(*path) != found.get(*path))
            .map(|path| {
                (
                    String::from_utf8_lossy(path).into_owned(),
                    expected.get(path),
                    found.get(path),
                )
            })
            .take(5)
            .collect();
        assert!(differing.is_empty(), "on disk, in the catalogue: {differing:#?}");
        assert_eq!(catalogue.check().unwrap(), Vec::<String>::new());
        let top = catalogue.locate(root).unwrap().unwrap();
        let usage = catalogue.usage(&top).unwrap();
        let mut inodes = BTreeSet::new();
        let counted: Vec<_> = expected.values().filter(|row| inodes.insert(row.1)).collect();
        assert_eq!(usage.entries as usize, counted.len());
        assert_eq!(
            usage.size_bytes,
            counted.iter().map(|row| row.2 as i64).sum::<i64>()
        );
        assert_eq!(usage.blocks, counted.iter().map(|row| row.3 as i64).sum::<i64>());
        assert_eq!(
            usage.files() as usize,
            counted.iter().filter(|row| row.0 == 'f').count()
        );
    }

    #[track_caller]
    pub(crate) fn check_sums(&self) {
        assert_eq!(self.catalogue.check().unwrap(), Vec::<String>::new());
    }
}

/// Changes a tree in random steps.
pub(crate) struct Mutator {
    pub(crate) dice: Dice,
    root: PathBuf,
}

impl Mutator {
    pub(crate) fn new(root: &Path, seed: u64) -> Mutator {
        Mutator {
            dice: Dice::new(seed),
            root: root.to_owned(),
        }
    }

    fn paths(&self) -> Vec<(PathBuf, char)> {
        let row = |(path, row): (Vec<u8>, Row)| (PathBuf::from(std::ffi::OsString::from_vec(path)), row.0);
        listed(&self.root).into_iter().map(row).collect()
    }

    fn name(&mut self) -> std::ffi::OsString {
        let odd: [&[u8]; 6] = [
            b"a b",
            b"\xff\xfe",
            b"new\nline",
            b"-rf",
            b"\xc3\xa9",
            b"x.warc.gz",
        ];
        let mut name = odd[self.dice.below(6)].to_vec();
        // The extension determines the format.
        name.splice(1..1, self.dice.below(1000).to_string().into_bytes());
        std::ffi::OsString::from_vec(name)
    }

    /// Makes some changes; each may fail because of an earlier one.
    pub(crate) fn steps(&mut self, count: usize) {
        let mut paths = self.paths();
        for step in 0..count {
            if step % 40 == 39 {
                paths = self.paths();
            }
            let dirs: Vec<&PathBuf> = paths
                .iter()
                .filter(|row| row.1 == 'd')
                .map(|row| &row.0)
                .collect();
            let dir = dirs[self.dice.below(dirs.len())].clone();
            let any = paths[self.dice.below(paths.len())].0.clone();
            let new = dir.join(self.name());
            let _: std::io::Result<()> = match self.dice.below(20) {
                0..=5 => fs::write(&new, vec![b'x'; self.dice.below(9000)]),
                6..=8 => {
                    let made = fs::create_dir(&new);
                    paths.push((new, 'd'));
                    made
                }
                9 => std::os::unix::fs::symlink("some/where", &new),
                10 | 11 => fs::hard_link(&any, &new),
                12 | 13 if any != self.root => fs::rename(&any, &new),
                14 | 15 if any != self.root => fs::remove_file(&any).or_else(|_| fs::remove_dir(&any)),
                16 if any != self.root && self.dice.below(4) == 0 => fs::remove_dir_all(&any),
                17 => fs::set_permissions(
                    &any,
                    fs::Permissions::from_mode(0o700 + self.dice.below(0o100) as u32),
                ),
                18 => {
                    // The file system is likely to reuse the inode number.
                    let _ = fs::remove_file(&any);
                    fs::write(&any, b"new")
                }
                _ => fs::OpenOptions::new()
                    .append(true)
                    .open(&any)
                    .and_then(|mut file| {
                        use std::io::Write;
                        file.write_all(b"more")
                    }),
            };
        }
    }
}

/// Returns whether an entry is a directory.
pub(crate) fn is_dir(found: &PathEntry) -> bool {
    found.attributes.kind == Kind::Directory
}
