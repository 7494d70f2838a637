//! Opens the archive and queries it.

use std::ffi::OsStr;
use std::path::Path;

use archive::question::{Answer, Ask, Body, Status};
use archive::{Archive, DocumentScope, OpenSettings};
use inputs::{path_of, path_text};

use crate::context::Context;
use crate::document_workers;
use crate::outcome::WrongUse;

/// Notes on standard error that a URL with `www.` in front of its host also refers to the URL
/// without it.
pub(crate) fn note_www(url: &str) {
    let Some(host) = urlkey::host_of_url(url) else {
        return;
    };
    let without = urlkey::host_without_www(host);
    if without != host {
        let (host, without) = (crate::style::clean(host), crate::style::clean(without));
        eprintln!("note: {host} and {without} share the same URL keys, so the answer covers both");
    }
}

/// Notes that no input has a label, which is most likely misspelt.
pub(crate) fn note_unknown_collection(archive: &Archive, collection: Option<&str>) -> anyhow::Result<()> {
    let Some(collection) = collection else {
        return Ok(());
    };
    let known = archive.ask(Status {})?.body.collections;
    if !known.iter().any(|name| name == collection) {
        let collection = crate::style::clean(collection);
        eprintln!("note: no input is in the collection {collection}");
    }
    Ok(())
}

/// Opens an existing archive for queries: as owner if it has none yet, else through the owner, or
/// read-only together with other read-only processes.
pub(crate) fn open(context: &Context) -> anyhow::Result<Archive> {
    let mut settings = OpenSettings::default();
    settings.asks_only = true;
    open_with(context, settings)
}

/// Opens the archive with settings.
pub(crate) fn open_with(context: &Context, mut settings: OpenSettings) -> anyhow::Result<Archive> {
    // The global flag can only restrict the command further.
    settings.read_only |= context.read_only;
    settings.memory_size_bytes = context.memory_size_bytes;
    settings.vectors = context.vectors.clone();
    settings.documents.get_or_insert(DocumentScope::All);
    settings.document_reader = Some(document_workers::reader());
    if settings.read_only && settings.create {
        return Err(WrongUse("this command writes to the archive: run it without --read-only".into()).into());
    }
    if context.archive.is_file() {
        let path = context.archive.display();
        return Err(WrongUse(format!("{path} is a file; an archive is a directory")).into());
    }
    let archive = Archive::open_with(&context.archive, settings, context.remote_inputs.sources())?;
    Ok(match &context.groups {
        Some(groups) => archive.seen_by(groups.clone()),
        None => archive,
    })
}

/// Asks the archive one question. With `--json` this prints the answer and returns `None`.
pub(crate) fn ask_or_print<Q: Ask>(
    context: &mut Context,
    question: Q,
) -> anyhow::Result<Option<Answer<Q::Answer>>> {
    let archive = open(context)?;
    print_if_json(archive.ask(question)?, context)
}

/// Returns the answer, unless `--json` was given: then it is printed.
pub(crate) fn print_if_json<A: Into<Body>>(
    answer: Answer<A>,
    context: &mut Context,
) -> anyhow::Result<Option<Answer<A>>> {
    if context.json {
        context.out.json(&answer.any())?;
        return Ok(None);
    }
    Ok(Some(answer))
}

/// Returns the name of an input on the command line: as text if it is valid UTF-8, else in its
/// escaped, displayed form.
pub(crate) fn input_name(typed: &OsStr) -> String {
    typed
        .to_str()
        .map_or_else(|| path_text(typed.as_ref()), str::to_owned)
}

/// Returns the text of a path on the command line. Normally this is the path as typed. If nothing
/// exists there, but something exists at the path whose escaped form (`\xNN` for each byte that is
/// not UTF-8) is this text, the latter path is used.
pub(crate) fn path_or_escaped(typed: &OsStr, here: &Path) -> String {
    let shown = typed
        .to_str()
        .filter(|text| path_exists(&here.join(path_of(text))));
    match shown {
        Some(shown) if !path_exists(&here.join(typed)) => shown.to_owned(),
        _ => path_text(typed.as_ref()),
    }
}

/// Returns whether anything exists at the path, even a dangling link.
fn path_exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
