//! Captures that arrive as posted lines of indexes instead of files.
//!
//! The lines of a post are kept in a segment, a file of the archive
//! (`posted/COLLECTION/000001.cdx`). A segment is an input like any loaded index, so ledger,
//! takedowns, rights, checks and rebuilding need not know about posts. Small posts share a segment.
//!
//! Invariants:
//! - a segment is replaced as a whole, and its new lines are indexed in one epoch: a post is added
//!   completely or not at all;
//! - a deleted line is blanked in place, so that all others keep their offsets and numbers;
//! - an operation of several steps is noted before the first (`pending`), and completed when the
//!   archive is opened next;
//! - one post at a time.

mod body;
mod error;
mod pending;
mod segment;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use access::{AccessFilter, CaptureAttributes};
use cdx::Line;
use extract::IndexLine;
use index::{
    Batch, CaptureRow, DigestProgress, InputId, InputProgress, InputState, LedgerRow, QuarantineEntry,
    RemovedLines, Snapshot,
};
use inputs::{IndexLines, NumberedLine};

use self::body::PostedLines;
pub(crate) use self::error::PostError;
use self::pending::{Action, Pending};
use self::segment::Segments;
use crate::AskError;
use crate::crash;
use crate::open_archive::OpenArchive;
use crate::own_inputs::POSTED;
use crate::question::{Post, PostedBody, Unpost};

/// Adds the captures described by lines.
pub(crate) fn post(open: &OpenArchive, post: &Post) -> Result<PostedBody, AskError> {
    open.writable()?;
    let segments = Segments::of(open.files.posted(), &post.collection)?;
    let mut read = body::read(&post.text, post.skip_bad_lines)?;
    let filter = open.access_filters.of(post.seen_by.as_ref())?;
    let answer = exclusively(open, || {
        let elsewhere = ConflictingLines::listed_elsewhere(open, &segments, &filter, &read)?;
        let stay = elsewhere.lines.len() as u64;
        let is_refused = stay > 0 && !post.skip_loaded;
        read.lines.retain(|(number, _)| !elsewhere.lines.contains(number));
        if !is_refused {
            add(open, &segments, &read)?;
        }
        Ok(PostedBody {
            lines: if is_refused { 0 } else { read.lines.len() as u64 },
            passed_over: read.passed_over,
            bad: read.bad,
            stay,
            why_it_stays: elsewhere.why,
        })
    })?;
    Ok(answer)
}

/// Deletes captures that were posted.
pub(crate) fn unpost(open: &OpenArchive, unpost: &Unpost) -> Result<PostedBody, AskError> {
    open.writable()?;
    let segments = Segments::of(open.files.posted(), &unpost.collection)?;
    let read = body::read(&unpost.text, false)?;
    let filter = open.access_filters.of(unpost.seen_by.as_ref())?;
    let answer = exclusively(open, || {
        let conflicts = ConflictingLines::listed(open, &segments, &filter, &read)?;
        let stay = conflicts.lines.len() as u64;
        let is_refused = stay > 0 && !unpost.skip_loaded;
        if !is_refused {
            // The posted lines of captures that stay listed are deleted too: these are listed
            // because of another index or their record.
            delete(open, &segments, &read)?;
        }
        let deleted = if is_refused {
            0
        } else {
            read.lines.len() as u64 - stay
        };
        Ok(PostedBody {
            lines: deleted,
            passed_over: read.passed_over,
            bad: 0,
            stay,
            why_it_stays: conflicts.why,
        })
    })?;
    Ok(answer)
}

/// Runs an operation on posted lines, exclusively, after all operations begun before are done.
fn exclusively<T>(open: &OpenArchive, work: impl FnOnce() -> Result<T, PostError>) -> Result<T, PostError> {
    let mut is_settled = open.posting.lock();
    // After an error, such as a full disk, the index refuses writes until it is opened again.
    open.index.recover()?;
    if !*is_settled {
        settle_all(open)?;
    }
    // The outcome is unknown until `work` returns.
    *is_settled = false;
    let done = work()?;
    *is_settled = true;
    Ok(done)
}

