//! The directory of an index: creating it in one step, and recognising it.
//!
//! A new index is written completely under a temporary name and then renamed, so a directory with
//! the final name always holds a complete index. Row `format` in table `meta` says how to read the
//! rows.
//!
//! An index of another format is refused by its number.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use extract::LinkScope;
use fjall::PersistMode;

use crate::codec::{self, Reader};
use crate::crash;
use crate::cut::Cut;
use crate::error::OpenError;
use crate::packed::Dictionary;
use crate::rebuild;
use crate::settings::Settings;
use crate::tables::{LINK_DICTIONARY_ROW, Table, Tables};
use crate::write::Write;

/// Format that is written and read, see docs/format-index.md. It changes with every change of the
/// rows.
const FORMAT: u64 = 1;

pub(crate) const FORMAT_ROW: &str = "format";
pub(crate) const MAGIC: &[u8] = b"weft index";

/// Opens the index in `dir`. Creates it if the directory is missing or empty.
pub(crate) fn open(
    dir: &Path,
    links: Option<LinkScope>,
    settings: &Settings,
) -> Result<(Arc<Tables>, LinkScope), OpenError> {
    remove_purged(dir)
        .map_err(|e| OpenError::io("remove the directory that a purge left next to", dir, &e))?;
    if is_vacant(dir).map_err(|e| OpenError::io("look for", dir, &e))? {
        create(dir, links.unwrap_or_default(), settings)?;
    }
    // The engine's own marker. Without it the engine would create a new database among unrelated
    // files.
    if !dir.join("version").is_file() {
        return Err(OpenError::Foreign {
            dir: dir.display().to_string(),
            detail: "other files".into(),
        });
    }
    let tables = Tables::open(dir, settings).map_err(|e| OpenError::engine("open", dir, &e))?;
    let tables = Arc::new(tables);
    let cut = Cut::take(&tables);
    let stored = read_format(dir, &cut)?;
    if let Some(dictionary) = cut.get(Table::Meta, LINK_DICTIONARY_ROW.as_bytes())? {
        tables.use_link_dictionary(Dictionary::new(dictionary.to_vec()));
    }
    rebuild::finish(rebuild::Target {
        tables: &tables,
        dir,
        ranking_rows_max: settings.ranking_rows_max,
    })?;
    match links {
        Some(wanted) if wanted != stored => Err(OpenError::LinkScope {
            dir: dir.display().to_string(),
            stored: scope_name(stored).into(),
            wanted: scope_name(wanted).into(),
        }),
        _ => Ok((tables, stored)),
    }
}

fn is_vacant(dir: &Path) -> std::io::Result<bool> {
    match std::fs::read_dir(dir) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(true),
        Err(e) => Err(e),
    }
}

fn create(dir: &Path, links: LinkScope, settings: &Settings) -> Result<(), OpenError> {
    let failed = |e: std::io::Error| OpenError::io("create", dir, &e);
    let making = making_dir(dir);
    let parent = dir
        .parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent).map_err(failed)?;
    if making.exists() {
        // An interrupted creation; it holds no data.
        std::fs::remove_dir_all(&making).map_err(failed)?;
    }
    fill(&making, links, settings).map_err(|e| OpenError::engine("create", dir, &e))?;
    // `fill` has synced the rows, so the renamed directory is complete.
    crash::point("create.before_rename");
    // The rename also replaces an empty directory.
    std::fs::rename(&making, dir).map_err(failed)?;
    crash::point("create.after_rename");
    // The rename is durable only after the parent directory is synced.
    std::fs::File::open(parent)
        .and_then(|p| p.sync_all())
        .map_err(failed)
}

fn making_dir(dir: &Path) -> PathBuf {
    beside(dir, ".making")
}

/// Returns the path of an index that a purge rewrites, and of the old one after the exchange.
pub(crate) fn purged_dir(dir: &Path) -> PathBuf {
    beside(dir, ".purged")
}

