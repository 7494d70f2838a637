//! Office Open XML (DOCX, PPTX, XLSX), OpenDocument and EPUB: text in the order in which the parts
//! are read.

use extract::{DocumentFormat, DocumentText};
use zip::result::ZipError;

use crate::bounded::Bounded;
use crate::package::{Package, PartError, first_text};
use crate::xml_text::{self, Rules, XmlError};

/// Part of Office Open XML with title and language.
const CORE: &str = "docProps/core.xml";

/// Part of an EPUB that names the list of its parts.
const CONTAINER: &str = "META-INF/container.xml";

const WORD: Rules = Rules {
    texts: &["t"],
    skipped: &[],
    lines: &["p", "br", "cr"],
    blanks: &["tab", "tc"],
};

const SLIDE: Rules = Rules {
    texts: &["t"],
    skipped: &[],
    lines: &["p", "br"],
    blanks: &["tab"],
};

const SHEET: Rules = Rules {
    texts: &["t"],
    // Pronunciation of a word (Japanese).
    skipped: &["rPh"],
    lines: &["si"],
    blanks: &[],
};

const OPEN_DOCUMENT: Rules = Rules {
    texts: &["p", "h"],
    skipped: &["annotation", "tracked-changes"],
    lines: &["p", "h", "line-break"],
    blanks: &["s", "tab"],
};

const BOOK: Rules = Rules {
    texts: &["body"],
    skipped: &["script", "style"],
    lines: &[
        "p",
        "div",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "li",
        "tr",
        "br",
        "hr",
        "section",
        "blockquote",
        "title",
        "dt",
        "dd",
        "figcaption",
        "pre",
    ],
    blanks: &["td", "th"],
};

