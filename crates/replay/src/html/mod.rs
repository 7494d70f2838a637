//! Rewrites HTML and other markup while it is sent. Tags without references are passed on byte for
//! byte.

mod in_origin;

use std::borrow::Cow;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lol_html::errors::RewritingError;
use lol_html::html_content::{Comment, ContentType, TextChunk};
use lol_html::send::{DocumentContentHandlers, Element, ElementContentHandlers, HtmlRewriter, Settings};
use lol_html::{AsciiCompatibleEncoding, MemorySettings, OutputSink};

use crate::address::Modifier;
use crate::bounded::{self, MEMORY_BYTES_MAX, TooLong};
use crate::elements::{self, AttributeUse};
use crate::markup::Markup;
use crate::prolog::Prolog;
use crate::references::Role;
use crate::scope::Scope;
use crate::shim::{FRAME_NAME, SHIM_PATH};
use crate::xhtml::EmptyTags;
use crate::{css, instruction, script, srcset};

/// Maximum depth of documents nested in attributes and texts that are rewritten.
const DEPTH_MAX: usize = 3;

/// The namespace of HTML elements.
const HTML: &str = "http://www.w3.org/1999/xhtml";

/// Additional attributes of the shim in XML. They make it an HTML script in any namespace.
const XML_ATTRIBUTES: &str = " xmlns=\"http://www.w3.org/1999/xhtml\" type=\"text/javascript\"";

/// Number of bytes that are passed on together.
const PIECE_BYTES: usize = 16 << 10;

/// Number of bytes of a document that are rewritten before the size of the output is checked. A tag
/// of a few bytes can become one of 64 KiB, so a kilobyte becomes at most a few megabytes.
const STEP_BYTES: usize = 1 << 10;

/// Number of output bytes at which rewriting pauses.
const READY_BYTES: usize = 64 << 10;

/// Whether scripts of pages run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scripts {
    /// They run, after the shim.
    On,
    /// They do not run, and the shim is not added.
    Off,
}

/// Rewrites one document, piece by piece.
///
/// ```
/// use replay::{Markup, Rewriter, Scope, Scripts};
///
/// # fn main() -> std::io::Result<()> {
/// let url = url::Url::parse("http://example.com/a/").unwrap();
/// let scope = Scope::new("20140126200624", url);
/// let mut rewriter = Rewriter::new(scope, Markup::Page, Scripts::Off)?;
/// let mut html = &b"<p><img src=b.png> <a href='#top'>top</a>"[..];
/// let mut rewritten = Vec::new();
/// while !html.is_empty() {
///     rewritten.extend(rewriter.write(&mut html)?);
/// }
/// rewritten.extend(rewriter.end()?);
/// let rewritten = String::from_utf8(rewritten).unwrap();
/// assert!(rewritten.contains("/replay/20140126200624im_/http://example.com/a/b.png"));
/// assert!(rewritten.contains("<a href='#top'>top</a>"));
/// # Ok(())
/// # }
/// ```
pub struct Rewriter {
    inner: HtmlRewriter<'static, Pieces>,
    ready: OutputBuffer,
    /// Only for XHTML.
    empty_tags: Option<EmptyTags>,
    /// Only for XHTML.
    prolog: Option<Prolog>,
}

/// Output that was not taken yet.
#[derive(Clone, Default)]
struct OutputBuffer(Arc<Mutex<Vec<u8>>>);

impl OutputBuffer {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Collects the small chunks that the rewriter emits, many of them for each tag.
struct Pieces {
    /// Fewer than [`PIECE_BYTES`] bytes are held back until the end.
    chunks: Vec<u8>,
    ready: OutputBuffer,
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
    /// Creates a rewriter for a document in the character set of `scope`. A character set that is
    /// no superset of ASCII must be converted before.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] for such a character set.
    pub fn new(scope: Scope, markup: Markup, scripts: Scripts) -> io::Result<Rewriter> {
        Rewriter::nested(scope, markup, scripts, 0)
    }

