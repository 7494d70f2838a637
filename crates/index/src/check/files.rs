//! Compares the files of the tables with the checksums in the engine's lists of files.
//!
//! Reading rows would not check the other parts of a file, such as the filters that look-ups use.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use fjall::AbstractTree;
use xxhash_rust::xxh3::Xxh3;

use super::damage::Damage;
use crate::tables::{Table, Tables};

/// Returns every file whose checksum differs.
pub(super) fn check(tables: &Tables) -> Vec<Damage> {
    let mut damages = Vec::new();
    for table in Table::ALL {
        // Holding the version keeps the engine from removing its files.
        let version = tables.space(table).tree.current_version();
        let rows = version
            .iter_tables()
            .map(|file| (file.path.as_path(), file.checksum()));
        let values = version
            .blob_files
            .iter()
            .map(|file| (file.path(), file.checksum()));
        for (path, expected) in rows.chain(values) {
            damages.extend(check_file(path, expected.into_u128()).map(|detail| Damage {
                table: table.name(),
                detail,
            }));
        }
    }
    damages
}

fn check_file(path: &Path, expected: u128) -> Option<String> {
    let path_shown = path.display();
    match checksum(path) {
        Ok(found) if found == expected => None,
        Ok(found) => Some(format!(
            "{path_shown} is damaged: its checksum is {found:032x}, expected {expected:032x}"
        )),
        Err(error) => Some(format!("{path_shown} cannot be read: {error}")),
    }
}

fn checksum(path: &Path) -> io::Result<u128> {
    let mut file = File::open(path)?;
    let mut hash = Xxh3::new();
    let mut piece = vec![0; 1 << 18];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hash.digest128()),
            bytes => hash.update(&piece[..bytes]),
        }
    }
}
