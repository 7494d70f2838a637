//! Plain text, feeds, PDF and office files: found by search like pages, but not counted as pages.

use std::io::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::fixture;
use crate::support::{VIEWS, Workspace, json_lines};
use crate::takedown::files_with;

/// A word that only the PDF contains.
const WORD: &str = "zq7xkvwpdfonlyj4m9";

fn response(url: &str, date: &str, content_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut block = format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n\r\n").into_bytes();
    block.extend_from_slice(payload);
    let headers = [
        ("WARC-Target-URI", url),
        ("WARC-Date", date),
        ("Content-Type", "application/http; msgtype=response"),
    ];
    fixture::record("response", &headers, &block)
}

/// Returns a PDF of these objects; the first one is its catalogue.
fn pdf_of(objects: &[String]) -> Vec<u8> {
    let mut out = String::from("%PDF-1.4\n");
    let mut offsets = Vec::new();
    for (number, object) in (1..).zip(objects) {
        offsets.push(out.len());
        out.push_str(&format!("{number} 0 obj\n{object}\nendobj\n"));
    }
    let start = out.len();
    out.push_str(&format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1));
    for offset in offsets {
        out.push_str(&format!("{offset:010} 00000 n \n"));
    }
    let size = objects.len() + 1;
    out.push_str(&format!(
        "trailer\n<</Size {size}/Root 1 0 R/Info {} 0 R>>\nstartxref\n{start}\n%%EOF\n",
        objects.len()
    ));
    out.into_bytes()
}

fn stream(dictionary: &str, content: &str) -> String {
    format!(
        "<</Length {}{dictionary}>>\nstream\n{content}\nendstream",
        content.len()
    )
}

/// Returns a PDF of one page with `content`, whose form `X` is `form`.
fn pdf(content: &str, form: &str) -> Vec<u8> {
    pdf_of(&[
        "<</Type/Catalog/Pages 2 0 R>>".into(),
        "<</Type/Pages/Kids[3 0 R]/Count 1>>".into(),
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>/XObject<</X 6 0 R>>>>>>".into(),
        stream("", content),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".into(),
        stream(
            "/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 6 0 R>>>>",
            form,
        ),
        "<</Title(Annual report)>>".into(),
    ])
}

fn good_pdf() -> Vec<u8> {
    pdf(
        &format!("BT /F 12 Tf 50 700 Td (The lighthouse {WORD} was lit) Tj ET"),
        "q Q",
    )
}

/// A PDF with a form that includes itself, endlessly.
fn crashing_pdf() -> Vec<u8> {
    pdf("/X Do", "/X Do")
}

fn docx() -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    zip.start_file("word/document.xml", zip::write::SimpleFileOptions::default())
        .expect("a part");
    zip.write_all(b"<w:document><w:p><w:t>The lighthouse in a letter</w:t></w:p></w:document>")
        .expect("its bytes");
    zip.finish().expect("a file").into_inner()
}

const DATE: &str = "2015-03-01T00:00:00Z";
const PDF_URL: &str = "http://files.example/report.pdf";
const DOCX: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";

/// Records of a crawl, in arbitrary order.
fn crawl() -> Vec<Vec<u8>> {
    let rss = "<rss><channel><title>Harbour news</title><item><title>New lighthouse</title>\
               <description>&lt;p&gt;It is &lt;b&gt;white&lt;/b&gt;&lt;/p&gt;</description></item></channel></rss>";
    vec![
        response(
            "http://files.example/",
            DATE,
            "text/html",
            b"<title>Files</title><a href=/report.pdf>the lamp report</a> <a href=/notes.txt>notes</a> lighthouse",
        ),
        response(PDF_URL, DATE, "application/pdf", &good_pdf()),
        response("http://files.example/broken.pdf", DATE, "application/pdf", &crashing_pdf()),
        response("http://files.example/notes.txt", DATE, "text/plain", b"An older lighthouse"),
        response(
            "http://files.example/notes.txt",
            "2016-03-01T00:00:00Z",
            "text/plain",
            b"A newer lighthouse",
        ),
        response("http://files.example/news.xml", DATE, "text/xml", rss.as_bytes()),
        response("http://files.example/letter", DATE, DOCX, &docx()),
        response("http://files.example/style.css", DATE, "text/css", b"lighthouse { }"),
    ]
}

fn loaded(arguments: &[&str]) -> Workspace {
    let place = Workspace::new();
    place.write_old("crawl.warc", &crawl().concat());
    let arguments: Vec<&str> = ["load", "crawl.warc"].iter().chain(arguments).copied().collect();
    let run = place.run(&arguments);
    assert_eq!(run.code, Some(0), "{run:?}");
    place
}