    fn nested(scope: Scope, markup: Markup, scripts: Scripts, depth: usize) -> io::Result<Rewriter> {
        let name = scope.encoding().name();
        let encoding = AsciiCompatibleEncoding::new(scope.encoding())
            .ok_or_else(|| wrong(format!("the character set {name} is not a superset of ASCII")))?;
        let prolog = (markup == Markup::Xhtml).then(|| {
            Prolog::new(match scripts {
                Scripts::On => shim(&scope, XML_ATTRIBUTES),
                Scripts::Off => String::new(),
            })
        });
        let is_rewritten = scope.origins().is_none();
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
        if markup != Markup::Page && is_rewritten {
            let instructions =
                DocumentContentHandlers::default().comments(move |comment: &mut Comment<'_>| {
                    if let Some(rewritten) = instruction::rewrite(&comment.text(), &document.lock().scope) {
                        comment.replace(&rewritten, ContentType::Html);
                    }
                    Ok(())
                });
            settings = settings.append_document_content_handler(instructions);
        }
        settings = settings.append_element_content_handler((
            selector("*")?,
            ElementContentHandlers::default().element(move |element: &mut Element<'_, '_>| {
                elements.lock().element(element);
                Ok(())
            }),
        ));
        if is_rewritten {
            settings = settings
                .append_element_content_handler((
                    selector("style")?,
                    ElementContentHandlers::default().text(move |chunk: &mut TextChunk<'_>| {
                        styles.lock().text(chunk, Overflow::Send, |state, text| {
                            Ok(css::rewrite(text, &state.scope)?)
                        });
                        Ok(())
                    }),
                ))
                .append_element_content_handler((
                    selector("script")?,
                    ElementContentHandlers::default().text(move |chunk: &mut TextChunk<'_>| {
                        scripts_of.lock().text(chunk, Overflow::Send, |state, text| {
                            Ok(state.script(text)?.unwrap_or_else(|| text.to_owned()))
                        });
                        Ok(())
                    }),
                ))
                // Browsers with scripts and frames treat the content of these elements as text, and so
                // does the tokenizer.
                .append_element_content_handler((
                    selector("noscript, noframes, noembed")?,
                    ElementContentHandlers::default().text(move |chunk: &mut TextChunk<'_>| {
                        unparsed
                            .lock()
                            .text(chunk, Overflow::Omit, |state, text| state.unparsed(text));
                        Ok(())
                    }),
                ));
        }
        let settings = settings
            .with_encoding(encoding)
            .with_strict(false)
            .with_memory_settings(MemorySettings::new().with_max_allowed_memory_usage(MEMORY_BYTES_MAX));
        let ready = OutputBuffer::default();
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

    /// Rewrites the next bytes of the document from the front of `rest`, and returns the output.
    /// Part of `rest` is left if the output should be sent first. The output has at most
    /// [`REWRITTEN_BYTES_MAX`](crate::REWRITTEN_BYTES_MAX) and a few megabytes.
    ///
    /// # Errors
    /// If a tag or a style sheet needs more memory than [`MEMORY_BYTES_MAX`]. The rewriter must not
    /// be used afterwards.
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

    /// Passes output through the prolog, if there is one.
    fn sent(&mut self, ready: Vec<u8>) -> io::Result<Vec<u8>> {
        match &mut self.prolog {
            Some(prolog) => prolog.sent(ready),
            None => Ok(ready),
        }
    }

    /// Ends the document, and returns the rest.
    ///
    /// # Errors
    /// As for [`Rewriter::write`].
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

/// Appends `more`. Avoids the copy if `all` is empty.
fn append(all: &mut Vec<u8>, mut more: Vec<u8>) {
    if all.is_empty() {
        *all = more
    } else {
        all.append(&mut more)
    }
}

fn failed(error: RewritingError) -> io::Error {
    wrong(error.to_string())
}

