//! Checks whether an archived page is complete: every part that a browser loads for it is looked up
//! as in replay.
//!
//! Parts are the resources that the page, its styles and its frames refer to and need
//! (`replay::Role::Part`). Alternatives are counted separately, because it is unknown which of them
//! a browser loads: sizes of a picture, formats of a font, content for readers without scripts, and
//! pictures of a style, which are loaded only for elements that the page has. Requests of scripts
//! are not seen. A part also counts as found if its capture is a failure response, or a redirect to
//! another capture, because the page looked like that.
//!
//! Invariants: at most [`PARTS_MAX`] parts are looked up, and [`DOCUMENTS_MAX`] documents of
//! [`DEPTH_MAX`] levels are read.

use std::collections::HashSet;

use archive::question::{Answer, CaptureKind, CdxRow, Record, RecordBody};
use archive::{AskError, ErrorCode, Interrupt, RecordError, open_record};
use axum::http::StatusCode;
use extract::PayloadReader;
use replay::{Modifier, Reference, References, Role, Scope, Scripts};
use serde::Serialize;
use url::Url;

use super::body::{self, PageBody};
use super::content::ContentForm;
use super::headers::{redirect, status_of};
use super::partial::HeldBytes;
use crate::answers::Answers;
use crate::failure::Code;
use crate::record_failure::record_failure;
use crate::stream::BodySource as _;

/// Maximum number of parts that are looked up.
const PARTS_MAX: usize = 2_000;

/// Maximum number of pages, frames and styles that are read.
const DOCUMENTS_MAX: usize = 200;

/// Maximum depth: a style that a style imports in a frame is on the fourth level.
const DEPTH_MAX: usize = 6;

/// Maximum number of bytes that a document may decode to.
const DOCUMENT_BYTES_MAX: u64 = 64 << 20;

/// Maximum number of redirects that are followed from one part.
const REDIRECTS_MAX: usize = 5;

/// A page, and the results for its parts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckedPage {
    /// Its URL.
    pub url: String,
    /// Time of the capture, 14 digits.
    pub timestamp: String,
    /// Fraction of parts found; 1 if the page has none.
    pub completeness: f64,
    /// The parts, in the order in which the page first refers to them.
    pub parts: Vec<CheckedPart>,
    /// Number of alternatives that were captured.
    pub alternatives_found: usize,
    /// Number of alternatives that were not captured.
    pub alternatives_missing: usize,
    /// Whether the check stopped at a limit.
    pub is_cut: bool,
    /// The captures of everything found: the parts, the alternatives, and the redirects that lead
    /// to them.
    #[serde(skip)]
    pub captures: Vec<CdxRow>,
}

/// A part of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckedPart {
    /// Its URL.
    pub url: String,
    /// `page`, `style`, `script` or `image` (any other part).
    pub kind: &'static str,
    /// The document that refers to it.
    pub referrer: String,
    /// The capture shown for it; absent if it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<FoundPart>,
}

/// The capture that is shown for a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoundPart {
    /// Time of the capture, 14 digits.
    pub timestamp: String,
    /// Seconds from the page's own time; negative if the capture is earlier.
    pub seconds_away: i64,
    /// Status code; 0 if it has none.
    pub status: u16,
    /// The rule by which a capture of a similar URL was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fuzzy: Option<String>,
    /// Method of the request that the capture answers, if it is known and not GET.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The bytes that were captured, in the form of `Content-Range`, if they are not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
}

impl CheckedPage {
    /// Returns the missing parts.
    pub fn missing(&self) -> impl Iterator<Item = &CheckedPart> {
        self.parts.iter().filter(|part| part.found.is_none())
    }
}

/// Checks the capture of `url` nearest to `at` (digits), or the current one. `goes_on` is called
/// with the number of look-ups so far, before each look-up and each piece of a document. If it
/// returns false, the rest is left out ([`is_cut`](CheckedPage::is_cut)).
///
/// # Errors
/// [`AskError`] if there is no such capture, or its content cannot be read.
pub fn check_page(
    source: &dyn Answers,
    url: &str,
    at: Option<&str>,
    goes_on: &mut dyn FnMut(usize) -> bool,
) -> Result<CheckedPage, AskError> {
    let found = look_up(source, url, at)?;
    let capture = found.capture.clone();
    let page = Url::parse(&capture.url)
        .map_err(|_| AskError::not_found(format!("{} is not a web URL", capture.url)))?;
    let mut check = Check {
        source,
        timestamp: capture.timestamp.clone(),
        seen: HashSet::from([capture.url.clone()]),
        documents: 0,
        parts: Vec::new(),
        alternatives: (0, 0),
        is_cut: false,
        captures: Vec::new(),
        is_stopped: false,
        goes_on,
    };
    let references = check
        .references(&found, page, Modifier::Page)
        .map_err(|error| unreadable(source, &found, &error))?;
    check.walk(&capture.url, references, (1, false))?;
    let missing = check.parts.iter().filter(|part| part.found.is_none()).count();
    let all = check.parts.len();
    Ok(CheckedPage {
        url: capture.url,
        timestamp: capture.timestamp,
        completeness: match all {
            0 => 1.0,
            _ => (all - missing) as f64 / all as f64,
        },
        parts: check.parts,
        alternatives_found: check.alternatives.0,
        alternatives_missing: check.alternatives.1,
        is_cut: check.is_cut,
        captures: check.captures,
    })
}

