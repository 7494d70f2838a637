//! `weft export --bag`: exports the files of a collection as a bag.

use std::io::Write;
use std::path::Path;

use anyhow::Context as _;
use export::{BagReport, NamedFile};

use crate::ask;
use crate::commands::search::export::bar;
use crate::context::Context;
use crate::outcome::Outcome;
use crate::part_file::PartFile;
use crate::stop::Stop;
use crate::style::clean;
use crate::units::counted;

/// Makes the bag under a temporary name and renames it when it is complete.
pub(super) fn run(collection: Option<&str>, path: &Path, context: &mut Context) -> anyhow::Result<Outcome> {
    let archive = ask::open(context)?;
    let (bar, stop) = (bar(true), Stop::listen()?);
    let mut progress = |done: u64, total: u64| {
        bar.set_length(total);
        bar.set_position(done);
        !stop.is_requested()
    };
    let part = PartFile::begin_folder(path)?;
    let bagged = export::write_bag(&archive, collection, part.temporary_path(), &mut progress)
        .map_err(anyhow::Error::new)
        .and_then(|bagged| {
            part.finish()?;
            Ok(bagged)
        });
    bar.finish_and_clear();
    report(
        &bagged.with_context(|| format!("write {}", path.display()))?,
        path,
        context,
    )
}

fn report(bagged: &BagReport, path: &Path, context: &mut Context) -> anyhow::Result<Outcome> {
    if context.json {
        context.out.json(bagged)?;
    } else {
        let files = counted(bagged.files, "file", "files");
        writeln!(
            context.out,
            "{files}, {}, written to {} and verified",
            crate::units::bytes(bagged.bytes),
            path.display()
        )?;
    }
    if !bagged.unread.is_empty() {
        let head = counted(bagged.unread.len() as u64, "file is", "files are");
        eprintln!("{head} in the bag as found, and compared up to where the digest is known:");
        list(&bagged.unread);
    }
    if bagged.left_out.is_empty() {
        return Ok(Outcome::Done);
    }
    let head = counted(bagged.left_out.len() as u64, "file was", "files were");
    eprintln!("{head} left out:");
    list(&bagged.left_out);
    Ok(Outcome::Losses)
}

fn list(files: &[NamedFile]) {
    for file in files {
        eprintln!("  {}: {}", clean(&file.name), clean(&file.why));
    }
}
