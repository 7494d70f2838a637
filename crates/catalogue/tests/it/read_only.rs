//! A catalogue in a directory that is not writable.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use catalogue::{Catalogue, CatalogueError, CatalogueSettings, LogBatch, Progress, ScanSettings};

/// Returns all files below a directory with their content.
fn content(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut content = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            content.extend(self::content(&path))
        } else {
            content.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    content
}

#[test]
fn a_catalogue_is_read_where_nothing_may_be_written() {
    let (tree, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for name in ["a", "b"] {
        fs::write(tree.path().join(name), name).unwrap();
    }
    let (dir, settings) = (state.path().join("files"), CatalogueSettings::default());
    let root = tree.path().canonicalize().unwrap();
    let scan =
        |catalogue: &Arc<Catalogue>| catalogue.scan(&root, &ScanSettings::default(), &Progress::default());
    let owner = Arc::new(Catalogue::create(&dir, &settings).unwrap());
    scan(&owner).unwrap();
    let refused = Catalogue::open_to_read(&dir, &settings);
    assert!(matches!(refused.err(), Some(CatalogueError::InUse { .. })));
    drop(owner);

    let before = content(&dir);
    let reader = Arc::new(Catalogue::open_to_read(&dir, &settings).unwrap());
    // Readers run concurrently and exclude writers.
    let other = Catalogue::open_to_read(&dir, &settings).unwrap();
    let refused = Catalogue::open(&dir, &settings);
    assert!(matches!(refused.err(), Some(CatalogueError::InUse { .. })));
    let found = reader.locate(&root.join("b")).unwrap().unwrap();
    assert_eq!(found.attributes.size_bytes, 1);
    assert_eq!(other.trees().unwrap().len(), 1);
    let text = scan(&reader).unwrap_err().to_string();
    assert!(
        text.contains("changing it requires write permission there"),
        "{text}"
    );
    assert!(matches!(
        reader.write_log(&LogBatch::default()),
        Err(CatalogueError::ReadOnly { .. })
    ));
    drop((reader, other));
    assert!(content(&dir) == before, "a file of the catalogue has changed");
    // The owner can write again.
    fs::write(tree.path().join("c"), "c").unwrap();
    let owner = Arc::new(Catalogue::open(&dir, &settings).unwrap());
    scan(&owner).unwrap();
    assert!(owner.locate(&root.join("c")).unwrap().is_some());
}