/// Returns the error for a page whose content cannot be read. If its input is missing or changed, a
/// retry does not help.
fn unreadable(source: &dyn Answers, found: &RecordBody, error: &std::io::Error) -> AskError {
    let capture = &content_of(found).capture;
    let inner = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<RecordError>());
    match inner.map(|inner| record_failure(capture, inner)) {
        Some(failure) if matches!(failure.code, Code::InputMissing | Code::InputChanged) => {
            AskError::not_found(format!("the page cannot be checked: {}", failure.message))
        }
        _ => {
            let message = format!("the page cannot be checked: {}: {error}", capture.url);
            AskError::unavailable(source.redact_message(message))
        }
    }
}

/// Returns the capture that replay shows.
fn look_up(source: &dyn Answers, url: &str, at: Option<&str>) -> Result<RecordBody, AskError> {
    let question = Record {
        url: url.to_owned(),
        at: at.map(str::to_owned),
        capture: None,
        fuzzy: true,
        with_content: true,
    };
    let answer: Answer<_> = source.ask(&question.into())?.to::<Record>()?;
    Ok(answer.body)
}

/// A page that is being checked.
struct Check<'a> {
    source: &'a dyn Answers,
    timestamp: String,
    /// URLs of parts that were looked up.
    seen: HashSet<String>,
    documents: usize,
    parts: Vec<CheckedPart>,
    /// Numbers of alternatives found and missing.
    alternatives: (usize, usize),
    is_cut: bool,
    captures: Vec<CdxRow>,
    is_stopped: bool,
    goes_on: &'a mut dyn FnMut(usize) -> bool,
}