/// Blanks the posted lines that takedowns in force keep out. Loads do not bring them back, even if
/// the takedown is undone.
pub(crate) fn purge(open: &OpenArchive) -> Result<(), PostError> {
    if !open.files.posted().exists() {
        return Ok(());
    }
    exclusively(open, || {
        let rules = open.index.takedown_rules()?;
        let mut blanked = Vec::new();
        for (input, entry) in open.index.inputs(|entry| entry.location.starts_with(POSTED)) {
            let Some(segments) = Segments::at(open.files.posted(), &entry.location) else {
                continue;
            };
            let path = segments.path(&entry.location);
            let is_whole = entry.state == InputState::TakenDown;
            let kept_out = |line: &IndexLine| {
                let taken_down =
                    rules.takes_down(line.url_key.as_bytes(), line.fetch_time_ms, &entry.collection);
                is_whole || taken_down.is_some()
            };
            let gone = lines_where(&path, kept_out)?;
            if gone.is_empty() {
                continue;
            }
            segment::blank(&path, gone.into_iter())?;
            crash::posting_point("post.after_blank");
            let digest = segment::digest(&path)?;
            // The lines themselves left the index when they were taken down.
            blanked.push(RemovedLines {
                input,
                lines: Vec::new(),
                digest,
            });
        }
        if !blanked.is_empty() {
            open.index.remove_lines(blanked)?;
        }
        Ok(())
    })
}

/// Returns offsets and lengths of the matching lines of captures in a segment.
fn lines_where(path: &Path, is_wanted: impl Fn(&IndexLine) -> bool) -> Result<Vec<(u64, u64)>, PostError> {
    let failed = |error| PostError::io("read", path, error);
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut lines = IndexLines::open(Arc::new(file)).map_err(failed)?;
    let mut found = Vec::new();
    while let Some(numbered) = lines.next_line().map_err(failed)? {
        if let Line::Capture(line) = &numbered.line
            && is_wanted(line)
        {
            found.push((numbered.offset, numbered.length));
        }
    }
    Ok(found)
}

/// Indexes segments that were durable when the process ended, and completes operations that were
/// begun.
pub(crate) fn settle(open: &OpenArchive) -> Result<(), PostError> {
    exclusively(open, || Ok(()))
}

fn settle_all(open: &OpenArchive) -> Result<(), PostError> {
    let root = open.files.posted();
    if !root.exists() {
        return Ok(());
    }
    let pending = Pending::read(&root)?;
    let inputs = open.index.inputs(|entry| entry.location.starts_with(POSTED));
    let mut known: HashMap<String, (InputId, LedgerRow)> = inputs
        .into_iter()
        .map(|(id, entry)| (entry.location.clone(), (id, entry)))
        .collect();
    for segments in Segments::all(&root)? {
        for path in segments.paths()? {
            index_segment(open, &segments, &path, known.remove(&segments.location(&path)))?;
        }
    }
    match pending {
        Some(pending) => run_pending(open, &root, &pending),
        None => Ok(()),
    }
}

/// Runs an operation that was noted as begun. It is idempotent, so it may have been done before.
fn run_pending(open: &OpenArchive, root: &Path, pending: &Pending) -> Result<(), PostError> {
    let wrong = |message: String| PostError::Pending {
        path: Pending::path(root).display().to_string(),
        message,
    };
    let segments =
        Segments::of(root.to_owned(), &pending.collection).map_err(|error| wrong(error.message))?;
    let read = body::read(&pending.text, false).map_err(|error| wrong(error.message))?;
    match pending.action {
        Action::Replace => replace(open, &segments, &read)?,
        Action::Delete => remove_lines(open, &segments, posted_like(open, &segments, &read)?)?,
    }
    crash::posting_point("post.before_done");
    Pending::remove(root)
}

/// Adds lines. Existing lines are left out. A line with the same place and time but other content
/// is replaced, as in OutbackCDX.
fn add(open: &OpenArchive, segments: &Segments, read: &PostedLines) -> Result<(), PostError> {
    if outdated(open, segments, read)?.is_empty() {
        return append(open, segments, read);
    }
    journal_and_run(open, segments, read, Action::Replace)
}

