//! Answers for clients that must not know the folders of the archive's files: inputs are named
//! without their folders.
//!
//! Invariant: the name shown finds the same input again (`filename` of a capture, `input` of the
//! ledger) and has the same form in every answer. Places to read from (`location`) are kept: the
//! server needs them and shows them to nobody.

use std::sync::Arc;

use access::Groups;
use archive::AskError;
use archive::question::{
    Answer, AttachmentRow, Body, CdxRow, FactsPlace, JobBody, LedgerRow, QuarantineRow, Question, RecordBody,
    StatusBody,
};
use format::file_name::{is_windows_path, keep_base_name};
use inputs::Sources;

use crate::answers::Answers;

/// Answers with the folders of files removed.
pub(crate) struct PathRedactor(pub(crate) Arc<dyn Answers>);

impl Answers for PathRedactor {
    fn ask(&self, question: &Question) -> Result<Answer, AskError> {
        match self.0.ask(question) {
            Ok(mut answer) => {
                redact(&mut answer.body);
                Ok(answer)
            }
            Err(mut error) => {
                redact_text(&mut error.message);
                Err(error)
            }
        }
    }

    fn seen_by(&self, groups: &Groups) -> Option<Arc<dyn Answers>> {
        let seen = self.0.seen_by(groups)?;
        Some(Arc::new(PathRedactor(seen)))
    }

    fn has_no_rules(&self) -> bool {
        self.0.has_no_rules()
    }

    fn sources(&self) -> Sources {
        self.0.sources()
    }

    fn redact_message(&self, mut why: String) -> String {
        redact_text(&mut why);
        why
    }
}

fn redact(body: &mut Body) {
    match body {
        Body::Status(status) => redact_status(status),
        Body::Check(check) => {
            check.notes.iter_mut().for_each(redact_text);
            check
                .damages
                .iter_mut()
                .for_each(|damage| redact_text(&mut damage.found));
        }
        Body::Ledger(ledger) => ledger.rows.iter_mut().for_each(redact_row),
        Body::Quarantine(quarantine) => quarantine.rows.iter_mut().for_each(redact_loss),
        Body::Page(page) => {
            page.current.iter_mut().for_each(redact_capture);
            page.captures.iter_mut().for_each(redact_capture);
            redact_attachments(&mut page.attachments);
        }
        Body::Attachments(attachments) => redact_attachments(&mut attachments.rows),
        Body::Search(search) => {
            for hit in &mut search.hits {
                if let Some(thumbnail) = &mut hit.thumbnail {
                    redact_capture(thumbnail);
                }
            }
        }
        Body::Cdx(cdx) => cdx.rows.iter_mut().for_each(redact_capture),
        Body::Record(record) => redact_record(record),
        Body::ListedPages(pages) => {
            for row in &mut pages.rows {
                keep_base_name(&mut row.package);
                row.capture.iter_mut().for_each(redact_capture);
            }
            for problem in &mut pages.problems {
                keep_base_name(&mut problem.package);
                redact_text(&mut problem.what);
            }
        }
        Body::Job(job) => redact_job(job),
        Body::Jobs(jobs) => jobs.rows.iter_mut().for_each(redact_job),
        Body::Posted(_)
        | Body::Forgotten(_)
        | Body::TakenDown(_)
        | Body::Undone(_)
        | Body::Purged(_)
        | Body::TakedownRules(_)
        | Body::Rebuilt(_)
        | Body::Rebuilding(_) => {}
        // These contain no file names.
        Body::Stages(_)
        | Body::PageText(_)
        | Body::Calendar(_)
        | Body::Diff(_)
        | Body::Links(_)
        | Body::LinkCounts(_)
        | Body::Domain(_)
        | Body::Domains(_)
        | Body::Top(_)
        | Body::GraphPart(_)
        | Body::Collections(_)
        | Body::CdxBlocks(_)
        | Body::Sight(_)
        | Body::Rights(_)
        | Body::RightsTest(_)
        | Body::Concordance(_)
        | Body::Images(_)
        | Body::Thumbnail(_)
        | Body::Suggestions(_)
        | Body::Trends(_)
        | Body::Events(_)
        | Body::Report(_)
        | Body::Takedowns(_) => {}
    }
}

fn redact_status(status: &mut StatusBody) {
    keep_base_name(&mut status.archive);
    if let FactsPlace::At(place) = &mut status.facts_place {
        keep_base_name(place);
    }
    for text in [
        &mut status.facts_failure,
        &mut status.refuses_writes,
        &mut status.search_failure,
    ] {
        redact_text(text);
    }
}

