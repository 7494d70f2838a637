//! Rewrites HTML and other markup while it is sent. Tags that refer to nothing are passed on byte for byte.

use std::borrow::Cow;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lol_html::errors::RewritingError;
use lol_html::html_content::{Comment, ContentType, TextChunk};
use lol_html::send::{DocumentContentHandlers, Element, ElementContentHandlers, HtmlRewriter, Settings};
use lol_html::{AsciiCompatibleEncoding, MemorySettings, OutputSink};

use crate::address::Modifier;
use crate::bounded::{self, TooLong};
use crate::elements::{self, Use};
use crate::prolog::Prolog;
use crate::references::Role;
use crate::scope::Scope;
use crate::xhtml::EmptyTags;
use crate::{FRAME_NAME, MEMORY_BYTES_MAX, SHIM_PATH, css, instruction, script, srcset};

/// Most documents in attributes and texts of one another that are rewritten.
const DEPTH_MAX: usize = 3;

/// The namespace of the elements of HTML.
const HTML: &str = "http://www.w3.org/1999/xhtml";

/// What the shim has in XML beside its own attributes: whatever namespace it stands in, it is a script of HTML.
const XML_ATTRIBUTES: &str = " xmlns=\"http://www.w3.org/1999/xhtml\" type=\"text/javascript\"";

/// Bytes that are handed on together.
const PIECE_BYTES: usize = 16 << 10;

/// Bytes of a document that are rewritten before it is asked whether enough are ready. A tag of a few bytes can become one of
/// 64 KiB, so a kilobyte becomes a few megabytes at most.
const STEP_BYTES: usize = 1 << 10;

/// Bytes that are enough to be taken.
const READY_BYTES: usize = 64 << 10;

/// What kind of document is rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Markup {
    /// HTML: the shim is put before everything else.
    Page,
    /// XHTML: the same, every element can be empty, and declarations that would keep the shim from running are left out.
    Xhtml,
    /// A drawing or other XML.
    Xml,
}

/// Whether scripts of pages run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scripts {
    /// They run, after the shim.
    On,
    /// They do not run, and there is no shim.
    Off,
}

/// Rewrites one document, piece by piece.
pub struct Rewriter {
    inner: HtmlRewriter<'static, Pieces>,
    ready: Ready,
    /// Of XHTML alone.
    empty_tags: Option<EmptyTags>,
    /// Of XHTML alone.
    prolog: Option<Prolog>,
}

/// What is rewritten and not taken yet.
#[derive(Clone, Default)]
struct Ready(Arc<Mutex<Vec<u8>>>);

impl Ready {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Collects the small chunks that the rewriter makes, many of them for each tag.
struct Pieces {
    /// Less than [`PIECE_BYTES`] of them are kept back until the end.
    chunks: Vec<u8>,
    ready: Ready,
}

impl Pieces {
    fn hand_over(&mut self) {
        append(&mut self.ready.lock(), std::mem::take(&mut self.chunks));
    }
}

impl OutputSink for Pieces {
    fn handle_chunk(&mut self, chunk: &[u8]) {
        self.chunks.extend_from_slice(chunk);
        if self.chunks.len() >= PIECE_BYTES {
            self.hand_over();
        }
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        self.hand_over();
    }
}

impl Rewriter {
    /// Rewrites a document in the character set of `scope`; one that is no superset of ASCII must be converted before.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] for such a character set.
    pub fn new(scope: Scope, markup: Markup, scripts: Scripts) -> io::Result<Rewriter> {
        Rewriter::nested(scope, markup, scripts, 0)
    }

