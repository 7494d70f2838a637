//! What `weft demo` shows: the crates that Weft itself was built from, as a small web.
//!
//! Every crate whose source Cargo left on this machine is a page: what its manifest says, its dependencies as
//! links, its README. The pages are written as a WARC through the same writer as everything else, and the
//! file has the same bytes every time, so that a second demo adds nothing to the archive of the first.

mod check;
mod manifest;
mod page;
mod sources;

use std::collections::BTreeMap;
use std::path::Path;

pub(crate) use check::check;
use sources::Crate;

/// A WARC that was written, and what to ask of it.
pub(crate) struct Web {
    /// Pages in it.
    pub(crate) pages: u64,
    /// The page most others depend on.
    pub(crate) url: String,
    /// Pages that certainly link there.
    pub(crate) inlinks_min: u64,
    /// A query that must find it.
    pub(crate) query: String,
}

/// Writes the crates' pages to `path`; `None` where no sources are found.
pub(crate) fn write_crates(path: &Path) -> anyhow::Result<Option<Web>> {
    let crates = sources::find();
    let Some((name, dependents)) = most_used(&crates) else { return Ok(None) };
    let web = Web {
        pages: crates.len() as u64,
        url: page::url_of(name),
        inlinks_min: dependents,
        query: name.to_owned(),
    };
    write(path, &crates)?;
    Ok(Some(web))
}

/// The crate most others depend on, by name, and the number of pages that say so.
fn most_used(crates: &[Crate]) -> Option<(&str, u64)> {
    let mut dependents: BTreeMap<&str, u64> = BTreeMap::new();
    for dependency in crates.iter().flat_map(|of| &of.dependencies) {
        *dependents.entry(&dependency.name).or_default() += 1;
    }
    crates
        .iter()
        .filter_map(|of| Some((of.name.as_str(), *dependents.get(of.name.as_str())?)))
        .max_by_key(|(_, number)| *number)
}
