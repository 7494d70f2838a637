//! Generated files of every format.

use std::io::Write as _;

use extract::{DocumentFailure, DocumentFormat, DocumentReader};

use crate::{read, workers};

/// Returns a PDF of these objects, the first of which is the catalogue. `trailer` is added to the
/// trailer.
pub(crate) fn pdf_of(objects: &[Vec<u8>], trailer: &str) -> Vec<u8> {
    let mut out = b"%PDF-1.4\n".to_vec();
    let mut offsets = Vec::new();
    for (number, object) in (1..).zip(objects) {
        offsets.push(out.len());
        writeln!(out, "{number} 0 obj").unwrap();
        out.extend_from_slice(object);
        out.extend_from_slice(b"\nendobj\n");
    }
    let start = out.len();
    write!(out, "xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).unwrap();
    for offset in offsets {
        writeln!(out, "{offset:010} 00000 n ").unwrap();
    }
    write!(
        out,
        "trailer\n<</Size {}/Root 1 0 R{trailer}>>\nstartxref\n{start}\n%%EOF\n",
        objects.len() + 1
    )
    .unwrap();
    out
}

pub(crate) fn stream(dictionary: &str, content: &[u8]) -> Vec<u8> {
    let mut object = format!("<</Length {}{dictionary}>>\nstream\n", content.len()).into_bytes();
    object.extend_from_slice(content);
    object.extend_from_slice(b"\nendstream");
    object
}

/// Returns a page that shows `content`, with more resources, and more objects after the fifth.
pub(crate) fn pdf_showing(content: Vec<u8>, resources: &str, more: Vec<Vec<u8>>, trailer: &str) -> Vec<u8> {
    let page = format!(
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>{resources}>>>>"
    );
    let mut objects = vec![
        b"<</Type/Catalog/Pages 2 0 R/Lang(en-GB)>>".to_vec(),
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>".to_vec(),
        page.into_bytes(),
        content,
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_vec(),
    ];
    objects.extend(more);
    pdf_of(&objects, trailer)
}

pub(crate) fn small_pdf(text: &str) -> Vec<u8> {
    let content = stream(
        "",
        format!("BT /F 12 Tf 50 700 Td ({text}) Tj 0 -30 Td (second line) Tj ET").as_bytes(),
    );
    pdf_showing(content, "", vec![b"<</Title(A  title)>>".to_vec()], "/Info 6 0 R")
}

pub(crate) fn zip_of(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in parts {
        let options = zip::write::SimpleFileOptions::default();
        zip.start_file(*name, options).unwrap();
        zip.write_all(content.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

const CORE: (&str, &str) = (
    "docProps/core.xml",
    "<cp:coreProperties xmlns:dc='x'><dc:title>A &amp; B</dc:title><dc:language>de</dc:language></cp:coreProperties>",
);

#[track_caller]
fn check(format: DocumentFormat, bytes: &[u8], title: &str, language: &str, words: &str) {
    let found = read(format, bytes).unwrap();
    let found_words: Vec<&str> = found.text.split_whitespace().collect();
    assert_eq!(
        (
            found.title.as_str(),
            found.language.as_str(),
            found_words.join(" ").as_str()
        ),
        (title, language, words)
    );
    assert!(!found.truncated);
}

pub(crate) fn pdf() {
    check(
        DocumentFormat::Pdf,
        &small_pdf("Hello caf\\351"),
        "A  title",
        "en-GB",
        "Hello caf\u{e9} second line",
    );
}

pub(crate) fn word() {
    let document = "<w:document xmlns:w='w'><w:body><w:p><w:r><w:t>Hel</w:t></w:r><w:r><w:t>lo &lt;1&gt;</w:t></w:r></w:p>\
                    <w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:instrText>PAGE</w:instrText></w:r></w:p></w:body></w:document>";
    let notes = "<w:footnotes><w:p><w:t>note</w:t></w:p></w:footnotes>";
    let file = zip_of(&[
        ("word/document.xml", document),
        ("word/footnotes.xml", notes),
        CORE,
    ]);
    check(DocumentFormat::Docx, &file, "A & B", "de", "Hello <1> a b note");
}

pub(crate) fn slides() {
    let slide = |text: &str| format!("<p:sld><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:sld>");
    let (first, second, tenth) = (slide("one"), slide("two"), slide("ten"));
    let file = zip_of(&[
        ("ppt/slides/slide10.xml", &tenth),
        ("ppt/slides/slide2.xml", &second),
        ("ppt/slides/slide1.xml", &first),
        CORE,
    ]);
    check(DocumentFormat::Pptx, &file, "A & B", "de", "one two ten");
}

pub(crate) fn sheets() {
    let strings =
        "<sst><si><t>name</t><rPh><t>no</t></rPh></si><si><r><t>va</t></r><r><t>lue</t></r></si></sst>";
    let sheet =
        "<worksheet><row><c t='s'><v>0</v></c><c t='inlineStr'><is><t>inline</t></is></c></row></worksheet>";
    let file = zip_of(&[
        ("xl/sharedStrings.xml", strings),
        ("xl/worksheets/sheet1.xml", sheet),
    ]);
    check(DocumentFormat::Xlsx, &file, "", "", "name value inline");
}

pub(crate) fn open_document() {
    let content = "<office:text><text:h>Head</text:h><text:p>one<text:s/>two<text:line-break/>three\
                   <office:annotation><text:p>remark</text:p></office:annotation></text:p></office:text>";
    let meta = "<office:meta><dc:title>Open</dc:title><dc:language>fr-FR</dc:language></office:meta>";
    let file = zip_of(&[("content.xml", content), ("meta.xml", meta)]);
    check(DocumentFormat::Odf, &file, "Open", "fr-FR", "Head one two three");
}

pub(crate) fn book() {
    let container = "<container><rootfiles><rootfile full-path='OEBPS/content.opf'/></rootfiles></container>";
    let opf = "<package><metadata><dc:title>Book</dc:title><dc:language>en</dc:language></metadata><manifest>\
               <item id='b' href='two.xhtml'/><item id='a' href='text/one.xhtml'/></manifest>\
               <spine><itemref idref='a'/><itemref idref='b'/></spine></package>";
    let one = "<html><head><title>no</title></head><body><h1>One</h1><p>first&nbsp;part</p><script>x</script></body></html>";
    let two = "<html><body><p>second</p></body></html>";
    let file = zip_of(&[
        ("META-INF/container.xml", container),
        ("OEBPS/content.opf", opf),
        ("OEBPS/two.xhtml", two),
        ("OEBPS/text/one.xhtml", one),
    ]);
    check(DocumentFormat::Epub, &file, "Book", "en", "One first part second");
}

/// Returns an uncompressed picture (BMP) of 2 by 1 pixels.
pub(crate) fn small_image() -> Vec<u8> {
    let words = |numbers: &[u32]| -> Vec<u8> { numbers.iter().flat_map(|n| n.to_le_bytes()).collect() };
    let mut file = b"BM".to_vec();
    file.extend(words(&[62, 0, 54, 40, 2, 1]));
    file.extend([1, 0, 24, 0]);
    file.extend(words(&[0, 8, 2835, 2835, 0, 0]));
    // Black and white, and two bytes that fill up the row.
    file.extend([0, 0, 0, 255, 255, 255, 0, 0]);
    file
}

pub(crate) fn images() {
    let workers = workers(60);
    let facts = workers.describe(&small_image(), false).unwrap();
    assert_eq!((facts.width, facts.height), (2, 1));
    assert!(facts.hash.is_some());
    let thumbnail = workers.thumbnail(&small_image()).unwrap();
    assert_eq!(thumbnail.mime, "image/jpeg");
    let again = workers.describe(&thumbnail.data, false).unwrap();
    assert_eq!((again.width, again.height), (2, 1));
    for bytes in [&b""[..], b"BM", b"text", &small_image()[..30]] {
        let read = workers.thumbnail(bytes);
        assert!(matches!(read, Err(DocumentFailure::Unreadable(_))), "{read:?}");
    }
}

pub(crate) fn damaged() {
    let unreadable = |format, bytes: &[u8]| {
        let read = read(format, bytes);
        assert!(matches!(read, Err(DocumentFailure::Unreadable(_))), "{read:?}");
    };
    let word = zip_of(&[("word/document.xml", "<w:t>x</w:t>")]);
    unreadable(DocumentFormat::Pdf, b"%PDF-1.4 and no more");
    unreadable(DocumentFormat::Pdf, &word);
    unreadable(DocumentFormat::Docx, &word[..word.len() / 2]);
    unreadable(DocumentFormat::Pptx, &word);
    unreadable(DocumentFormat::Epub, &word);
    // The text before the damage is kept and marked as truncated.
    let cut = zip_of(&[("word/document.xml", "<w:p><w:t>begun</w:t></w:p><w:t <")]);
    let found = read(DocumentFormat::Docx, &cut).unwrap();
    assert!(found.truncated && found.text.contains("begun"), "{found:?}");
}
