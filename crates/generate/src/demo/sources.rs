//! Finds the crates that Weft was built from, among the sources that Cargo left on this machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::manifest::{Item, items};

/// The lock file of Weft, which lists the crates and their versions.
const LOCK: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock"));

/// Cargo leaves this file in each unpacked source. Its modification time is when the crate was
/// fetched.
const FETCHED_MARK: &str = ".cargo-ok";

/// A crate and the data in its source.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Crate {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) description: String,
    pub(super) license: String,
    /// Labels and URLs: repository, documentation, home page.
    pub(super) addresses: Vec<(&'static str, String)>,
    pub(super) keywords: Vec<String>,
    pub(super) categories: Vec<String>,
    pub(super) dependencies: Vec<Dependency>,
    /// The text of the README, and whether it is Markdown.
    pub(super) readme: Option<(String, bool)>,
    /// When the source was fetched to this machine, in milliseconds since 1970.
    pub(super) fetched_ms: i64,
    /// Whether the lock file also has a newer version of this crate.
    pub(super) superseded: bool,
}

/// One dependency of a crate.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Dependency {
    /// The real name of the crate, which a manifest may rename.
    pub(super) name: String,
    /// The version requirement as written.
    pub(super) requirement: String,
}

/// Returns all crates of the lock file whose sources are on this machine, sorted by name and
/// version.
pub(super) fn find() -> Vec<Crate> {
    let roots = source_roots();
    let locked = locked();
    let mut crates: Vec<Crate> = Vec::new();
    for (i, (name, version)) in locked.iter().enumerate() {
        let folder = format!("{name}-{version}");
        let Some(path) = roots
            .iter()
            .map(|root| root.join(&folder))
            .find(|path| path.is_dir())
        else {
            continue;
        };
        let Some(mut found) = read(&path) else { continue };
        // The lock file is sorted by name, then version.
        found.superseded = locked.get(i + 1).is_some_and(|(next, _)| next == name);
        crates.push(found);
    }
    crates
}

/// Returns the names and versions of the crates in the lock file that come from a registry.
fn locked() -> Vec<(String, String)> {
    let mut tables: BTreeMap<usize, BTreeMap<&str, String>> = BTreeMap::new();
    for item in items(LOCK) {
        if let ("package", Some(value)) = (item.table, item.values.into_iter().next()) {
            tables
                .entry(item.table_number)
                .or_default()
                .insert(item.key, value);
        }
    }
    tables
        .into_values()
        .filter(|table| table.contains_key("source"))
        .filter_map(|mut table| Some((table.remove("name")?, table.remove("version")?)))
        .collect()
}

/// Returns the folders of unpacked sources of Cargo: `$CARGO_HOME/registry/src/*`.
fn source_roots() -> Vec<PathBuf> {
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let Some(home) = home else { return Vec::new() };
    let Ok(entries) = fs::read_dir(home.join("registry/src")) else {
        return Vec::new();
    };
    let mut roots: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    roots.sort();
    roots
}

/// Reads the source of a crate. Returns `None` if it has no readable manifest.
fn read(folder: &Path) -> Option<Crate> {
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).ok()?;
    let mut found = of_manifest(&manifest)?;
    found.readme = readme(folder, &manifest);
    found.fetched_ms = fetched_ms(folder);
    Some(found)
}

fn of_manifest(manifest: &str) -> Option<Crate> {
    let mut found = Crate::default();
    let mut dependencies: BTreeMap<(usize, String), Dependency> = BTreeMap::new();
    for item in items(manifest) {
        if item.table == "package" {
            take_package_item(&mut found, item);
        } else if let Some(name) = dependency_name(item.table) {
            let dependency = dependencies
                .entry((item.table_number, name.to_owned()))
                .or_insert_with(|| Dependency {
                    name: name.to_owned(),
                    requirement: String::new(),
                });
            match (item.key, item.values.into_iter().next()) {
                ("package", Some(real)) => dependency.name = real,
                ("version", Some(requirement)) => dependency.requirement = requirement,
                _ => {}
            }
        }
    }
    found.dependencies = dependencies.into_values().collect();
    found.dependencies.sort();
    found.dependencies.dedup_by(|a, b| a.name == b.name);
    (!found.name.is_empty()).then_some(found)
}