/// Notes an operation of several steps, and runs it.
fn journal_and_run(
    open: &OpenArchive,
    segments: &Segments,
    read: &PostedLines,
    action: Action,
) -> Result<(), PostError> {
    let root = open.files.posted();
    let pending = Pending {
        action,
        collection: segments.collection().to_owned(),
        text: body::text(read.lines.iter().map(|(_, line)| line)),
    };
    pending.write(&root)?;
    crash::posting_point("post.after_pending");
    run_pending(open, &root, &pending)
}

/// Adds lines and removes those that they replace.
fn replace(open: &OpenArchive, segments: &Segments, read: &PostedLines) -> Result<(), PostError> {
    append(open, segments, read)?;
    remove_lines(open, segments, outdated(open, segments, read)?)
}

fn delete(open: &OpenArchive, segments: &Segments, read: &PostedLines) -> Result<(), PostError> {
    if posted_like(open, segments, read)?.is_empty() {
        return Ok(());
    }
    journal_and_run(open, segments, read, Action::Delete)
}

/// Adds the new lines to a segment and to the index.
fn append(open: &OpenArchive, segments: &Segments, read: &PostedLines) -> Result<(), PostError> {
    let (snapshot, posted) = (open.index.snapshot(), inputs_of(open, segments));
    let mut new = Vec::new();
    for (_, line) in &read.lines {
        let there = snapshot.lines_within_second(&line.url_key, line.fetch_time_ms)?;
        let is_there = |(input, known): &(InputId, IndexLine)| {
            posted.contains_key(input) && body::has_same_content(known, line)
        };
        if !there.iter().any(is_there) {
            new.push(line);
        }
    }
    if new.is_empty() {
        return Ok(());
    }
    let full = |location: &str| {
        let entry = posted.values().find(|entry| entry.location == location);
        entry.is_some_and(|entry| entry.state != InputState::Done)
    };
    let path = segments.append(&body::text(new.into_iter()), |path| {
        full(&segments.location(path))
    })?;
    crash::posting_point("post.before_index");
    let location = segments.location(&path);
    let known = posted.into_iter().find(|(_, entry)| entry.location == location);
    index_segment(open, segments, &path, known)
}

/// Indexes the rest of a segment in one epoch. `known` is its entry in the ledger, if there is one.
fn index_segment(
    open: &OpenArchive,
    segments: &Segments,
    path: &Path,
    known: Option<(InputId, LedgerRow)>,
) -> Result<(), PostError> {
    let location = segments.location(path);
    let read_error = |error| PostError::io("read", path, error);
    let size = path.metadata().map_err(read_error)?.len();
    let is_up = |entry: &LedgerRow| {
        entry.state == InputState::TakenDown
            || entry.state == InputState::Done && entry.size == size && entry.bytes_done == size
    };
    if known.as_ref().is_some_and(|(_, entry)| is_up(entry)) {
        return Ok(());
    }
    let digest = segment::digest(path)?;
    let (id, entry) = match known {
        Some(known) => known,
        // In an archive that was moved, the segment is recognised by its digest.
        None => open.index.register_input(
            LedgerRow::pending(&location, &location, &digest, size, segments.collection()),
            None,
        )?,
    };
    if is_up(&entry) {
        return Ok(());
    }
    let mut batch = Batch::default();
    let mut progress = InputProgress {
        input: id,
        bytes_done: size,
        exchange_from: 0,
        records: 0,
        captures_recounted: 0,
        quarantined: Vec::new(),
        state: InputState::Done,
        cut: None,
        digested: Some(DigestProgress {
            digest,
            digesting: String::new(),
            size: Some(size),
        }),
    };
    let file = std::fs::File::open(path).map_err(read_error)?;
    let mut lines = IndexLines::open(Arc::new(file)).map_err(read_error)?;
    while let Some(numbered) = lines.next_line().map_err(read_error)? {
        if numbered.number > entry.records {
            push_line(&mut batch, &mut progress, numbered);
        }
    }
    batch.progress.push(progress);
    match &open.facts {
        Some(facts) => facts.apply(&open.index, batch).map(drop)?,
        None => open.index.apply(batch).map(drop)?,
    }
    Ok(())
}