/// Returns the URLs that a query finds, sorted.
fn found(place: &Workspace, arguments: &[&str]) -> Vec<String> {
    let arguments: Vec<&str> = ["search"].iter().chain(arguments).copied().collect();
    let body = place.json(&arguments);
    let hits = body["hits"].as_array().expect("hits").iter();
    let mut urls: Vec<String> = hits
        .map(|hit| {
            hit["url"]
                .as_str()
                .unwrap_or_default()
                .replace("http://files.example/", "")
        })
        .collect();
    urls.sort();
    urls
}

#[test]
fn documents_are_found_by_their_words_and_types() {
    let place = loaded(&[]);
    let find = |query: &str| found(&place, &[query]);
    assert_eq!(
        find("lighthouse"),
        ["", "letter", "news.xml", "notes.txt", "report.pdf"]
    );
    assert_eq!(find(&format!("{WORD} type:pdf")), ["report.pdf"]);
    assert_eq!(find("title:\"annual report\""), ["report.pdf"]);
    // Words in the text of links to it.
    assert_eq!(find("lamp type:pdf"), ["report.pdf"]);
    assert_eq!(find("type:pdf"), ["broken.pdf", "report.pdf"]);
    assert_eq!(find("lighthouse type:docx"), ["letter"]);
    assert_eq!(find("title:harbour white"), ["news.xml"]);
    assert_eq!(find("newer type:text/plain"), ["notes.txt"]);
    assert_eq!(find("older"), Vec::<String>::new());
    assert_eq!(find("older at:2015-06"), ["notes.txt"]);

    let shown = place.good(&["search", "lighthouse type:pdf"]);
    assert!(
        shown.contains("Annual report") && shown.contains("application/pdf") && shown.contains("was lit"),
        "{shown}"
    );
    let page = place.good(&["page", PDF_URL]);
    for part in [
        "Annual report",
        "document \u{b7} status 200 \u{b7} application/pdf",
        "was lit",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    let body = place.json(&["page", "http://files.example/notes.txt"]);
    assert_eq!(
        (&body["is_page"], &body["is_document"]),
        (&false.into(), &true.into())
    );
    assert_eq!(body["past_versions"].as_array().map(Vec::len), Some(1));
    let diff = place.good(&["diff", "http://files.example/notes.txt"]);
    assert!(diff.contains("newer") && diff.contains("older"), "{diff}");

    let facets = place.json(&["search", "lighthouse", "--facets"])["facets"].to_string();
    for kind in ["application/pdf", "text/plain", "text/xml", DOCX] {
        assert!(facets.contains(kind), "{kind} in {facets}");
    }
    let status = place.good(&["status"]);
    assert!(status.contains("documents all"), "{status}");
}

#[test]
fn a_document_that_ends_its_reader_costs_its_text_alone() {
    let place = Workspace::new();
    place.write_old("crawl.warc", &crawl().concat());
    let load = place.run(&["load", "crawl.warc", "--json"]);
    // A long load also prints progress lines; the last line is the result.
    let body = json_lines(&load.stdout).pop().expect("its end");
    let number = |name: &str| body[name].as_u64();
    assert_eq!(
        (number("captures"), number("documents"), number("pages")),
        (Some(8), Some(6), Some(1))
    );
    assert_eq!(
        body["documents_unread"],
        serde_json::json!([{ "reason": "document-crash", "documents": 1 }]),
        "{body}"
    );
    assert_eq!(body["defects"][0]["reason"], "document-crash");
    assert_eq!(
        place.json(&["page", "http://files.example/broken.pdf"])["mime"],
        "application/pdf"
    );
    // The result is reproducible, so verification finds no difference.
    let verify = place.run(&["verify"]);
    assert_eq!(verify.code, Some(0), "{verify:?}");
}

#[test]
fn views_are_the_same_with_and_without_documents() {
    let (with, without) = (loaded(&[]), loaded(&["--documents", "none"]));
    let text = loaded(&["--documents", "text"]);
    for view in VIEWS {
        let expected = without.good(&["dump", view]);
        assert_eq!(with.good(&["dump", view]), expected, "{view}");
        assert_eq!(text.good(&["dump", view]), expected, "{view}");
    }
    assert_eq!(found(&without, &["lighthouse"]), [""]);
    assert_eq!(found(&text, &["lighthouse"]), ["", "news.xml", "notes.txt"]);
    for place in [&with, &without, &text] {
        let verify = place.run(&["verify"]);
        assert_eq!(verify.code, Some(0), "{verify:?}");
    }
    // The setting of an archive is fixed.
    let other = without.run(&["load", "crawl.warc", "--documents", "all"]);
    assert!(
        other.stderr.contains("--documents none, which cannot change"),
        "{other:?}"
    );
}

#[test]
fn order_and_repetition_change_nothing() {
    let answers = |place: &Workspace| -> Vec<String> {
        let queries = [
            "lighthouse",
            "lighthouse at:2015-06",
            "type:pdf",
            "title:report",
            "lamp",
        ];
        queries
            .iter()
            .map(|query| {
                let hits = &place.json(&["search", query])["hits"];
                let shown = hits.as_array().expect("hits").iter();
                // Compare everything except the name of the input.
                shown
                    .map(|hit| {
                        format!(
                            "{} {} {} {}\n",
                            hit["url"], hit["title"], hit["score"], hit["snippet"]
                        )
                    })
                    .collect()
            })
            .collect()
    };
    let expected = answers(&loaded(&[]));
    let place = Workspace::new();
    for (number, record) in crawl().into_iter().enumerate().rev() {
        place.write_old(&format!("{number}.warc"), &record);
        let run = place.run(&["load", &format!("{number}.warc"), "--threads", "1"]);
        assert_eq!(run.code, Some(0), "{run:?}");
    }
    place.run(&["load", "0.warc", "1.warc", "4.warc"]);
    assert_eq!(answers(&place), expected);
    let search = place.run(&["rebuild", "search"]);
    assert_eq!(search.code, Some(0), "{search:?}");
    assert_eq!(answers(&place), expected);
}

#[test]
fn a_hidden_document_is_not_found() {
    let place = loaded(&[]);
    place.good(&[
        "rights",
        "add",
        "--deny",
        "--mime",
        "application/pdf",
        "--except",
        "staff",
    ]);
    let as_public = |query: &str| found(&place, &[query, "--as", ""]);
    assert_eq!(as_public("lighthouse"), ["", "letter", "news.xml", "notes.txt"]);
    assert_eq!(as_public(WORD), Vec::<String>::new());
    assert_eq!(found(&place, &[WORD, "--as", "staff"]), ["report.pdf"]);
    let page = place.run(&["page", PDF_URL, "--as", ""]);
    assert!(
        !page.stdout.contains(WORD) && !page.stdout.contains("Annual"),
        "{page:?}"
    );
    let facets = place
        .json(&["search", "lighthouse", "--facets", "--as", ""])
        .to_string();
    assert!(!facets.contains("application/pdf"), "{facets}");
}

#[test]
fn a_forgotten_document_leaves_no_trace_and_comes_back() {
    let place = loaded(&[]);
    place.good(&["forget", "--url", PDF_URL]);
    assert_eq!(found(&place, &["type:pdf"]), ["broken.pdf"]);
    assert_eq!(found(&place, &[WORD]), Vec::<String>::new());
    place.good(&["forget", "--purge"]);
    assert_eq!(
        files_with(&place.path("weft-archive"), WORD),
        Vec::<std::path::PathBuf>::new()
    );
    let verify = place.run(&["verify"]);
    assert_eq!(verify.code, Some(0), "{verify:?}");
    place.good(&["forget", "--undo", "1"]);
    let again = place.run(&["load", "crawl.warc"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!(found(&place, &[WORD]), ["report.pdf"]);
}

/// Returns the child processes of `parent`.
#[cfg(target_os = "linux")]
fn processes_of(parent: u32) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").expect("/proc").filter_map(Result::ok);
    all.filter_map(|process| {
        let id = process.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(process.path().join("stat")).ok()?;
        let mut fields = stat.rsplit_once(") ")?.1.split(' ');
        (fields.nth(1)?.parse() == Ok(parent)).then_some(id)
    })
    .collect()
}

/// A load that is killed leaves no worker behind, even a busy one.
#[cfg(target_os = "linux")]
#[test]
fn workers_end_with_a_load_that_is_killed() {
    let place = Workspace::new();
    // Each form includes the next one ten times, so its reader works until the time limit.
    let mut objects: Vec<String> = vec![
        "<</Type/Catalog/Pages 2 0 R>>".into(),
        "<</Type/Pages/Kids[3 0 R]/Count 1>>".into(),
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<</XObject<</X 5 0 R>>>>>>"
            .into(),
        stream("", "/X Do"),
    ];
    for next in 6..30 {
        let resources =
            format!("/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X {next} 0 R>>>>");
        objects.push(stream(&resources, &"/X Do ".repeat(10)));
    }
    objects.push(stream("/Type/XObject/Subtype/Form/BBox[0 0 9 9]", "q Q"));
    place.write_old(
        "slow.warc",
        &response(
            "http://slow.example/x.pdf",
            DATE,
            "application/pdf",
            &pdf_of(&objects),
        ),
    );
    let mut load = place
        .command(&["load", "slow.warc"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let until = |what: &str, holds: &dyn Fn() -> bool| {
        let begun = Instant::now();
        while !holds() {
            assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    until("a worker is started", &|| !processes_of(load.id()).is_empty());
    let worker = processes_of(load.id())[0];
    load.kill().expect("it runs");
    load.wait().expect("it ends");
    let path = format!("/proc/{worker}/stat");
    until("the worker ends", &|| {
        std::fs::read_to_string(&path).map_or(true, |stat| stat.contains(") Z "))
    });
}