/// Removes the directory that an interrupted purge left.
pub(crate) fn remove_purged(dir: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(purged_dir(dir)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn beside(dir: &Path, extension: &str) -> PathBuf {
    let mut name = dir.file_name().unwrap_or_default().to_owned();
    name.push(extension);
    dir.with_file_name(name)
}

fn fill(making: &Path, links: LinkScope, settings: &Settings) -> fjall::Result<()> {
    let tables = Tables::open(making, settings)?;
    let mut write = Write::new(&tables);
    put_format(&mut write, links);
    write.commit()?;
    // This sync must come before the rename. Otherwise, after a crash, the directory could have its
    // final name and lack its format row.
    tables.db.persist(PersistMode::SyncAll)
}

fn put_format(write: &mut Write<'_>, links: LinkScope) {
    let mut row = MAGIC.to_vec();
    codec::put_varint(&mut row, FORMAT);
    row.push(match links {
        LinkScope::All => 0,
        LinkScope::External => 1,
    });
    write.put(Table::Meta, FORMAT_ROW, row);
}

/// Checks the format of an index, and returns its link scope.
fn read_format(dir: &Path, cut: &Cut) -> Result<LinkScope, OpenError> {
    let foreign = |detail: &str| OpenError::Foreign {
        dir: dir.display().to_string(),
        detail: detail.into(),
    };
    let row = cut
        .get(Table::Meta, FORMAT_ROW.as_bytes())?
        .ok_or_else(|| foreign("no format row"))?;
    let rest = row
        .strip_prefix(MAGIC)
        .ok_or_else(|| foreign("unknown format row"))?;
    let mut r = Reader::new(rest);
    let format = r.varint().map_err(|_| foreign("unknown format row"))?;
    if format != FORMAT {
        return Err(OpenError::Format {
            dir: dir.display().to_string(),
            found: format,
            supported: FORMAT,
        });
    }
    match r.u8() {
        Ok(0) => Ok(LinkScope::All),
        Ok(1) => Ok(LinkScope::External),
        _ => Err(foreign("unknown link scope")),
    }
}

fn scope_name(scope: LinkScope) -> &'static str {
    match scope {
        LinkScope::All => "all",
        LinkScope::External => "external",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows `format` of another number: those of programs that were never released, and of later
    /// ones.
    #[test]
    fn an_index_of_another_format_is_refused_by_its_number() {
        for (row, found) in [(&b"weft index\x0a\x01\x0a"[..], 10), (b"weft index\x02\x00", 2)] {
            let home = tempfile::tempdir().unwrap();
            let dir = home.path().join("index");
            {
                let (tables, _) = open(&dir, Some(LinkScope::External), &Settings::default()).unwrap();
                let mut write = Write::new(&tables);
                write.put(Table::Meta, FORMAT_ROW, row.to_vec());
                write.commit().unwrap();
            }
            let error = open(&dir, None, &Settings::default()).err().unwrap();
            assert_eq!(
                error.to_string(),
                format!(
                    "index in {} has format {found}, this program reads format 1: load its inputs again into \
                     a new archive",
                    dir.display()
                )
            );
        }
    }

    #[test]
    fn a_foreign_directory_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let other = home.path().join("other");
        std::fs::create_dir(&other).unwrap();
        std::fs::write(other.join("notes.txt"), "mine").unwrap();
        let error = open(&other, None, &Settings::default()).err().unwrap();
        assert!(matches!(error, OpenError::Foreign { .. }), "{error}");
    }

    #[test]
    fn the_link_scope_is_fixed() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("index");
        drop(open(&dir, None, &Settings::default()).unwrap());
        let error = open(&dir, Some(LinkScope::External), &Settings::default())
            .err()
            .unwrap();
        assert_eq!(
            error.to_string(),
            format!(
                "index in {} was created with links `all`, but `external` was requested",
                dir.display()
            )
        );
    }
}
