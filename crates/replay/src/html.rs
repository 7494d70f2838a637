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
use crate::elements::{self, Use};
use crate::references::Role;
use crate::scope::Scope;
use crate::xhtml::EmptyTags;
use crate::{FRAME_NAME, MEMORY_BYTES_MAX, SHIM_PATH, css, instruction, script, srcset};

/// Most documents in attributes and texts of one another that are rewritten.
const DEPTH_MAX: usize = 3;

/// The namespace of the elements of HTML.
const HTML: &str = "http://www.w3.org/1999/xhtml";

/// Bytes that are handed on together.
const PIECE_BYTES: usize = 16 << 10;

/// What kind of document is rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Markup {
    /// HTML: the shim is put before everything else.
    Page,
    /// XHTML: the same, and every element can be empty.
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
        let mut ready = self.ready.lock();
        match ready.is_empty() {
            true => *ready = std::mem::take(&mut self.chunks),
            false => ready.append(&mut self.chunks),
        }
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
        let document = Document(Arc::new(Mutex::new(State {
            scope,
            scripts,
            depth,
            shim_due: markup != Markup::Xml && scripts == Scripts::On,
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
                    styles
                        .lock()
                        .text(chunk, |state, text| Ok(css::rewrite_css(text, &state.scope)));
                    Ok(())
                }),
            ))
            .append_element_content_handler((
                selector("script")?,
                ElementContentHandlers::default().text(move |chunk: &mut TextChunk<'_>| {
                    scripts_of.lock().text(chunk, |state, text| {
                        Ok(state.script(text).unwrap_or_else(|| text.to_owned()))
                    });
                    Ok(())
                }),
            ))
            // What is shown where there are no scripts or frames is text to the tokenizer, and to browsers that have them.
            .append_element_content_handler((
                selector("noscript, noframes, noembed")?,
                ElementContentHandlers::default().text(move |chunk: &mut TextChunk<'_>| {
                    unparsed.lock().text(chunk, |state, text| state.unparsed(text));
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
        })
    }

    /// Takes the next piece of the document, and returns what is ready.
    ///
    /// # Errors
    /// If a tag or a style needs more memory than [`MEMORY_BYTES_MAX`]. The rewriter must not be used again.
    pub fn write(&mut self, piece: &[u8]) -> io::Result<Vec<u8>> {
        match &mut self.empty_tags {
            Some(tags) => self.inner.write(&tags.closed(piece)),
            None => self.inner.write(piece),
        }
        .map_err(failed)?;
        Ok(self.ready.take())
    }

    /// Ends the document, and returns the rest.
    ///
    /// # Errors
    /// As [`Rewriter::write`].
    pub fn end(mut self) -> io::Result<Vec<u8>> {
        let rest = self.empty_tags.take().map_or(&b""[..], EmptyTags::end);
        self.inner.write(rest).map_err(failed)?;
        self.inner.end().map_err(failed)?;
        Ok(self.ready.take())
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

impl State {
    fn element(&mut self, element: &mut Element<'_, '_>) {
        let tag = element.tag_name();
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
        for (name, used, value) in attributes {
            if used == Use::LeftOut {
                element.remove_attribute(&name);
                continue;
            }
            let value = htmlize::unescape_attribute(value.as_str());
            if let Some(value) = self.rewritten(used, &value) {
                set(element, &name, &value);
            }
        }
    }

    /// Puts the shim before the first script that there may be.
    fn shim(&mut self, tag: &str, element: &mut Element<'_, '_>) {
        if !self.shim_due || tag == "html" {
            return;
        }
        self.shim_due = false;
        let value = |text: &str| htmlize::escape_all_quotes(text).into_owned();
        let script = format!(
            "<script src=\"{SHIM_PATH}\" data-key=\"{}\" data-time=\"{}\" data-url=\"{}\"></script>",
            value(self.scope.key()),
            value(self.scope.time()),
            value(self.scope.url().as_str())
        );
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
    fn rewritten(&self, used: Use, value: &str) -> Option<String> {
        match used {
            // Its script would run in a document of its own, before any shim. It could not reach this page either: their origins differ.
            Use::Refers(_, Role::Part) if is_script(value) => Some("about:blank".to_owned()),
            Use::Refers(..) if is_script(value) => self.script(value),
            Use::Refers(modifier, role) => self.scope.refer(value, modifier, role),
            Use::Pictures => Some(srcset::rewrite(value, &self.scope)),
            // Without a function there is no URL, as in most.
            Use::Style if !value.contains('(') => None,
            Use::Style => Some(css::rewrite_css(value, &self.scope)),
            Use::Script => self.script(value),
            // One that cannot be rewritten has no shim, so it must not be shown as it is.
            Use::Document => {
                let document = self.document(value, Markup::Page, self.scope.clone());
                Some(document.unwrap_or_default())
            }
            Use::Target => matches!(
                value.trim_ascii().to_ascii_lowercase().as_str(),
                "_blank" | "_new" | "_top"
            )
            .then(|| FRAME_NAME.to_owned()),
            Use::LeftOut => None,
        }
        .filter(|rewritten| rewritten != value)
    }

    /// A script that stands in the page; `None` if none runs.
    fn script(&self, text: &str) -> Option<String> {
        (self.scripts == Scripts::On).then(|| script::rewrite(text, &self.scope).into_owned())
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
        let mut rewritten = rewriter.write(html.as_bytes())?;
        rewritten.extend(rewriter.end()?);
        String::from_utf8(rewritten).map_err(|error| wrong(error.to_string()))
    }

    /// Takes a piece of a text that is rewritten as a whole, at its end.
    fn text(&mut self, chunk: &mut TextChunk<'_>, rewrite: impl Fn(&State, &str) -> io::Result<String>) {
        let is_last = chunk.last_in_text_node();
        if self.text_is_long {
            self.text_is_long = !is_last;
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
        chunk.replace(rewritten.as_deref().unwrap_or(&text), ContentType::Html);
    }
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