impl Check<'_> {
    /// Looks up the references of a document, recursively.
    fn walk(
        &mut self,
        referrer: &str,
        references: Vec<Reference>,
        (depth, in_style): (usize, bool),
    ) -> Result<(), AskError> {
        for reference in references {
            let Reference { url, modifier, role } = reference;
            let role = match role {
                Role::Part if in_style && modifier == Modifier::Image => Role::Alternative,
                role => role,
            };
            if role == Role::Link || self.seen.contains(&url) {
                continue;
            }
            if self.seen.len() > PARTS_MAX || !self.goes_on() {
                self.is_cut = true;
                return Ok(());
            }
            self.seen.insert(url.clone());
            let found = self.find(&url)?;
            if role == Role::Alternative {
                match found {
                    Some(_) => self.alternatives.0 += 1,
                    None => self.alternatives.1 += 1,
                }
                continue;
            }
            self.parts.push(CheckedPart {
                url: url.clone(),
                kind: kind_of(modifier),
                referrer: referrer.to_owned(),
                found: found.as_ref().map(|found| self.found_part(found)),
            });
            if let Some(found) = found {
                self.enter(&found, &url, modifier, depth)?;
            }
        }
        Ok(())
    }

    /// Returns whether to continue. Does not call `goes_on` again after it returned false.
    fn goes_on(&mut self) -> bool {
        let looked_up = self.seen.len() - 1;
        self.is_stopped = self.is_stopped || !(self.goes_on)(looked_up);
        !self.is_stopped
    }

    /// Continues into a part that is a document.
    fn enter(
        &mut self,
        found: &RecordBody,
        url: &str,
        modifier: Modifier,
        depth: usize,
    ) -> Result<(), AskError> {
        if !matches!(modifier, Modifier::Page | Modifier::Style) {
            return Ok(());
        }
        if depth >= DEPTH_MAX || self.documents >= DOCUMENTS_MAX {
            self.is_cut = true;
            return Ok(());
        }
        let Ok(base) = Url::parse(&found.capture.url) else {
            return Ok(());
        };
        // A document that cannot be read is shown as far as possible; its parts are not known.
        match self.references(found, base, modifier) {
            Ok(references) => self.walk(url, references, (depth + 1, modifier == Modifier::Style)),
            Err(_) => Ok(()),
        }
    }

    /// Returns the capture of a part. Follows redirects.
    fn find(&mut self, url: &str) -> Result<Option<RecordBody>, AskError> {
        let mut url = url.to_owned();
        for _ in 0..=REDIRECTS_MAX {
            let found = match look_up(self.source, &url, Some(&self.timestamp)) {
                Ok(found) => found,
                Err(error) if matches!(error.code, ErrorCode::NotFound | ErrorCode::BadRequest) => {
                    return Ok(None);
                }
                Err(error) => return Err(error),
            };
            self.captures.push(found.capture.clone());
            let content = &content_of(&found).capture;
            if content.kind == CaptureKind::Revisit || content.status == 304 {
                // It says only that there was content, and the content is not here.
                return Ok(None);
            }
            if !(300..400).contains(&found.capture.status) {
                return Ok(Some(found));
            }
            let Some(next) = self.location(&found) else {
                return Ok(Some(found));
            };
            url = next;
        }
        Ok(None)
    }

    /// Returns the target of a redirect. The header of a revisit takes precedence.
    fn location(&self, found: &RecordBody) -> Option<String> {
        let said_by = |record: &RecordBody| {
            let payload = self.payload(record).ok()?;
            let status = status_of(&found.capture, payload.status());
            redirect(status, payload.fields()).map(str::to_owned)
        };
        let location = said_by(found).or_else(|| said_by(content_of(found)))?;
        let base = Url::parse(&found.capture.url).ok()?;
        base.join(&location).ok().map(String::from)
    }

    fn payload(&self, content: &RecordBody) -> std::io::Result<PayloadReader> {
        let opened =
            open_record(&self.source.sources(), content, &Interrupt::new()).map_err(std::io::Error::other)?;
        PayloadReader::open(opened, DOCUMENT_BYTES_MAX)
    }

    /// Returns the references of a document.
    fn references(
        &mut self,
        found: &RecordBody,
        url: Url,
        modifier: Modifier,
    ) -> std::io::Result<Vec<Reference>> {
        self.documents += 1;
        let content = content_of(found);
        let mut payload = self.payload(content)?;
        let references = References::default();
        let scope = Scope::new(&self.timestamp, url).seen_in(references.clone());
        let mut shown = ContentForm::of(modifier, payload.fields(), &content.capture);
        if shown == ContentForm::Xml {
            shown = body::xml_markup(payload)?.map_or(ContentForm::Plain, ContentForm::Markup);
            payload = self.payload(content)?;
        }
        match shown {
            ContentForm::Markup(markup) => {
                let (mut page, _) = PageBody::open(payload, scope, markup, Scripts::On, None)?;
                while self.goes_on() && page.next()?.is_some() {}
                self.is_cut |= self.is_stopped;
            }
            ContentForm::Style => drop(body::style(payload, &scope)?),
            ContentForm::Xml | ContentForm::Plain => {}
        }
        let (references, is_cut) = references.take();
        self.is_cut |= is_cut;
        Ok(references)
    }

    /// Returns the bytes that captures have of a part of which only a part was captured.
    fn part(&self, found: &RecordBody) -> Option<String> {
        let content = content_of(found);
        if content.capture.status != StatusCode::PARTIAL_CONTENT.as_u16() {
            return None;
        }
        let held = HeldBytes::find(self.source, content, None, &Interrupt::new());
        held.ok().flatten()?.part()
    }

    fn found_part(&self, found: &RecordBody) -> FoundPart {
        let seconds = |digits: &str| format::date::ms_of_digits(digits).div_euclid(1000);
        FoundPart {
            timestamp: found.capture.timestamp.clone(),
            seconds_away: seconds(&found.capture.timestamp) - seconds(&self.timestamp),
            status: found.capture.status,
            fuzzy: found.fuzzy.clone(),
            part: self.part(found),
            method: Some(found.capture.method.clone())
                .filter(|method| !matches!(method.as_str(), "" | "GET")),
        }
    }
}

/// Returns the record with the content of a capture: the original of a revisit, if it has one,
/// otherwise the capture itself.
fn content_of(found: &RecordBody) -> &RecordBody {
    match (&found.capture.kind, &found.original) {
        (CaptureKind::Revisit, Some(original)) => original,
        _ => found,
    }
}

fn kind_of(modifier: Modifier) -> &'static str {
    match modifier {
        Modifier::Script => "script",
        Modifier::Style => "style",
        Modifier::Page | Modifier::None => "page",
        Modifier::Image | Modifier::Raw | Modifier::Data => "image",
    }
}