/// Why a document has no text.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OfficeError {
    #[error(transparent)]
    Package(#[from] ZipError),
    #[error(transparent)]
    Part(#[from] PartError),
    #[error("{0} {1}")]
    Xml(String, XmlError),
    #[error("none of the parts that have its text is there")]
    NoText,
    #[error("{CONTAINER} names no list of parts")]
    NoList,
    #[error("{0} is not there")]
    NoPart(String),
    #[error("a PDF is no package")]
    Pdf,
}

/// Reads a document.
///
/// # Errors
/// [`OfficeError`].
pub(crate) fn read(format: DocumentFormat, bytes: &[u8]) -> Result<DocumentText, OfficeError> {
    let mut package = Package::open(bytes)?;
    match format {
        DocumentFormat::Docx => {
            let mut parts = vec!["word/document.xml".to_owned()];
            for notes in ["word/footnotes.xml", "word/endnotes.xml"] {
                parts.push(notes.to_owned());
            }
            of_parts(&mut package, &parts, WORD, of_core)
        }
        DocumentFormat::Pptx => {
            let mut parts = package.numbered("ppt/slides/slide", ".xml");
            parts.extend(package.numbered("ppt/notesSlides/notesSlide", ".xml"));
            of_parts(&mut package, &parts, SLIDE, of_core)
        }
        DocumentFormat::Xlsx => {
            let mut parts = vec!["xl/sharedStrings.xml".to_owned()];
            parts.extend(package.numbered("xl/worksheets/sheet", ".xml"));
            of_parts(&mut package, &parts, SHEET, of_core)
        }
        DocumentFormat::Odf => {
            let parts = ["content.xml".to_owned()];
            of_parts(&mut package, &parts, OPEN_DOCUMENT, |package| {
                (
                    package.element("meta.xml", &["title"]),
                    package.element("meta.xml", &["language"]),
                )
            })
        }
        DocumentFormat::Epub => book(&mut package),
        DocumentFormat::Pdf => Err(OfficeError::Pdf),
    }
}

fn of_core(package: &mut Package<'_>) -> (String, String) {
    (
        package.element(CORE, &["title"]),
        package.element(CORE, &["language"]),
    )
}

/// Reads the text of the existing parts, and title and language from the description of the
/// package.
fn of_parts(
    package: &mut Package<'_>,
    parts: &[String],
    rules: Rules,
    described: impl Fn(&mut Package<'_>) -> (String, String),
) -> Result<DocumentText, OfficeError> {
    let mut text = Bounded::default();
    let (mut is_there, mut failure) = (false, None);
    for name in parts {
        if text.is_full() {
            break;
        }
        // Readable parts are text of the document, even if other parts fail.
        match package.part(name) {
            Ok(None) => continue,
            Ok(Some(xml)) => {
                let read = xml_text::read(&xml, rules, &mut text);
                failure = failure.or(read.err().map(|error| OfficeError::Xml(name.clone(), error)));
            }
            Err(error) => failure = failure.or(Some(error.into())),
        }
        is_there = true;
        text.push("\n");
    }
    match failure {
        Some(failure) if text.is_blank() => return Err(failure),
        None if !is_there => return Err(OfficeError::NoText),
        _ => {}
    }
    let (title, language) = described(package);
    Ok(DocumentText {
        title,
        truncated: failure.is_some() || text.is_full(),
        text: text.into_text(),
        language,
    })
}

/// Reads an EPUB: its parts in the order of its spine.
fn book(package: &mut Package<'_>) -> Result<DocumentText, OfficeError> {
    let container = package.part(CONTAINER)?.unwrap_or_default();
    let list = attributes(&container, "rootfile")
        .find_map(|mut found| found.take("full-path"))
        .ok_or(OfficeError::NoList)?;
    let Some(opf) = package.part(&list)? else {
        return Err(OfficeError::NoPart(list));
    };
    let folder = list.rsplit_once('/').map_or("", |(folder, _)| folder);
    let items: Vec<(String, String)> = attributes(&opf, "item")
        .filter_map(|mut item| Some((item.take("id")?, item.take("href")?)))
        .collect();
    let parts: Vec<String> = attributes(&opf, "itemref")
        .filter_map(|mut reference| {
            let id = reference.take("idref")?;
            let (_, href) = items.iter().find(|(known, _)| *known == id)?;
            Some(resolve(folder, href))
        })
        .take(PARTS_MAX)
        .collect();
    of_parts(package, &parts, BOOK, |_| {
        (first_text(&opf, &["title"]), first_text(&opf, &["language"]))
    })
}

/// Maximum number of parts read of a book. Finding each part searches all items.
const PARTS_MAX: usize = 2000;

/// Resolves the path of a part against the folder of the list.
fn resolve(folder: &str, href: &str) -> String {
    let mut path: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in href.split('#').next().unwrap_or_default().split('/') {
        match part {
            "" | "." => {}
            ".." => {
                path.pop();
            }
            part => path.push(part),
        }
    }
    path.join("/").replace("%20", " ")
}

/// Attributes of an element.
struct Attributes(Vec<(String, String)>);

impl Attributes {
    fn take(&mut self, name: &str) -> Option<String> {
        let found = self.0.iter_mut().find(|(known, _)| known == name)?;
        Some(std::mem::take(&mut found.1))
    }
}

/// Returns the attributes of each element with this name, up to the first XML error.
fn attributes<'x>(xml: &'x str, name: &'static str) -> impl Iterator<Item = Attributes> + 'x {
    use quick_xml::events::Event;
    let mut reader = quick_xml::Reader::from_str(xml);
    reader.config_mut().check_end_names = false;
    std::iter::from_fn(move || {
        loop {
            let element = match reader.read_event() {
                Ok(Event::Start(element) | Event::Empty(element)) => element,
                Ok(Event::Eof) | Err(_) => return None,
                Ok(_) => continue,
            };
            if element.local_name().as_ref() == name.as_bytes() {
                let found = element.attributes().filter_map(Result::ok).map(|attribute| {
                    let value = String::from_utf8_lossy(&attribute.value);
                    let value =
                        quick_xml::escape::unescape(&value).map_or_else(|_| value.to_string(), Into::into);
                    (
                        String::from_utf8_lossy(attribute.key.local_name().as_ref()).into_owned(),
                        value,
                    )
                });
                return Some(Attributes(found.collect()));
            }
        }
    })
}