    fn nested(scope: Scope, markup: Markup, scripts: Scripts, depth: usize) -> io::Result<Rewriter> {
        let name = scope.encoding().name();
        let encoding = AsciiCompatibleEncoding::new(scope.encoding())
            .ok_or_else(|| wrong(format!("the character set {name} is no superset of ASCII")))?;
        let prolog = (markup == Markup::Xhtml).then(|| {
            Prolog::new(match scripts {
                Scripts::On => shim(&scope, XML_ATTRIBUTES),
                Scripts::Off => String::new(),
            })
        });
        let document = Document(Arc::new(Mutex::new(State {
            scope,
            scripts,
            depth,
            has_prefixes: markup != Markup::Page,
            shim_due: markup == Markup::Page && scripts == Scripts::On,
            has_base: false,
            templates: Arc::default(),
            text: String::new(),
            text_is_long: false,
        })));
        let selector = |text: &str| {
            text.parse()
                .map(Cow::Owned)
                .map_err(|error| wrong(format!("{error}")))
        };
        let elements = document.clone();
        let (styles, scripts_of, unparsed) = (document.clone(), document.clone(), document.clone());
        let mut settings = Settings::new_send();
        if markup != Markup::Page {
            let instructions =
                DocumentContentHandlers::default().comments(move |comment: &mut Comment<'_>| {
                    if let Some(rewritten) = instruction::rewrite(&comment.text(), &document.lock().scope) {
                        comment.replace(&rewritten, ContentType::Html);
                    }
                    Ok(())
                });
            settings = settings.append_document_content_handler(instructions);
        }
        let settings = settings
            .append_element_content_handler((
                selector("*")?,
                ElementContentHandlers::default().element(move |element: &mut Element<'_, '_>| {
                    elements.lock().element(element);
                    Ok(())
                }),
            ))
            .append_element_content_handler((
                selector("style")?,
                ElementContentHandlers::default().text(move |chunk: &mut TextChunk<'_>| {
                    styles.lock().text(chunk, Beyond::Sent, |state, text| {
                        Ok(css::rewrite(text, &state.scope)?)
                    });
                    Ok(())
                }),
            ))
            .append_element_content_handler((
                selector("script")?,
                ElementContentHandlers::default().text(move |chunk: &mut TextChunk<'_>| {
                    scripts_of.lock().text(chunk, Beyond::Sent, |state, text| {
                        Ok(state.script(text)?.unwrap_or_else(|| text.to_owned()))
                    });
                    Ok(())
                }),
            ))
            // What is shown where there are no scripts or frames is text to the tokenizer, and to browsers that have them.
            .append_element_content_handler((
                selector("noscript, noframes, noembed")?,
                ElementContentHandlers::default().text(move |chunk: &mut TextChunk<'_>| {
                    unparsed
                        .lock()
                        .text(chunk, Beyond::LeftOut, |state, text| state.unparsed(text));
                    Ok(())
                }),
            ))
            .with_encoding(encoding)
            .with_strict(false)
            .with_memory_settings(MemorySettings::new().with_max_allowed_memory_usage(MEMORY_BYTES_MAX));
        let ready = Ready::default();
        let pieces = Pieces {
            chunks: Vec::new(),
            ready: ready.clone(),
        };
        Ok(Rewriter {
            inner: HtmlRewriter::new(settings, pieces),
            ready,
            empty_tags: (markup == Markup::Xhtml).then(EmptyTags::default),
            prolog,
        })
    }

    /// Takes the next bytes of the document from the front of `rest`, and returns what is ready. Some of `rest` is left where they
    /// become so many that they should be sent first: [`REWRITTEN_BYTES_MAX`](crate::REWRITTEN_BYTES_MAX) and a few megabytes at most.
    ///
    /// # Errors
    /// If a tag or a style needs more memory than [`MEMORY_BYTES_MAX`]. The rewriter must not be used again.
    pub fn write(&mut self, rest: &mut &[u8]) -> io::Result<Vec<u8>> {
        let mut ready = Vec::new();
        while !rest.is_empty() && ready.len() < READY_BYTES {
            let (step, behind) = rest.split_at(rest.len().min(STEP_BYTES));
            *rest = behind;
            match &mut self.empty_tags {
                Some(tags) => self.inner.write(&tags.closed(step)),
                None => self.inner.write(step),
            }
            .map_err(failed)?;
            append(&mut ready, self.ready.take());
        }
        self.sent(ready)
    }

    /// What is sent of what is ready.
    fn sent(&mut self, ready: Vec<u8>) -> io::Result<Vec<u8>> {
        match &mut self.prolog {
            Some(prolog) => prolog.sent(ready),
            None => Ok(ready),
        }
    }

    /// Ends the document, and returns the rest.
    ///
    /// # Errors
    /// As [`Rewriter::write`].
    pub fn end(mut self) -> io::Result<Vec<u8>> {
        let rest = self.empty_tags.take().map_or(&b""[..], EmptyTags::end);
        self.inner.write(rest).map_err(failed)?;
        self.inner.end().map_err(failed)?;
        let ready = self.ready.take();
        match self.prolog {
            Some(mut prolog) => prolog.sent(ready),
            None => Ok(ready),
        }
    }
}