fn push_line(batch: &mut Batch, progress: &mut InputProgress, numbered: NumberedLine) {
    progress.records += 1;
    match numbered.line {
        Line::Nothing | Line::Head => {}
        Line::Capture(mut line) => {
            (line.offset, line.length) = (numbered.offset, numbered.length);
            batch.lines.push((progress.input, *line));
        }
        // The line was valid when it was written here, but the file may have been changed since.
        Line::Bad(defect) => progress.quarantined.push(QuarantineEntry {
            offset: numbered.offset,
            length: numbered.length,
            reason: defect.reason.to_owned(),
            detail: format!("line {}: {}", numbered.number, defect.detail),
        }),
    }
}

/// Returns the inputs that are segments of a collection.
fn inputs_of(open: &OpenArchive, segments: &Segments) -> BTreeMap<InputId, LedgerRow> {
    let prefix = segments.location(Path::new(""));
    let inputs = open.index.inputs(|entry| entry.location.starts_with(&prefix));
    inputs.into_iter().collect()
}

/// Posted lines, by input.
type Posted = BTreeMap<InputId, (LedgerRow, Vec<IndexLine>)>;

/// Returns posted lines with the same place and time as these.
fn posted_like(open: &OpenArchive, segments: &Segments, read: &PostedLines) -> Result<Posted, PostError> {
    posted(open, segments, read, |_, _| true)
}

/// Returns those whose content differs from the lines.
fn outdated(open: &OpenArchive, segments: &Segments, read: &PostedLines) -> Result<Posted, PostError> {
    posted(open, segments, read, |known, line| {
        !body::has_same_content(known, line)
    })
}

fn posted(
    open: &OpenArchive,
    segments: &Segments,
    read: &PostedLines,
    wanted: impl Fn(&IndexLine, &IndexLine) -> bool,
) -> Result<Posted, PostError> {
    let (snapshot, inputs) = (open.index.snapshot(), inputs_of(open, segments));
    let mut found = Posted::new();
    if inputs.is_empty() {
        return Ok(found);
    }
    for (_, line) in &read.lines {
        for (input, known) in snapshot.lines_within_second(&line.url_key, line.fetch_time_ms)? {
            let Some(entry) = inputs.get(&input) else { continue };
            if index::is_same_place(&known, line) && wanted(&known, line) {
                let (_, lines) = found.entry(input).or_insert_with(|| (entry.clone(), Vec::new()));
                lines.push(known);
            }
        }
    }
    Ok(found)
}

/// Blanks lines in their segments, and removes them from the index in one epoch.
fn remove_lines(open: &OpenArchive, segments: &Segments, gone: Posted) -> Result<(), PostError> {
    let mut leaving = Vec::with_capacity(gone.len());
    for (input, (entry, lines)) in gone {
        let path = segments.path(&entry.location);
        segment::blank(&path, lines.iter().map(|line| (line.offset, line.length)))?;
        crash::posting_point("post.after_blank");
        let digest = segment::digest(&path)?;
        leaving.push(RemovedLines { input, lines, digest });
    }
    if !leaving.is_empty() {
        open.index.remove_lines(leaving)?;
    }
    Ok(())
}

/// Lines of captures that stay listed in the collection after their posted lines are deleted. Or
/// lines of captures that are listed only in another collection, because their record is loaded
/// there. Captures hidden from the client are ignored.
struct ConflictingLines {
    /// Numbers of the lines.
    lines: HashSet<u64>,
    why: Option<String>,
}

impl ConflictingLines {
    fn listed(
        open: &OpenArchive,
        segments: &Segments,
        filter: &AccessFilter,
        read: &PostedLines,
    ) -> Result<ConflictingLines, PostError> {
        let (snapshot, posted) = (open.index.snapshot(), inputs_of(open, segments));
        ConflictingLines::collect(read, |line| {
            stays_reason(&snapshot, segments, &posted, filter, line)
        })
    }

