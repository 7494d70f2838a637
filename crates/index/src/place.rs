//! The directory of an index: creating it in one step, and recognising it.
//!
//! A new index is written completely under a temporary name and then renamed, so a directory with
//! the final name always holds a complete index. Row `format` in table `meta` says how to read the
//! rows.
//!
//! An index of an older format is upgraded when it is opened: older programs cannot read the rows
//! written from then on, and refuse the format by its number. Before format 4 this rewrites many
//! rows ([`renumber`]). Data that old rows do not have stays unknown, which is logged at each
//! opening.

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
use crate::renumber::{self, RENUMBERING_ROW};
use crate::settings::Settings;
use crate::tables::{LINK_DICTIONARY_ROW, Table, Tables};
use crate::write::Write;

/// Format that is written, and the newest that is read. Changes by format:
/// - 2: captures say whether they are redirects to their own key.
/// - 3: rows of links may be packed.
/// - 4: URIs name their sources by number.
/// - 5: takedowns keep captures out; an older program would let them in again.
/// - 6: captures say what the page was, so that past versions can be found.
/// - 7: rows of URIs have the anchor texts of their in-links.
/// - 8: captures and versions may be documents, which an older program would ignore.
/// - 9: links of past versions are kept; an older program would not remove them.
/// - 10: captures have their method and say what they lack.
const FORMAT: u64 = 10;

/// First format whose rows show answers to other methods than GET, parts, and empty answers.
const FORMAT_WITH_METHODS: u64 = 10;

/// First format whose rows say which links a page had.
const FORMAT_WITH_PAST_LINKS: u64 = 9;

/// First format whose rows of URIs have anchor texts. In older indexes they are rebuilt from the
/// links.
const FORMAT_WITH_ANCHORS: u64 = 7;

/// First format whose rows say what a page was.
const FORMAT_WITH_PAST: u64 = 6;

/// First format that names sources by number; older rows name them by key.
const FORMAT_WITH_NUMBERS: u64 = 4;

/// First format whose rows say whether a capture is a redirect to its own key.
const FORMAT_WITH_REDIRECTS: u64 = 2;
pub(crate) const FORMAT_ROW: &str = "format";
pub(crate) const MAGIC: &[u8] = b"weft index";

/// Opens the index in `dir`. Creates it if the directory is missing or empty.
pub(crate) fn open(
    dir: &Path,
    links: Option<LinkScope>,
    settings: &Settings,
) -> Result<(Arc<Tables>, LinkScope), OpenError> {
    crate::weave::remove_left(dir)
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
    let format = read_format(dir, &cut)?;
    if let Some(dictionary) = cut.get(Table::Meta, LINK_DICTIONARY_ROW.as_bytes())? {
        tables.use_link_dictionary(Dictionary::new(dictionary.to_vec()));
    }
    if format.written < FORMAT {
        upgrade(&tables, &format).map_err(|e| OpenError::engine("open", dir, &e))?;
    }
    renumber::finish(&tables, dir)?;
    rebuild::finish(rebuild::Place {
        tables: &tables,
        dir,
        ranking_rows_max: settings.ranking_rows_max,
    })?;
    if format.oldest < FORMAT_WITH_REDIRECTS {
        tracing::warn!(
            dir = %dir.display(),
            "partly loaded by an older version: pages whose URL redirects to itself may be missing until \
             the inputs are loaded into a new archive"
        );
    }
    if format.oldest < FORMAT_WITH_PAST {
        tracing::info!(
            dir = %dir.display(),
            "partly loaded by an older version: past versions of its pages cannot be searched until the \
             inputs are loaded into a new archive"
        );
    }
    if format.oldest < FORMAT_WITH_PAST_LINKS {
        tracing::info!(
            dir = %dir.display(),
            "partly loaded by an older version: links of past versions of its pages are unknown until the \
             inputs are loaded into a new archive"
        );
    }
    if format.oldest < FORMAT_WITH_METHODS {
        tracing::warn!(
            dir = %dir.display(),
            "partly loaded by an older version: a response to a POST request, a partial response or a \
             response without content may be stored as a page until the inputs are loaded into a new \
             archive"
        );
    }
    let stored = format.links;
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
    let mut name = dir.file_name().unwrap_or_default().to_owned();
    name.push(".making");
    dir.with_file_name(name)
}

fn fill(making: &Path, links: LinkScope, settings: &Settings) -> fjall::Result<()> {
    let tables = Tables::open(making, settings)?;
    let format = Format {
        written: FORMAT,
        links,
        oldest: FORMAT,
    };
    let mut write = Write::new(&tables);
    put_format(&mut write, &format);
    write.commit()?;
    // This sync must come before the rename. Otherwise, after a crash, the directory could have its
    // final name and lack its format row.
    tables.db.persist(PersistMode::SyncAll)
}

/// Content of row `format`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Format {
    /// Format that rows are written in.
    written: u64,
    links: LinkScope,
    /// Format of the oldest rows that may exist.
    oldest: u64,
}

/// Writes the new format number, and marks the rows that must be rewritten.
fn upgrade(tables: &Tables, format: &Format) -> fjall::Result<()> {
    let now = Format {
        written: FORMAT,
        ..format.clone()
    };
    let mut write = Write::new(tables);
    put_format(&mut write, &now);
    if format.written < FORMAT_WITH_NUMBERS {
        write.put(Table::Meta, RENUMBERING_ROW, []);
    }
    if format.written < FORMAT_WITH_ANCHORS {
        rebuild::begin(&mut write);
    }
    write.commit()?;
    tables.db.persist(PersistMode::SyncAll)
}

fn put_format(write: &mut Write<'_>, format: &Format) {
    let mut row = MAGIC.to_vec();
    codec::put_varint(&mut row, format.written);
    row.push(match format.links {
        LinkScope::All => 0,
        LinkScope::External => 1,
    });
    codec::put_varint(&mut row, format.oldest);
    write.put(Table::Meta, FORMAT_ROW, row);
}

fn read_format(dir: &Path, cut: &Cut) -> Result<Format, OpenError> {
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
    let links = match r.u8() {
        Ok(0) => LinkScope::All,
        Ok(1) => LinkScope::External,
        _ => return Err(foreign("unknown link scope")),
    };
    // Format 1 ends here.
    let oldest = if r.is_empty() {
        format
    } else {
        r.varint().map_err(|_| foreign("unknown format row"))?
    };
    Ok(Format {
        written: format,
        links,
        oldest,
    })
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
                    found: 11,
                    supported: 10,
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
    fn an_index_of_an_older_format_becomes_one_of_this_format_and_remembers_its_age() {
        check_older(b"weft index\x01\x01", 1);
        check_older(b"weft index\x02\x01\x02", 2);
        check_older(b"weft index\x02\x01\x01", 1);
        check_older(b"weft index\x03\x01\x03", 3);
        check_older(b"weft index\x04\x01\x04", 4);
    }

    /// Opens an index whose row `format` was written by an older program.
    #[track_caller]
    fn check_older(row: &[u8], oldest: u64) {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("index");
        {
            let (tables, _) = open(&dir, None, &Settings::default()).unwrap();
            let mut write = Write::new(&tables);
            write.put(Table::Meta, FORMAT_ROW, row.to_vec());
            write.commit().unwrap();
        }
        for _ in 0..2 {
            let (tables, scope) = open(&dir, None, &Settings::default()).unwrap();
            assert_eq!(scope, LinkScope::External);
            let format = read_format(&dir, &Cut::take(&tables)).unwrap();
            assert_eq!((format.written, format.oldest), (FORMAT, oldest));
        }
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
