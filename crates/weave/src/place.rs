//! Where an index lives: creating its directory in one step, and knowing ours from others.
//!
//! A new index is made complete under a temporary name and then renamed, so that a directory of the right name
//! is always a whole index. Row `format` in table `meta` says how rows are to be read.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use extract::LinkScope;
use fjall::PersistMode;

use crate::codec::{self, Reader};
use crate::cut::Cut;
use crate::tables::{Table, Tables};
use crate::write::Write;
use crate::{OpenError, Settings, crash};

/// Format written and the newest read.
const FORMAT: u64 = 1;
const FORMAT_ROW: &str = "format";
const MAGIC: &[u8] = b"weft index";

/// Opens the index in `dir`, creating it where there is nothing.
pub(crate) fn open(
    dir: &Path,
    links: Option<LinkScope>,
    settings: &Settings,
) -> Result<(Arc<Tables>, LinkScope), OpenError> {
    if is_vacant(dir).map_err(|e| OpenError::io("look for", dir, &e))? {
        create(dir, links.unwrap_or_default(), settings)?;
    }
    if !dir.join("version").is_file() {
        return Err(OpenError::Foreign {
            dir: dir.display().to_string(),
            detail: "other files".into(),
        });
    }
    let tables = Tables::open(dir, settings).map_err(|e| OpenError::engine("open", dir, &e))?;
    let tables = Arc::new(tables);
    let stored = read_format(dir, &Cut::take(&tables))?;
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
        // A creation that was cut short; there is nothing in it yet.
        std::fs::remove_dir_all(&making).map_err(failed)?;
    }
    fill(&making, links, settings).map_err(|e| OpenError::engine("create", dir, &e))?;
    crash::point("create.before_rename");
    // Also replaces an empty directory.
    std::fs::rename(&making, dir).map_err(failed)?;
    crash::point("create.after_rename");
    std::fs::File::open(parent)
        .and_then(|p| p.sync_all())
        .map_err(failed)
}

fn making_dir(dir: &Path) -> PathBuf {
    let mut name = dir.file_name().unwrap_or_default().to_owned();
    name.push(".making");
    dir.with_file_name(name)
}

fn fill(making: &Path, links: LinkScope, settings: &Settings) -> fjall::Result<()> {
    let tables = Tables::open(making, settings)?;
    let mut write = Write::new(&tables);
    let mut row = MAGIC.to_vec();
    codec::put_varint(&mut row, FORMAT);
    row.push(match links {
        LinkScope::All => 0,
        LinkScope::External => 1,
    });
    write.put(Table::Meta, FORMAT_ROW, row);
    write.commit()?;
    tables.db.persist(PersistMode::SyncAll)
}

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
    if format > FORMAT {
        return Err(OpenError::Newer {
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

    #[test]
    fn a_newer_or_foreign_index_is_refused_by_name() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("index");
        {
            let (tables, scope) = open(&dir, Some(LinkScope::External), &Settings::default()).unwrap();
            assert_eq!(scope, LinkScope::External);
            let mut write = Write::new(&tables);
            let mut row = MAGIC.to_vec();
            codec::put_varint(&mut row, FORMAT + 1);
            write.put(Table::Meta, FORMAT_ROW, row);
            write.commit().unwrap();
        }
        let error = open(&dir, None, &Settings::default()).err().unwrap();
        assert!(
            matches!(
                error,
                OpenError::Newer {
                    found: 2,
                    supported: 1,
                    ..
                }
            ),
            "{error}"
        );

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
                "index in {} was created with links `all`, asked for `external`",
                dir.display()
            )
        );
    }
}
