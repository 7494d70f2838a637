//! Documents that crash, hang or exhaust their reader.

use std::io::Write as _;
use std::time::{Duration, Instant};

use documents::{Limits, Workers};
use extract::{DocumentFailure, DocumentFormat, DocumentReader};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::files::{pdf_showing, small_pdf, stream, zip_of};
use crate::workers;

/// A page whose form shows itself: the parser recurses until its stack overflows.
pub(crate) fn endless() -> Vec<u8> {
    let form = stream(
        "/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 6 0 R>>>>",
        b"/X Do",
    );
    pdf_showing(stream("", b"/X Do"), "/XObject<</X 6 0 R>>", vec![form], "")
}

/// Forms that show the next one ten times each: to show the last, the parser would work for years.
pub(crate) fn exponential() -> Vec<u8> {
    let forms = (7..30).map(|next| {
        let resources =
            format!("/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X {next} 0 R>>>>");
        stream(&resources, "/X Do ".repeat(10).as_bytes())
    });
    let last = stream("/Type/XObject/Subtype/Form/BBox[0 0 9 9]", b"q Q");
    let more = forms.chain([last]).collect();
    pdf_showing(stream("", b"/X Do"), "/XObject<</X 6 0 R>>", more, "")
}

/// A page of two GiB of blanks, compressed to two MiB.
fn bomb() -> Vec<u8> {
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    let blanks = vec![b' '; 1 << 20];
    for _ in 0..2048 {
        packed.write_all(&blanks).unwrap();
    }
    pdf_showing(
        stream("/Filter/FlateDecode", &packed.finish().unwrap()),
        "",
        Vec::new(),
        "",
    )
}

/// Checks that the workers read a harmless document.
#[track_caller]
fn check_usable(workers: &Workers) {
    let read = workers.read(DocumentFormat::Pdf, &small_pdf("harmless"));
    assert!(
        read.as_ref().is_ok_and(|found| found.text.contains("harmless")),
        "{read:?}"
    );
}

pub(crate) fn a_crash_costs_one_document() {
    let workers = workers(30);
    check_usable(&workers);
    // The second time, the document crashes a fresh worker.
    for _ in 0..2 {
        let read = workers.read(DocumentFormat::Pdf, &endless());
        assert!(matches!(read, Err(DocumentFailure::Crashed(_))), "{read:?}");
        check_usable(&workers);
    }
}

pub(crate) fn a_document_that_hangs_is_ended() {
    let workers = workers(1);
    check_usable(&workers);
    let begun = Instant::now();
    let read = workers.read(DocumentFormat::Pdf, &exponential());
    assert_eq!(read, Err(DocumentFailure::Time { seconds: 1 }));
    assert!(begun.elapsed() < Duration::from_secs(10));
    check_usable(&workers);
}

pub(crate) fn memory_is_limited() {
    let limits = Limits {
        seconds: 60,
        memory_mebibytes: 512,
    };
    let workers = Workers::new(crate::this_program(), limits);
    check_usable(&workers);
    let read = workers.read(DocumentFormat::Pdf, &bomb());
    assert_eq!(read, Err(DocumentFailure::Memory { mebibytes: 512 }));
    check_usable(&workers);
}

pub(crate) fn bombs_are_not_unpacked() {
    let blanks = " ".repeat(200 << 20);
    let file = zip_of(&[("word/document.xml", &blanks)]);
    let read = workers(60).read(DocumentFormat::Docx, &file);
    assert!(
        matches!(&read, Err(DocumentFailure::Unreadable(why)) if why.contains("unpacks to more")),
        "{read:?}"
    );
}

pub(crate) fn any_bytes_leave_the_workers_usable() {
    let workers = workers(20);
    let formats = [
        DocumentFormat::Pdf,
        DocumentFormat::Docx,
        DocumentFormat::Pptx,
        DocumentFormat::Xlsx,
        DocumentFormat::Odf,
        DocumentFormat::Epub,
    ];
    let (pdf, word) = (
        small_pdf("words of a page"),
        zip_of(&[
            ("word/document.xml", "<w:p><w:t>words</w:t></w:p>"),
            ("content.xml", "<p>words</p>"),
        ]),
    );
    // Real files with some changed bytes reach further than noise.
    let bytes = prop_oneof![
        1 => prop::collection::vec(any::<u8>(), 0..2000),
        4 => (any::<bool>(), prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..20), any::<prop::sample::Index>()).prop_map(
            move |(is_pdf, changes, end)| {
                let mut bytes = if is_pdf { pdf.clone() } else { word.clone() };
                for (place, byte) in changes {
                    let place = place.index(bytes.len());
                    bytes[place] = byte;
                }
                let end = end.index(2 * bytes.len());
                bytes.truncate(end.max(8));
                bytes
            }
        ),
    ];
    let cases = (prop::sample::select(formats.to_vec()), bytes);
    let mut runner = TestRunner::new(Config {
        cases: 200,
        failure_persistence: None,
        ..Config::default()
    });
    runner
        .run(&cases, |(format, bytes)| {
            let once = workers.read(format, &bytes);
            // The result depends only on the bytes, even if the worker has read others.
            if !once.as_ref().is_err_and(DocumentFailure::is_temporary) {
                prop_assert_eq!(&once, &workers.read(format, &bytes));
            }
            Ok(())
        })
        .unwrap();
    check_usable(&workers);
}

pub(crate) fn no_program_is_said_so() {
    let workers = Workers::new("/nowhere/weft".into(), Limits::default());
    let read = workers.read(DocumentFormat::Pdf, &small_pdf("x"));
    assert!(matches!(read, Err(DocumentFailure::NoReader(_))), "{read:?}");
    // A program that is no worker ends, or violates the protocol.
    let workers = Workers::new("/bin/echo".into(), Limits::default());
    let read = workers.read(DocumentFormat::Pdf, &small_pdf("x"));
    assert!(matches!(read, Err(DocumentFailure::Crashed(_))), "{read:?}");
}
