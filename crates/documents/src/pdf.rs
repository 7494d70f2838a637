//! PDF: extracts text with pdf-extract, and title and language from the document information.
//!
//! An encrypted document is read if its user password is empty, as viewers do. Text in images
//! (scans) is not recognised.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use extract::DocumentText;
use pdf_extract::{ConvertToFmt, Dictionary, Document, Object, OutputError, PlainTextOutput, output_doc};

use crate::bounded::Bounded;
use crate::package::title_of_rdf;

/// Why a PDF has no text.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PdfError {
    /// It is damaged or encrypted.
    #[error(transparent)]
    Load(#[from] pdf_extract::Error),
    #[error(transparent)]
    Text(OutputError),
    #[error("its parser panicked")]
    Panic,
}

/// Reads a PDF.
///
/// # Errors
/// [`PdfError`].
pub(crate) fn read(bytes: &[u8]) -> Result<DocumentText, PdfError> {
    let mut pdf = Document::load_mem(bytes)?;
    if pdf.is_encrypted() {
        pdf.decrypt("")?;
    }
    let mut text = Bounded::default();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mut output = PlainTextOutput::new(Writer(&mut text));
        output_doc(&pdf, &mut output)
    }));
    // Text before an unreadable page still counts.
    let failure = match outcome {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(PdfError::Text(error)),
        Err(_) => Some(PdfError::Panic),
    };
    match failure {
        Some(failure) if text.is_blank() => Err(failure),
        failure => Ok(DocumentText {
            title: title(&pdf),
            truncated: failure.is_some() || text.is_full(),
            text: text.into_text(),
            language: language(&pdf),
        }),
    }
}

struct Writer<'a>(&'a mut Bounded);

impl fmt::Write for Writer<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write_str(text)
    }
}

impl<'a> ConvertToFmt for Writer<'a> {
    type Writer = Writer<'a>;

    fn convert(self) -> Writer<'a> {
        self
    }
}

/// Title from the document information, or else from its XMP metadata.
fn title(pdf: &Document) -> String {
    let of_info = pdf
        .trailer
        .get(b"Info")
        .ok()
        .and_then(|info| dictionary(pdf, info))
        .and_then(|info| text_of(pdf, info.get(b"Title").ok()?));
    let of_info = of_info.filter(|title| !title.trim().is_empty());
    of_info.or_else(|| title_of_metadata(pdf)).unwrap_or_default()
}

fn title_of_metadata(pdf: &Document) -> Option<String> {
    let metadata = pdf.catalog().ok()?.get(b"Metadata").ok()?;
    let stream = pdf.dereference(metadata).ok()?.1.as_stream().ok()?;
    let xml = stream
        .get_plain_content()
        .unwrap_or_else(|_| stream.content.clone());
    Some(title_of_rdf(&String::from_utf8_lossy(&xml)))
}

fn language(pdf: &Document) -> String {
    let language = pdf.catalog().ok().and_then(|catalog| catalog.get(b"Lang").ok());
    language
        .and_then(|object| text_of(pdf, object))
        .unwrap_or_default()
}

fn dictionary<'a>(pdf: &'a Document, object: &'a Object) -> Option<&'a Dictionary> {
    pdf.dereference(object).ok()?.1.as_dict().ok()
}

fn text_of(pdf: &Document, object: &Object) -> Option<String> {
    let object = pdf.dereference(object).ok()?.1;
    pdf_extract::decode_text_string(object).ok()
}