fn take_package_item(found: &mut Crate, item: Item<'_>) {
    match item.key {
        "keywords" => found.keywords = item.values,
        "categories" => found.categories = item.values,
        key => {
            let Some(value) = item.values.into_iter().next() else {
                return;
            };
            match key {
                "name" => found.name = value,
                "version" => found.version = value,
                "description" => found.description = value,
                "license" => found.license = value,
                "repository" => found.addresses.push(("Repository", value)),
                "documentation" => found.addresses.push(("Documentation", value)),
                "homepage" => found.addresses.push(("Home page", value)),
                _ => {}
            }
        }
    }
}

/// Returns `x` for `dependencies.x`, `build-dependencies.x` and `target.….dependencies.x`. Skips
/// dev-dependencies, because a crate is not built from them.
fn dependency_name(table: &str) -> Option<&str> {
    let (before, name) = table.rsplit_once("dependencies.")?;
    let kind = before.rsplit('.').next().unwrap_or_default();
    (matches!(kind, "" | "build-") && !name.contains('.')).then_some(name)
}

fn readme(folder: &Path, manifest: &str) -> Option<(String, bool)> {
    let named = items(manifest)
        .into_iter()
        .find(|item| item.table == "package" && item.key == "readme");
    let named = named.and_then(|item| item.values.into_iter().next());
    let usual = [
        "README.md",
        "Readme.md",
        "readme.md",
        "README",
        "README.txt",
        "README.rst",
    ];
    let names = named.as_deref().into_iter().chain(usual);
    names.into_iter().find_map(|name| {
        let text = fs::read(folder.join(name)).ok()?;
        Some((
            String::from_utf8_lossy(&text).into_owned(),
            name.to_ascii_lowercase().ends_with(".md"),
        ))
    })
}

fn fetched_ms(folder: &Path) -> i64 {
    let modified = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    let time = modified(&folder.join(FETCHED_MARK))
        .or_else(|| modified(folder))
        .unwrap_or(UNIX_EPOCH);
    let since: std::time::Duration = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_file_is_understood() {
        let locked = locked();
        assert!(locked.len() > 50, "{}", locked.len());
        assert!(locked.iter().any(|(name, _)| name == "clap"));
        assert!(
            !locked.iter().any(|(name, _)| name == "weft"),
            "members have no registry source"
        );
    }

    #[test]
    fn dependencies_are_told_from_other_tables() {
        assert_eq!(dependency_name("dependencies.serde"), Some("serde"));
        assert_eq!(dependency_name("build-dependencies.cc"), Some("cc"));
        assert_eq!(
            dependency_name("target.'cfg(unix)'.dependencies.libc"),
            Some("libc")
        );
        assert_eq!(
            dependency_name("target.x86_64-pc-windows.build-dependencies.cc"),
            Some("cc")
        );
        assert_eq!(dependency_name("dev-dependencies.proptest"), None);
        assert_eq!(dependency_name("package"), None);
    }

    #[test]
    fn a_manifest_becomes_a_crate() {
        let found = of_manifest(
            "[package]\nname = \"x\"\nversion = \"1.2.3\"\nkeywords = [\"k\"]\nrepository = \"https://e.org/x\"\n\
             [dependencies.renamed]\nversion = \"1\"\npackage = \"real\"\n[dev-dependencies.t]\nversion = \"1\"\n",
        );
        let expected = Crate {
            name: "x".into(),
            version: "1.2.3".into(),
            keywords: vec!["k".into()],
            addresses: vec![("Repository", "https://e.org/x".into())],
            dependencies: vec![Dependency {
                name: "real".into(),
                requirement: "1".into(),
            }],
            ..Crate::default()
        };
        assert_eq!(found, Some(expected));
        assert_eq!(of_manifest("[dependencies.a]\nversion = \"1\"\n"), None);
    }
}
