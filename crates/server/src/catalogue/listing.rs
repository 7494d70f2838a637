//! What is directly below a directory, the heaviest first.

use ::files::{Catalogue, CatalogueError, Child, Found, Usage, Weight};
use schemars::JsonSchema;
use serde::Serialize;

use super::{FilesPath, FilesUsage};

/// A directory and what is directly below it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Listing {
    /// When the catalogue was read, in milliseconds since 1970.
    pub(crate) time_ms: u64,
    /// Number of the last change of the catalogue.
    pub(crate) catalogue_epoch: u64,
    /// The path; empty if the rows are the trees of the catalogue.
    pub(crate) at: FilesPath,
    /// What sort of thing it is.
    #[schemars(example = &"directory")]
    pub(crate) kind: &'static str,
    /// Sums over it and all that is below it.
    pub(crate) usage: FilesUsage,
    /// Names directly in it, the heaviest first.
    pub(crate) rows: Vec<FilesEntry>,
    /// How many names there are besides the rows.
    pub(crate) others: u64,
    /// What those hold together.
    pub(crate) others_usage: FilesUsage,
    /// The directories that lead to it from the root of its tree, this one included.
    #[serde(skip)]
    pub(crate) way: Vec<FilesPath>,
}

/// A name in a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct FilesEntry {
    /// Its path.
    pub(crate) at: FilesPath,
    /// Its name alone, as text.
    pub(crate) name: String,
    /// What sort of thing it is.
    #[schemars(example = &"directory")]
    pub(crate) kind: &'static str,
    /// Sums over it and all that is below it. Of a file with several names, nothing but at the first of them.
    pub(crate) usage: FilesUsage,
}

impl FilesEntry {
    pub(crate) fn is_directory(&self) -> bool {
        self.kind == ::files::Kind::Directory.name()
    }
}

impl Listing {
    /// Reads at most `count` names below a path; `None` if it is not in the catalogue.
    pub(super) fn of(
        catalogue: &Catalogue,
        path: Vec<u8>,
        by: Weight,
        count: usize,
    ) -> Result<Option<Listing>, CatalogueError> {
        if path.is_empty() {
            return Listing::of_trees(catalogue, by, count).map(Some);
        }
        let Some(found) = catalogue.locate_exactly(&path)? else {
            return Ok(None);
        };
        let children = catalogue.children(&found, by, count)?;
        let rows = children.first.into_iter().map(|child| entry(&found, child));
        Ok(Some(Listing {
            time_ms: ambient::wall_ms(),
            catalogue_epoch: catalogue.epoch()?,
            kind: found.attributes.kind.name(),
            usage: FilesUsage::of(&catalogue.usage(&found)?),
            rows: rows.collect(),
            others: children.others,
            others_usage: FilesUsage::of(&children.others_usage),
            way: way(&path, &catalogue.tree_paths()?),
            at: FilesPath::new(path),
        }))
    }

    fn of_trees(catalogue: &Catalogue, by: Weight, count: usize) -> Result<Listing, CatalogueError> {
        let (mut rows, mut all) = (Vec::new(), Usage::default());
        for path in catalogue.tree_paths()? {
            let Some(found) = catalogue.locate_exactly(&path)? else {
                continue;
            };
            let usage = catalogue.usage(&found)?;
            all.merge(&usage);
            rows.push((FilesPath::new(path), usage));
        }
        rows.sort_by(|a, b| {
            let weight = |usage: &Usage| match by {
                Weight::Size => usage.size_bytes,
                Weight::Entries => usage.entries,
            };
            weight(&b.1)
                .cmp(&weight(&a.1))
                .then_with(|| a.0.bytes.cmp(&b.0.bytes))
        });
        let others = rows.split_off(count.min(rows.len()));
        let mut others_usage = Usage::default();
        others.iter().for_each(|(_, usage)| others_usage.merge(usage));
        let row = |(at, usage): (FilesPath, Usage)| FilesEntry {
            name: at.path.clone(),
            at,
            kind: ::files::Kind::Directory.name(),
            usage: FilesUsage::of(&usage),
        };
        Ok(Listing {
            time_ms: ambient::wall_ms(),
            catalogue_epoch: catalogue.epoch()?,
            at: FilesPath::new(Vec::new()),
            kind: ::files::Kind::Directory.name(),
            usage: FilesUsage::of(&all),
            rows: rows.into_iter().map(row).collect(),
            others: others.len() as u64,
            others_usage: FilesUsage::of(&others_usage),
            way: Vec::new(),
        })
    }
}

fn entry(dir: &Found, child: Child) -> FilesEntry {
    let mut path = dir.path.clone();
    if path.last() != Some(&b'/') {
        path.push(b'/');
    }
    path.extend_from_slice(&child.name);
    FilesEntry {
        at: FilesPath::new(path),
        name: String::from_utf8_lossy(&child.name).into_owned(),
        kind: child.kind.name(),
        usage: FilesUsage::of(&child.usage),
    }
}

/// The root of the tree that a path is in, and each directory from there to the path.
fn way(path: &[u8], trees: &[Vec<u8>]) -> Vec<FilesPath> {
    let ends =
        |length: usize| matches!(path.get(length), None | Some(b'/')) || path[..length].ends_with(b"/");
    let root = trees
        .iter()
        .filter(|root| path.starts_with(root) && ends(root.len()))
        .map(Vec::len)
        .max()
        .unwrap_or(0);
    // In an address of objects more than one slash may follow on a name: the first one ends it.
    let slashes = (root + 1..path.len()).filter(|&at| path[at] == b'/' && path[at - 1] != b'/');
    let mut lengths: Vec<usize> = std::iter::once(root).chain(slashes).chain([path.len()]).collect();
    lengths.dedup();
    lengths
        .into_iter()
        .map(|length| FilesPath::new(path[..length].to_vec()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_a_path_begins_at_the_root_of_its_tree() {
        let trees = [b"/data".to_vec(), b"/data-2".to_vec(), b"/data-2/in".to_vec()];
        let way = |path: &str| {
            let way = way(path.as_bytes(), &trees);
            way.into_iter().map(|step| step.path).collect::<Vec<_>>()
        };
        assert_eq!(way("/data"), ["/data"]);
        assert_eq!(way("/data/a/b"), ["/data", "/data/a", "/data/a/b"]);
        assert_eq!(way("/data-2/in/x"), ["/data-2/in", "/data-2/in/x"]);
        let all = super::way(b"/a/b", &[b"/".to_vec()]);
        let all: Vec<_> = all.iter().map(|step| step.path.as_str()).collect();
        assert_eq!(all, ["/", "/a", "/a/b"]);
        let objects = super::way(b"s3://b/p/a//b", &[b"s3://b/p".to_vec()]);
        let objects: Vec<_> = objects.iter().map(|step| step.path.as_str()).collect();
        assert_eq!(objects, ["s3://b/p", "s3://b/p/a", "s3://b/p/a//b"]);
    }
}