/// Appends without a copy where there is nothing yet.
fn append(all: &mut Vec<u8>, mut more: Vec<u8>) {
    match all.is_empty() {
        true => *all = more,
        false => all.append(&mut more),
    }
}

fn failed(error: RewritingError) -> io::Error {
    wrong(error.to_string())
}

fn wrong(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

/// The state of one document, which its handlers share.
#[derive(Clone)]
struct Document(Arc<Mutex<State>>);

impl Document {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct State {
    scope: Scope,
    scripts: Scripts,
    /// In how many other documents this one stands.
    depth: usize,
    /// Names of elements may have the prefix of a namespace, as in XML.
    has_prefixes: bool,
    shim_due: bool,
    /// There was a `base` with an address.
    has_base: bool,
    /// Elements `template` that are open: what is in them is no part of the document.
    templates: Arc<AtomicUsize>,
    /// What was read of the text at hand that is rewritten as a whole.
    text: String,
    /// The text at hand is longer than is rewritten, and passed on.
    text_is_long: bool,
}

/// What becomes of a text that is too long, or would be once it is rewritten.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Beyond {
    /// It is sent as it is: a browser asks the policy of the page before it loads what a style or a script names.
    Sent,
    /// It is left out: there may be documents in it, which would have no shim, and connections may be opened for it.
    LeftOut,
}

impl State {
    fn element(&mut self, element: &mut Element<'_, '_>) {
        let tag = self.local_name(element.tag_name());
        self.shim(&tag, element);
        match tag.as_str() {
            "base" if self.is_of_the_document(element) => self.base(element),
            "template" => self.template(element),
            "meta" => self.meta(element),
            _ => {}
        }
        let link = match tag.as_str() {
            "link" => {
                let value = |name| element.get_attribute(name).unwrap_or_default();
                match elements::link(&value("rel"), &value("as").to_ascii_lowercase()) {
                    Some(modifier) => modifier,
                    None => return element.remove(),
                }
            }
            _ => Modifier::Page,
        };
        // Of most attributes only the name is looked at.
        let attributes: Vec<(String, Use, String)> = element
            .attributes()
            .iter()
            .filter_map(|attribute| {
                let name = attribute.name();
                let used = elements::used(&tag, &name, link)?;
                Some((name, used, attribute.value()))
            })
            .collect();
        let mut bytes = 0;
        for (name, used, value) in attributes {
            if used == Use::LeftOut {
                element.remove_attribute(&name);
                continue;
            }
            if let Err(TooLong) = self.attribute(element, (&name, used, &value), &mut bytes) {
                // Nothing more is tried in this tag, which took long already. As it is the value could lead out of the archive; if the
                // attribute was removed, another one of that name, which does not count now, would.
                bytes = usize::MAX;
                set(element, &name, "");
            }
        }
    }

    /// Rewrites an attribute. `bytes` are those of the attributes of its tag that were rewritten.
    fn attribute(
        &self,
        element: &mut Element<'_, '_>,
        (name, used, value): (&str, Use, &str),
        bytes: &mut usize,
    ) -> Result<(), TooLong> {
        bounded::check(*bytes)?;
        if let Some(value) = self.rewritten(used, &htmlize::unescape_attribute(value))? {
            *bytes += written_bytes(&value);
            bounded::check(*bytes)?;
            set(element, name, &value);
        }
        Ok(())
    }

    /// The name of an element without the prefix of its namespace.
    fn local_name(&self, tag: String) -> String {
        match tag.rsplit_once(':') {
            Some((_, name)) if self.has_prefixes => name.to_owned(),
            _ => tag,
        }
    }

    /// Puts the shim before the first script that there may be.
    fn shim(&mut self, tag: &str, element: &mut Element<'_, '_>) {
        if !self.shim_due || tag == "html" {
            return;
        }
        self.shim_due = false;
        let script = shim(&self.scope, "");
        match tag {
            "head" => element.prepend(&script, ContentType::Html),
            _ => element.before(&script, ContentType::Html),
        }
    }

    /// Whether an element is one of HTML, and not in a template.
    fn is_of_the_document(&self, element: &Element<'_, '_>) -> bool {
        element.namespace_uri() == HTML && self.templates.load(Ordering::Relaxed) == 0
    }

    fn template(&self, element: &mut Element<'_, '_>) {
        let templates = Arc::clone(&self.templates);
        let ends = element.on_end_tag(Box::new(move |_| {
            templates.fetch_sub(1, Ordering::Relaxed);
            Ok(())
        }));
        // One that can have no end is of SVG, and empty.
        if ends.is_ok() {
            self.templates.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn base(&mut self, element: &mut Element<'_, '_>) {
        let Some(href) = element.get_attribute("href") else {
            return;
        };
        // The first one that has an address counts (HTML, section 4.2.3).
        if std::mem::replace(&mut self.has_base, true) {
            return element.remove_attribute("href");
        }
        self.scope.take_base(&htmlize::unescape_attribute(href.as_str()));
        // The address of a base is that of itself.
        if let Some(address) = self.scope.base_address() {
            let _ = element.set_attribute("href", &address.replace('&', "&amp;"));
        }
    }

    fn meta(&mut self, element: &mut Element<'_, '_>) {
        let kind = element.get_attribute("http-equiv").unwrap_or_default();
        let kind = htmlize::unescape_attribute(kind.as_str());
        match kind.trim_ascii().to_ascii_lowercase().as_str() {
            // The policy of the page was for the live web; ours is stricter.
            "content-security-policy" | "content-security-policy-report-only" | "set-cookie" => {
                element.remove()
            }
            "refresh" => {
                let content = element.get_attribute("content").unwrap_or_default();
                let content = htmlize::unescape_attribute(content.as_str());
                let address = elements::refresh(&content).and_then(|(before, url)| {
                    Some((before, self.scope.refer(url, Modifier::Page, Role::Link)?))
                });
                if let Some((before, address)) = address {
                    let before = before.trim_end_matches(['"', '\'']);
                    set(element, "content", &format!("{before}{address}"));
                }
            }
            _ => {}
        }
    }

    /// The new value of an attribute; `None` if it stays as it is.
    fn rewritten(&self, used: Use, value: &str) -> Result<Option<String>, TooLong> {
        let rewritten = match used {
            // Its script would run in a document of its own, before any shim. It could not reach this page either: their origins differ.
            Use::Refers(_, Role::Part) if is_script(value) => Some("about:blank".to_owned()),
            Use::Refers(..) if is_script(value) => self.script(value)?,
            Use::Refers(modifier, role) => self.scope.refer(value, modifier, role),
            Use::Pictures => Some(srcset::rewrite(value, &self.scope)?),
            // Without a function there is no URL, as in most.
            Use::Style if !value.contains('(') => None,
            Use::Style => Some(css::rewrite(value, &self.scope)?),
            Use::Script => self.script(value)?,
            // One that cannot be rewritten, for whatever reason, has no shim, so it must not be shown as it is.
            Use::Document => Some(
                self.document(value, Markup::Page, self.scope.clone())
                    .map_err(|_| TooLong)?,
            ),
            Use::Target => matches!(
                value.trim_ascii().to_ascii_lowercase().as_str(),
                "_blank" | "_new" | "_top"
            )
            .then(|| FRAME_NAME.to_owned()),
            Use::LeftOut => None,
        };
        Ok(rewritten.filter(|rewritten| rewritten != value))
    }

    /// A script that stands in the page; `None` if none runs.
    fn script(&self, text: &str) -> Result<Option<String>, TooLong> {
        match self.scripts {
            Scripts::On => script::rewrite(text, &self.scope).map(|text| Some(text.into_owned())),
            Scripts::Off => Ok(None),
        }
    }

    /// What is shown where there are no scripts or frames. Where there are no scripts, all of it is.
    fn unparsed(&self, html: &str) -> io::Result<String> {
        let scope = self.scope.clone();
        let scope = match self.scripts {
            Scripts::On => scope.into_alternative(),
            Scripts::Off => scope,
        };
        self.document(html, Markup::Xml, scope)
    }

    /// A document in an attribute or in text.
    fn document(&self, html: &str, markup: Markup, scope: Scope) -> io::Result<String> {
        if self.depth >= DEPTH_MAX {
            return Err(wrong("documents in one another".to_owned()));
        }
        let scope = scope.in_encoding(encoding_rs::UTF_8);
        let mut rewriter = Rewriter::nested(scope, markup, self.scripts, self.depth + 1)?;
        let mut rewritten = Vec::new();
        let mut rest = html.as_bytes();
        while !rest.is_empty() {
            append(&mut rewritten, rewriter.write(&mut rest)?);
            bounded::check(rewritten.len())?;
        }
        append(&mut rewritten, rewriter.end()?);
        bounded::check(rewritten.len())?;
        String::from_utf8(rewritten).map_err(|error| wrong(error.to_string()))
    }

    /// Takes a piece of a text that is rewritten as a whole, at its end.
    fn text(
        &mut self,
        chunk: &mut TextChunk<'_>,
        beyond: Beyond,
        rewrite: impl Fn(&State, &str) -> io::Result<String>,
    ) {
        let is_last = chunk.last_in_text_node();
        if self.text_is_long {
            self.text_is_long = !is_last;
            if beyond == Beyond::LeftOut {
                chunk.remove();
            }
            return;
        }
        self.text.push_str(chunk.as_str());
        self.text_is_long = self.text.len() > css::CSS_BYTES_MAX && !is_last;
        if !self.text_is_long && !is_last {
            return chunk.remove();
        }
        let text = std::mem::take(&mut self.text);
        let rewritten = match self.text_is_long {
            true => None,
            false => rewrite(self, &text).ok(),
        };
        let otherwise = match beyond {
            Beyond::Sent => text.as_str(),
            Beyond::LeftOut => "",
        };
        chunk.replace(rewritten.as_deref().unwrap_or(otherwise), ContentType::Html);
    }
}

/// The element of the shim, with more `attributes`.
fn shim(scope: &Scope, attributes: &str) -> String {
    let value = |text: &str| htmlize::escape_all_quotes(text).into_owned();
    format!(
        "<script{attributes} src=\"{SHIM_PATH}\" data-key=\"{}\" data-time=\"{}\" data-url=\"{}\"></script>",
        value(scope.key()),
        value(scope.time()),
        value(scope.url().as_str())
    )
}

/// Whether what a link leads to is a script. Browsers pass over control characters before the scheme, and tabs and ends of lines in it
/// (WHATWG URL, section 4.4).
fn is_script(reference: &str) -> bool {
    let reference = reference.trim_start_matches(|c: char| c <= ' ');
    let mut letters = reference.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r'));
    "javascript:".chars().all(|expected| {
        letters
            .next()
            .is_some_and(|found| found.eq_ignore_ascii_case(&expected))
    })
}

/// Bytes of an attribute's value as [`set`] has it written.
fn written_bytes(value: &str) -> usize {
    let escaped = |byte| match byte {
        b'&' => "&amp;".len(),
        b'"' => "&quot;".len(),
        _ => 1,
    };
    value.bytes().map(escaped).sum()
}

/// Sets an attribute to text.
fn set(element: &mut Element<'_, '_>, name: &str, value: &str) {
    // The writer escapes quotation marks; what would begin a character reference is escaped here. The name was read from the same
    // tag; one that cannot be written again stays as it is.
    let _ = match value.contains('&') {
        true => element.set_attribute(name, &value.replace('&', "&amp;")),
        false => element.set_attribute(name, value),
    };
}

#[cfg(test)]
mod tests;