fn wrong(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

/// The state of one document, shared by its handlers.
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
    /// Number of documents that this one is nested in.
    depth: usize,
    /// Whether names of elements may have a namespace prefix, as in XML.
    has_prefixes: bool,
    shim_due: bool,
    /// Whether a `base` with an address was seen.
    has_base: bool,
    /// Number of open `template` elements. Their content is not part of the document.
    templates: Arc<AtomicUsize>,
    /// The current text so far, if it is rewritten as a whole.
    text: String,
    /// Whether the current text is too long to be rewritten.
    text_is_long: bool,
}

/// What to do with a text that is too long before or after rewriting.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Overflow {
    /// Send it unchanged: a browser checks the policy of the page before it loads the targets of a
    /// style sheet or a script.
    Send,
    /// Omit it: it may contain documents, which would lack the shim, or open connections.
    Omit,
}

impl State {
    fn element(&mut self, element: &mut Element<'_, '_>) {
        let tag = self.local_name(element.tag_name());
        self.shim(&tag, element);
        if self.scope.origins().is_some() {
            return self.prepare(&tag, element);
        }
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
        // For most attributes only the name is checked.
        let attributes: Vec<(String, AttributeUse, String)> = element
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
            if used == AttributeUse::LeftOut {
                element.remove_attribute(&name);
                continue;
            }
            if let Err(TooLong) = self.attribute(element, (&name, used, &value), &mut bytes) {
                // The rest of this tag is not rewritten, because it already took long. The value is
                // cleared, because unchanged it could lead out of the archive. The attribute is not
                // removed, because then a duplicate of it, which is ignored now, would take effect.
                bytes = usize::MAX;
                set(element, &name, "");
            }
        }
    }

    /// Rewrites an attribute. `bytes` counts the rewritten attributes of its tag.
    fn attribute(
        &self,
        element: &mut Element<'_, '_>,
        (name, used, value): (&str, AttributeUse, &str),
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

    /// Returns the name of an element without its namespace prefix.
    fn local_name(&self, tag: String) -> String {
        match tag.rsplit_once(':') {
            Some((_, name)) if self.has_prefixes => name.to_owned(),
            _ => tag,
        }
    }

    /// Puts the shim before the first possible script.
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

    /// Returns whether an element is an HTML element, and not in a template.
    fn is_of_the_document(&self, element: &Element<'_, '_>) -> bool {
        element.namespace_uri() == HTML && self.templates.load(Ordering::Relaxed) == 0
    }

    fn template(&self, element: &mut Element<'_, '_>) {
        let templates = Arc::clone(&self.templates);
        let ends = element.on_end_tag(Box::new(move |_| {
            templates.fetch_sub(1, Ordering::Relaxed);
            Ok(())
        }));
        // An element that cannot have an end tag is an empty one of SVG.
        if ends.is_ok() {
            self.templates.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn base(&mut self, element: &mut Element<'_, '_>) {
        let Some(href) = element.get_attribute("href") else {
            return;
        };
        // Only the first one with an address counts (HTML, section 4.2.3).
        if std::mem::replace(&mut self.has_base, true) {
            return element.remove_attribute("href");
        }
        self.scope.set_base(&htmlize::unescape_attribute(href.as_str()));
        // The address of a base is its own.
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
                if let Some(content) = self.scope.refresh(&content, Modifier::Page) {
                    set(element, "content", &content);
                }
            }
            _ => {}
        }
    }

    /// Returns the new value of an attribute, or `None` if it is unchanged.
    fn rewritten(&self, used: AttributeUse, value: &str) -> Result<Option<String>, TooLong> {
        let rewritten = match used {
            // Its script would run in a separate document without the shim. It could not reach this
            // page either, because their origins differ.
            AttributeUse::Reference(_, Role::Part) if is_script(value) => Some("about:blank".to_owned()),
            AttributeUse::Reference(..) if is_script(value) => self.script(value)?,
            AttributeUse::Reference(modifier, role) => self.scope.refer(value, modifier, role),
            AttributeUse::Pictures => Some(srcset::rewrite(value, &self.scope)?),
            // Most styles contain no function, and therefore no URL.
            AttributeUse::Style if !value.contains('(') => None,
            AttributeUse::Style => Some(css::rewrite(value, &self.scope)?),
            AttributeUse::Script => self.script(value)?,
            // A document that cannot be rewritten would lack the shim, so it must not be shown
            // unchanged.
            AttributeUse::Document => Some(
                self.document(value, Markup::Page, self.scope.clone())
                    .map_err(|_| TooLong)?,
            ),
            AttributeUse::Target => matches!(
                value.trim_ascii().to_ascii_lowercase().as_str(),
                "_blank" | "_new" | "_top"
            )
            .then(|| FRAME_NAME.to_owned()),
            AttributeUse::LeftOut => None,
        };
        Ok(rewritten.filter(|rewritten| rewritten != value))
    }

    /// Rewrites a script in the page. Returns `None` if scripts do not run.
    fn script(&self, text: &str) -> Result<Option<String>, TooLong> {
        match self.scripts {
            Scripts::On => script::rewrite(text, &self.scope).map(|text| Some(text.into_owned())),
            Scripts::Off => Ok(None),
        }
    }

    /// Rewrites content for browsers without scripts or frames. If scripts are off, it is shown and
    /// is part of the page.
    fn unparsed(&self, html: &str) -> io::Result<String> {
        let scope = self.scope.clone();
        let scope = match self.scripts {
            Scripts::On => scope.alternative(),
            Scripts::Off => scope,
        };
        self.document(html, Markup::Xml, scope)
    }

    /// Rewrites a document in an attribute or in text.
    fn document(&self, html: &str, markup: Markup, scope: Scope) -> io::Result<String> {
        if self.depth >= DEPTH_MAX {
            return Err(wrong("srcdoc documents are nested too deeply".to_owned()));
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

    /// Takes a piece of a text that is rewritten as a whole at its end.
    fn text(
        &mut self,
        chunk: &mut TextChunk<'_>,
        beyond: Overflow,
        rewrite: impl Fn(&State, &str) -> io::Result<String>,
    ) {
        let is_last = chunk.last_in_text_node();
        if self.text_is_long {
            self.text_is_long = !is_last;
            if beyond == Overflow::Omit {
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
        let rewritten = if self.text_is_long {
            None
        } else {
            rewrite(self, &text).ok()
        };
        let otherwise = match beyond {
            Overflow::Send => text.as_str(),
            Overflow::Omit => "",
        };
        chunk.replace(rewritten.as_deref().unwrap_or(otherwise), ContentType::Html);
    }
}

/// Returns the shim's element, with additional `attributes`.
fn shim(scope: &Scope, attributes: &str) -> String {
    if let Some(origins) = scope.origins() {
        return origins.head_tags(attributes, scope.url().as_str(), scope.time());
    }
    let value = |text: &str| htmlize::escape_all_quotes(text).into_owned();
    format!(
        "<script{attributes} src=\"{SHIM_PATH}\" data-key=\"{}\" data-time=\"{}\" data-url=\"{}\"></script>",
        value(scope.key()),
        value(scope.time()),
        value(scope.url().as_str())
    )
}

/// Returns whether a reference is a script. Browsers skip control characters before the scheme, and
/// tabs and line ends in it (WHATWG URL, section 4.4).
fn is_script(reference: &str) -> bool {
    let reference = reference.trim_start_matches(|c: char| c <= ' ');
    let mut letters = reference.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r'));
    "javascript:".chars().all(|expected| {
        letters
            .next()
            .is_some_and(|found| found.eq_ignore_ascii_case(&expected))
    })
}

/// Returns the length of an attribute's value as [`set`] writes it.
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
    // The writer escapes quotation marks; the beginnings of character references are escaped here.
    // The name was read from the same tag. A name that cannot be written again leaves the attribute
    // unchanged.
    let _ = if value.contains('&') {
        element.set_attribute(name, &value.replace('&', "&amp;"))
    } else {
        element.set_attribute(name, value)
    };
}

#[cfg(test)]
mod tests;