    fn listed_elsewhere(
        open: &OpenArchive,
        segments: &Segments,
        filter: &AccessFilter,
        read: &PostedLines,
    ) -> Result<ConflictingLines, PostError> {
        let snapshot = open.index.snapshot();
        ConflictingLines::collect(read, |line| elsewhere_reason(&snapshot, segments, filter, line))
    }

    fn collect(
        read: &PostedLines,
        why: impl Fn(&IndexLine) -> Result<Option<String>, PostError>,
    ) -> Result<ConflictingLines, PostError> {
        let mut conflicts = ConflictingLines {
            lines: HashSet::new(),
            why: None,
        };
        for (number, line) in &read.lines {
            if let Some(why) = why(line)? {
                conflicts.lines.insert(*number);
                conflicts
                    .why
                    .get_or_insert_with(|| format!("line {number}: {why}"));
            }
        }
        Ok(conflicts)
    }
}

fn sees(filter: &AccessFilter, capture: &CaptureRow) -> bool {
    filter.sees_everything()
        || filter.is_visible(&CaptureAttributes {
            url_key: &capture.url_key,
            collection: &capture.collection,
            mime: &capture.mime,
            digest: &capture.digest,
            fetch_time_ms: capture.fetch_time_ms,
        })
}

fn sees_line(filter: &AccessFilter, line: &IndexLine, collection: &str) -> bool {
    filter.sees_everything()
        || filter.is_visible(&CaptureAttributes {
            url_key: &line.url_key,
            collection,
            mime: &line.mime,
            digest: &line.digest,
            fetch_time_ms: line.fetch_time_ms,
        })
}

/// Returns why the capture of a line is listed in another collection. A capture belongs to the
/// collection of its file. If its record is in another collection, it is not listed in that of its
/// line.
fn elsewhere_reason(
    snapshot: &Snapshot,
    segments: &Segments,
    filter: &AccessFilter,
    line: &IndexLine,
) -> Result<Option<String>, PostError> {
    if segments.is_of_all() {
        return Ok(None);
    }
    let captures = snapshot.captures_within_second(&line.url_key, line.fetch_time_ms)?;
    let mut told = captures
        .into_iter()
        .filter(|capture| index::describes(line, capture) && sees(filter, capture))
        .peekable();
    let Some(first) = told.peek() else { return Ok(None) };
    let of = match first.collection.as_str() {
        "" => "no collection".to_owned(),
        label => format!("collection {label}"),
    };
    let why = format!(
        "its record is loaded, at offset {} of {}, and listed in {of}, not in {}",
        first.offset,
        first.input_name,
        segments.collection()
    );
    let is_here = told.any(|capture| capture.collection == segments.collection());
    Ok((!is_here).then_some(why))
}

fn stays_reason(
    snapshot: &Snapshot,
    segments: &Segments,
    posted: &BTreeMap<InputId, LedgerRow>,
    filter: &AccessFilter,
    line: &IndexLine,
) -> Result<Option<String>, PostError> {
    let is_of_it = |collection: &str| segments.is_of_all() || collection == segments.collection();
    for capture in snapshot.captures_within_second(&line.url_key, line.fetch_time_ms)? {
        if is_of_it(&capture.collection) && index::describes(line, &capture) && sees(filter, &capture) {
            return Ok(Some(format!(
                "its record is loaded, at offset {} of {}",
                capture.offset, capture.input_name
            )));
        }
    }
    for (input, known) in snapshot.lines_within_second(&line.url_key, line.fetch_time_ms)? {
        if posted.contains_key(&input) || !index::is_same_place(&known, line) {
            continue;
        }
        let entry = snapshot.input(input)?;
        if is_of_it(&entry.collection) && sees_line(filter, &known, &entry.collection) {
            return Ok(Some(format!("the index {} tells of it", entry.input)));
        }
    }
    Ok(None)
}
