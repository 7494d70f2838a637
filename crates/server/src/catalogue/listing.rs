//! The direct children of a directory, heaviest first.

use ::catalogue::{Catalogue, CatalogueError, Child, ChildOrder, PathEntry, Usage};
use schemars::JsonSchema;
use serde::Serialize;

use super::{FilesPath, FilesUsage};

/// A directory and its direct children.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Listing {
    /// When the catalogue was read, in milliseconds since 1970.
    pub(crate) time_ms: u64,
    /// Number of the last change of the catalogue.
    pub(crate) catalogue_epoch: u64,
    /// The path; empty if the rows are the trees of the catalogue.
    pub(crate) at: FilesPath,
    /// Type of the entry.
    #[schemars(example = &"directory")]
    pub(crate) kind: &'static str,
    /// Totals of the directory and everything below it.
    pub(crate) usage: FilesUsage,
    /// Direct children, heaviest first.
    pub(crate) rows: Vec<FilesEntry>,
    /// Number of direct children not in `rows`.
    pub(crate) others: u64,
    /// Totals of the direct children not in `rows`.
    pub(crate) others_usage: FilesUsage,
    /// The directories from the root of its tree to this one.
    #[serde(skip)]
    pub(crate) breadcrumbs: Breadcrumbs,
}

/// The root of a tree and the last directories on the way to a path, each with its whole path.
/// Including all of them would need space quadratic in the depth.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Breadcrumbs {
    /// The root first. Empty above all trees.
    pub(crate) steps: Vec<FilesPath>,
    /// Number of directories omitted after the root.
    pub(crate) left_out: usize,
}

/// Maximum number of directories kept at the end of a way.
const STEPS_MAX: usize = 10;

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct FilesEntry {
    /// Path of the entry.
    pub(crate) at: FilesPath,
    /// Name of the entry, as text.
    pub(crate) name: String,
    /// Type of the entry.
    #[schemars(example = &"directory")]
    pub(crate) kind: &'static str,
    /// Totals of the entry and everything below it. A file with several names counts only at the
    /// first of them.
    pub(crate) usage: FilesUsage,
}

impl FilesEntry {
    pub(crate) fn is_directory(&self) -> bool {
        self.kind == ::catalogue::Kind::Directory.name()
    }
}

impl Listing {
    /// Reads at most `count` children of a path. Returns `None` if the path is not in the
    /// catalogue.
    pub(super) fn of(
        catalogue: &Catalogue,
        path: Vec<u8>,
        by: ChildOrder,
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
            time_ms: system::wall_ms(),
            catalogue_epoch: catalogue.epoch()?,
            kind: found.attributes.kind.name(),
            usage: FilesUsage::of(&catalogue.usage(&found)?),
            rows: rows.collect(),
            others: children.others,
            others_usage: FilesUsage::of(&children.others_usage),
            breadcrumbs: breadcrumbs(&path, &catalogue.tree_paths()?),
            at: FilesPath::new(path),
        }))
    }

    fn of_trees(catalogue: &Catalogue, by: ChildOrder, count: usize) -> Result<Listing, CatalogueError> {
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
                ChildOrder::Size => usage.size_bytes,
                ChildOrder::Entries => usage.entries,
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
            kind: ::catalogue::Kind::Directory.name(),
            usage: FilesUsage::of(&usage),
        };
        Ok(Listing {
            time_ms: system::wall_ms(),
            catalogue_epoch: catalogue.epoch()?,
            at: FilesPath::new(Vec::new()),
            kind: ::catalogue::Kind::Directory.name(),
            usage: FilesUsage::of(&all),
            rows: rows.into_iter().map(row).collect(),
            others: others.len() as u64,
            others_usage: FilesUsage::of(&others_usage),
            breadcrumbs: Breadcrumbs::default(),
        })
    }
}

fn entry(dir: &PathEntry, child: Child) -> FilesEntry {
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

/// Returns the root of the tree that contains a path, and the last directories from there to the
/// path.
fn breadcrumbs(path: &[u8], trees: &[Vec<u8>]) -> Breadcrumbs {
    let ends =
        |length: usize| matches!(path.get(length), None | Some(b'/')) || path[..length].ends_with(b"/");
    let root = trees
        .iter()
        .filter(|root| path.starts_with(root) && ends(root.len()))
        .map(Vec::len)
        .max()
        .unwrap_or(0);
    // In an object address several slashes may follow a name. The first one ends it.
    let slashes = (root + 1..path.len()).filter(|&at| path[at] == b'/' && path[at - 1] != b'/');
    let mut lengths: Vec<usize> = std::iter::once(root).chain(slashes).chain([path.len()]).collect();
    lengths.dedup();
    let left_out = lengths.len().saturating_sub(1 + STEPS_MAX);
    lengths.drain(1..1 + left_out);
    let step = |length| FilesPath::new(path[..length].to_vec());
    Breadcrumbs {
        steps: lengths.into_iter().map(step).collect(),
        left_out,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_a_path_begins_at_the_root_of_its_tree() {
        let trees = [b"/data".to_vec(), b"/data-2".to_vec(), b"/data-2/in".to_vec()];
        let breadcrumbs = |path: &str| {
            let breadcrumbs = breadcrumbs(path.as_bytes(), &trees);
            assert_eq!(breadcrumbs.left_out, 0, "{path}");
            breadcrumbs
                .steps
                .into_iter()
                .map(|step| step.path)
                .collect::<Vec<_>>()
        };
        assert_eq!(breadcrumbs("/data"), ["/data"]);
        assert_eq!(breadcrumbs("/data/a/b"), ["/data", "/data/a", "/data/a/b"]);
        assert_eq!(breadcrumbs("/data-2/in/x"), ["/data-2/in", "/data-2/in/x"]);
        let all = super::breadcrumbs(b"/a/b", &[b"/".to_vec()]);
        let all: Vec<_> = all.steps.iter().map(|step| step.path.as_str()).collect();
        assert_eq!(all, ["/", "/a", "/a/b"]);
        let objects = super::breadcrumbs(b"s3://b/p/a//b", &[b"s3://b/p".to_vec()]);
        let objects: Vec<_> = objects.steps.iter().map(|step| step.path.as_str()).collect();
        assert_eq!(objects, ["s3://b/p", "s3://b/p/a", "s3://b/p/a//b"]);
    }

    #[test]
    fn of_a_long_way_the_root_and_the_last_directories_are_kept() {
        let path = |depth: usize| format!("/data{}", "/d".repeat(depth));
        for (depth, left_out) in [(STEPS_MAX, 0), (STEPS_MAX + 1, 1), (5000, 5000 - STEPS_MAX)] {
            let breadcrumbs = super::breadcrumbs(path(depth).as_bytes(), &[b"/data".to_vec()]);
            assert_eq!(breadcrumbs.left_out, left_out);
            let steps: Vec<_> = breadcrumbs.steps.into_iter().map(|step| step.path).collect();
            let last = depth - STEPS_MAX + 1..=depth;
            let expected: Vec<_> = std::iter::once(0).chain(last).map(path).collect();
            assert_eq!(steps, expected);
        }
    }
}
