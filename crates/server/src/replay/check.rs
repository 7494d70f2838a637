//! Whether an archived page is whole: every part that a browser loads for it is looked up as replay does.
//!
//! Parts are what the page, its styles and its frames refer to and need (`replay::Role::Part`). Of what a browser chooses from (sizes of a
//! picture, forms of a font, what is for readers without scripts, pictures of a style, which it loads for elements that the page has) nobody
//! knows which it takes, so it is counted apart. What scripts ask
//! for is not seen. A part that was captured as a failure or a redirect to what was captured is there: the page looked so.
//!
//! Invariants: at most [`PARTS_MAX`] parts are looked up, and [`DOCUMENTS_MAX`] documents of [`DEPTH_MAX`] levels are read.

use std::collections::HashSet;

use archive::question::{Answer, CaptureKind, CdxRow, Record, RecordBody};
use archive::{AskError, ErrorCode, Interrupt, open_record};
use extract::PayloadReader;
use replay::{Modifier, Reference, References, Role, Scope, Scripts};
use serde::Serialize;
use url::Url;

use super::body::{self, PageBody};
use super::content::Shown;
use super::headers::{redirect, status_of};
use crate::ask::Answers;
use crate::stream::Maker as _;

/// Most parts that are looked up.
const PARTS_MAX: usize = 2_000;

/// Most pages, frames and styles that are read.
const DOCUMENTS_MAX: usize = 200;

/// Most levels: a style that a style imports in a frame is on the fourth.
const DEPTH_MAX: usize = 6;

/// Most bytes that a document may decode to.
const DOCUMENT_BYTES_MAX: u64 = 64 << 20;

/// Most redirects that are followed from one part.
const REDIRECTS_MAX: usize = 5;

/// A page, and what became of its parts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckedPage {
    /// Its URL.
    pub url: String,
    /// Time of the capture, 14 digits.
    pub timestamp: String,
    /// Parts found, of all parts: 1 if the page has none.
    pub completeness: f64,
    /// The parts, in the order in which the page refers to them; each once.
    pub parts: Vec<CheckedPart>,
    /// Of what a browser chooses from: how many were captured.
    pub alternatives_found: usize,
    /// How many were not.
    pub alternatives_missing: usize,
    /// Whether there was more than is looked at.
    pub is_cut: bool,
    /// The captures of all that was found: the parts, what a browser chooses from, and the redirects on the way to them.
    #[serde(skip)]
    pub captures: Vec<CdxRow>,
}

/// A part of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckedPart {
    /// Its URL.
    pub url: String,
    /// `page`, `style`, `script` or `image` (which is any other part).
    pub kind: &'static str,
    /// The document that refers to it.
    pub referrer: String,
    /// What is shown for it; absent if it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<FoundPart>,
}

/// The capture that is shown for a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoundPart {
    /// Its time, 14 digits.
    pub timestamp: String,
    /// Seconds from the page's own time: negative if it is earlier.
    pub seconds_away: i64,
    /// Its status; 0 if it has none.
    pub status: u16,
    /// The rule by which a capture of another URL stands in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fuzzy: Option<String>,
}

impl CheckedPage {
    /// Parts that are missing.
    pub fn missing(&self) -> impl Iterator<Item = &CheckedPart> {
        self.parts.iter().filter(|part| part.found.is_none())
    }
}

/// Checks the capture of `url` nearest to `at` (digits), or the current one. `goes_on` is asked before each look-up and each piece of a
/// document that is read, and told how many look-ups there were; where it says no, the rest is left out
/// ([`is_cut`](CheckedPage::is_cut)).
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
        .map_err(|_| AskError::not_found(format!("{} is no URL of the web", capture.url)))?;
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
        .map_err(|error| AskError::unavailable(source.told(format!("{}: {error}", capture.url))))?;
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

/// The capture that replay shows.
fn look_up(source: &dyn Answers, url: &str, at: Option<&str>) -> Result<RecordBody, AskError> {
    let question = Record {
        url: url.to_owned(),
        at: at.map(str::to_owned),
        capture: None,
        fuzzy: true,
    };
    let answer: Answer<_> = source.ask(&question.into())?.to::<Record>()?;
    Ok(answer.body)
}

/// A page being checked.
struct Check<'a> {
    source: &'a dyn Answers,
    timestamp: String,
    /// URLs of parts that were looked up.
    seen: HashSet<String>,
    documents: usize,
    parts: Vec<CheckedPart>,
    /// Found and missing.
    alternatives: (usize, usize),
    is_cut: bool,
    captures: Vec<CdxRow>,
    is_stopped: bool,
    goes_on: &'a mut dyn FnMut(usize) -> bool,
}

impl Check<'_> {
    /// Looks up what a document refers to, and what that refers to.
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

    /// Whether to go on; not asked again after a no.
    fn goes_on(&mut self) -> bool {
        let looked_up = self.seen.len() - 1;
        self.is_stopped = self.is_stopped || !(self.goes_on)(looked_up);
        !self.is_stopped
    }

    /// Walks on through a part that is a document.
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
        // A document that cannot be read is shown as far as it can be; its parts are not known.
        match self.references(found, base, modifier) {
            Ok(references) => self.walk(url, references, (depth + 1, modifier == Modifier::Style)),
            Err(_) => Ok(()),
        }
    }

    /// The capture of a part, behind redirects.
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
            let content = content_of(&found);
            if found.capture.kind == CaptureKind::Revisit && content.capture.kind == CaptureKind::Revisit {
                // It says that there was something, and that is not here.
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

    /// Where a redirect leads. What the head of a revisit says comes first.
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

    /// What a document refers to.
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
        let mut shown = Shown::of(modifier, payload.fields(), &content.capture);
        if shown == Shown::Xml {
            shown = body::xml_markup(payload)?.map_or(Shown::Plain, Shown::Markup);
            payload = self.payload(content)?;
        }
        match shown {
            Shown::Markup(markup) => {
                let (mut page, _) = PageBody::open(payload, scope, markup, Scripts::On, None)?;
                while self.goes_on() && page.next()?.is_some() {}
                self.is_cut |= self.is_stopped;
            }
            Shown::Style => drop(body::style(payload, &scope)?),
            Shown::Xml | Shown::Plain => {}
        }
        let (references, is_cut) = references.take();
        self.is_cut |= is_cut;
        Ok(references)
    }

    fn found_part(&self, found: &RecordBody) -> FoundPart {
        let seconds = |digits: &str| format::date::ms_of_digits(digits).div_euclid(1000);
        FoundPart {
            timestamp: found.capture.timestamp.clone(),
            seconds_away: seconds(&found.capture.timestamp) - seconds(&self.timestamp),
            status: found.capture.status,
            fuzzy: found.fuzzy.clone(),
        }
    }
}

/// The record that has the content of a capture; the capture's own, if a revisit has none.
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
        Modifier::Image | Modifier::Raw => "image",
    }
}