fn redact_job(job: &mut JobBody) {
    job.error.iter_mut().for_each(redact_text);
    job.waiting_for.iter_mut().for_each(keep_base_name);
    job.skipped
        .iter_mut()
        .for_each(|file| keep_base_name(&mut file.name));
    for package in &mut job.failed_packages {
        keep_base_name(&mut package.package);
        redact_text(&mut package.reason);
    }
    job.problems.iter_mut().for_each(redact_row);
    job.defects.iter_mut().for_each(redact_loss);
}

fn redact_row(row: &mut LedgerRow) {
    keep_base_name(&mut row.input);
    redact_text(&mut row.missing);
    if let archive::question::InputState::Failed { reason } = &mut row.state {
        redact_text(reason);
    }
}

fn redact_loss(row: &mut QuarantineRow) {
    keep_base_name(&mut row.input);
}

fn redact_record(record: &mut RecordBody) {
    redact_capture(&mut record.capture);
    if let Some(original) = &mut record.original {
        redact_record(original);
    }
}

fn redact_attachments(rows: &mut [AttachmentRow]) {
    rows.iter_mut().for_each(|row| redact_capture(&mut row.capture));
}

fn redact_capture(row: &mut CdxRow) {
    keep_base_name(&mut row.filename);
    if let Some(original) = row
        .computed
        .as_mut()
        .and_then(|computed| computed.original.as_mut())
    {
        keep_base_name(&mut original.filename);
    }
}

/// Separators that end a path in a sentence. Paths may contain spaces.
const PATH_ENDS: [&str; 8] = [": ", "; ", ", ", "\"", "\n", " (", ") ", " at "];

/// Replaces each absolute path, and each address in a store or package, with its last part.
fn redact_text(text: &mut String) {
    if !text.contains(['/', '\\']) {
        return;
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(begin) = path_begin(rest) {
        let (before, path) = rest.split_at(begin);
        let end = PATH_ENDS.iter().filter_map(|end| path.find(end)).min();
        let (path, behind) = path.split_at(end.unwrap_or(path.len()));
        shown.push_str(before);
        shown.push_str(format::file_name::base_name(path));
        rest = behind;
    }
    shown.push_str(rest);
    *text = shown;
}

/// Returns where the first absolute path or address begins in a sentence.
fn path_begin(text: &str) -> Option<usize> {
    let mut begins = true;
    for (at, c) in text.char_indices() {
        if begins && is_path(&text[at..]) {
            return Some(at);
        }
        begins = c.is_whitespace() || matches!(c, '"' | '\'' | '(' | '`');
    }
    None
}

fn is_path(text: &str) -> bool {
    let is_absolute = text.starts_with('/') && text[1..].starts_with(|c: char| !c.is_whitespace());
    let word = text.split(char::is_whitespace).next().unwrap_or_default();
    // Most web addresses are those of pages, which the client named itself.
    is_absolute || is_windows_path(text) || inputs::is_address(word) && !word.starts_with("http")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let mut shown = text.to_owned();
        redact_text(&mut shown);
        assert_eq!(shown, expected);
    }

    #[test]
    fn paths_in_sentences_lose_their_folders() {
        check(
            "read /data/my crawls/x.warc.gz at offset 7: No such file or directory (os error 2)",
            "read x.warc.gz at offset 7: No such file or directory (os error 2)",
        );
        check(
            "cannot be read: /a/b; load /c/d.warc again",
            "cannot be read: b; load d.warc again",
        );
        check("open \"/a/b\": found text/html", "open \"b\": found text/html");
        check(
            r"is at offset 7 of C:\my crawls\x.warc.gz; load that file",
            "is at offset 7 of x.warc.gz; load that file",
        );
        check("wacz:///a/b.wacz#archive/x.warc.gz: gone", "x.warc.gz: gone");
        check(
            "s3://bucket/private/x.warc: refused (403): no",
            "x.warc: refused (403): no",
        );
        check(
            "no capture of http://a.example/b/c",
            "no capture of http://a.example/b/c",
        );
        check("1/2 of text/plain and /", "1/2 of text/plain and /");
        check("", "");
    }

    #[test]
    fn names_are_those_that_inputs_are_found_by() {
        for (name, expected) in [
            ("/data/x.warc.gz", "x.warc.gz"),
            ("x.warc.gz", "x.warc.gz"),
            ("crawls/x.wacz#archive/data.warc.gz", "data.warc.gz"),
            ("https://h/private/x.warc.gz", "x.warc.gz"),
            (r"D:\crawls\x.warc.gz", "x.warc.gz"),
        ] {
            let mut shown = name.to_owned();
            keep_base_name(&mut shown);
            assert_eq!(shown, expected);
        }
    }
}
