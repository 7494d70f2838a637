//! The text of a page or document can be that of another capture of the same URL and millisecond. A
//! rule that hides either of the two hides the text from every question.

use std::path::Path;

use access::Groups;
use archive::question::{
    ConcordanceQuestion, Diff, LoadRequest, Page, PageText, Question, SearchQuestion, Suggest, Trends,
};
use archive::{Archive, DocumentScope, OpenSettings};
use inputs::LoadInput;

use crate::data::{self, load};

/// Occurs only in the text.
const WORD: &str = "vellichor";

/// A capture of the one page, with a declared digest.
fn record(mime: &str, digest: char, body: &str) -> String {
    let http = format!("HTTP/1.1 200 OK\r\nContent-Type: {mime}\r\n\r\n{body}");
    let digest: String = std::iter::repeat_n(digest, 32).collect();
    let digest = format!("WARC-Payload-Digest: sha1:{digest}\r\n");
    data::response("http://example.org/page", "2014-03-11T10:00:00Z", &digest, &http)
}

/// Two captures of one moment: the current one, which has no text, and another that has it.
struct Pair {
    name: &'static str,
    /// The current one, because its digest is greater, or because digests are equal and its record
    /// is later.
    current: String,
    current_mime: &'static str,
    of_text: String,
    text_mime: &'static str,
    digests: [char; 2],
}

fn pairs() -> [Pair; 3] {
    let html = |text: &str| format!("<html><head><title>River</title></head><body>{text}</body></html>");
    let (page, other) = ("text/html", "application/xhtml+xml");
    let of_pages = |name, digests: [char; 2]| Pair {
        name,
        current: record(page, digests[0], &html("")),
        current_mime: page,
        of_text: record(other, digests[1], &html(WORD)),
        text_mime: other,
        digests,
    };
    let rss = "<rss version=\"2.0\"><channel><title>River</title></channel></rss>";
    [
        of_pages("pages", ['Z', 'A']),
        of_pages("pages of one digest", ['Z', 'Z']),
        Pair {
            name: "documents",
            current: record("application/rss+xml", 'Z', rss),
            current_mime: "application/rss+xml",
            of_text: record("text/plain", 'A', WORD),
            text_mime: "text/plain",
            digests: ['Z', 'A'],
        },
    ]
}

/// Loads inputs in this order, each into its own collection.
fn loaded(dir: &Path, inputs: &[(&str, &str)]) -> Archive {
    let mut settings = OpenSettings::default();
    (settings.create, settings.own) = (true, true);
    settings.documents = Some(DocumentScope::Text);
    let archive = Archive::open(&dir.join("archive"), settings).unwrap();
    for (collection, records) in inputs {
        let name = format!("{collection}.warc");
        std::fs::write(dir.join(&name), records).unwrap();
        let request = LoadRequest {
            inputs: vec![LoadInput {
                path: inputs::path_text(&dir.join(&name)),
                name,
            }],
            collection: Some((*collection).to_owned()),
            ..LoadRequest::default()
        };
        load(&archive, &request);
    }
    archive
}

fn search(query: &str) -> SearchQuestion {
    SearchQuestion {
        query: query.into(),
        limit: 10,
        facets: true,
        all_versions: true,
        ..SearchQuestion::default()
    }
}

/// Questions that could reveal the text without naming its word.
fn questions() -> Vec<Question> {
    let url = || "http://example.org/page".to_owned();
    vec![
        search("river").into(),
        search("site:example.org").into(),
        ConcordanceQuestion {
            query: "river OR page".into(),
            limit: 10,
            per_page: 5,
            context: 8,
            ..ConcordanceQuestion::default()
        }
        .into(),
        Suggest {
            text: WORD[..4].into(),
            limit: 5,
        }
        .into(),
        Page { url: url() }.into(),
        PageText {
            url: url(),
            ..PageText::default()
        }
        .into(),
        Diff {
            url: url(),
            from: None,
            to: None,
        }
        .into(),
    ]
}

/// Returns how many find the word. If none does, checks that no answer contains it.
#[track_caller]
fn found(archive: &Archive, what: &str) -> u64 {
    let public = archive.seen_by(Groups::public());
    let total = public.ask(search(WORD)).unwrap().body.summary.total;
    let trends = Trends {
        queries: vec![WORD.into()],
    };
    let of_years = public.ask(trends).unwrap().body.rows[0].total;
    assert_eq!(total, of_years, "{what}");
    if total == 0 {
        for question in questions() {
            let answer = public.ask(question.clone());
            let text = answer.map_or_else(
                |error| error.to_string(),
                |answer| serde_json::to_string(&answer.body).unwrap(),
            );
            assert!(!text.contains(WORD), "{what}: {question:?}: {text}");
        }
    }
    total
}

fn deny(condition: &str) -> String {
    format!("[[rule]]\naccess = \"deny\"\n{condition}\n")
}

/// Asks with each rule, with the search index as loaded and rebuilt.
#[track_caller]
fn check(pair: &Pair, how: &str, inputs: &[(&str, &str)]) {
    let dir = tempfile::tempdir().unwrap();
    let archive = loaded(dir.path(), inputs);
    let digest = |letter: char| std::iter::repeat_n(letter, 32).collect::<String>();
    let mut rules = vec![
        (deny("mime = \"image/*\""), 1),
        (deny(&format!("mime = \"{}\"", pair.current_mime)), 0),
        (deny(&format!("mime = \"{}\"", pair.text_mime)), 0),
        (deny(&format!("digest = \"{}\"", digest(pair.digests[0]))), 0),
        (deny(&format!("digest = \"{}\"", digest(pair.digests[1]))), 0),
        // Default deny: allowing only one of the two is not enough.
        (
            format!(
                "default = \"deny\"\n[[rule]]\naccess = \"allow\"\nmime = \"{}\"\n",
                pair.current_mime
            ),
            0,
        ),
        (
            format!(
                "default = \"deny\"\n[[rule]]\naccess = \"allow\"\nmime = \"{}\"\n",
                pair.text_mime
            ),
            0,
        ),
    ];
    rules.extend(
        inputs
            .iter()
            .map(|(label, _)| (deny(&format!("collection = \"{label}\"")), 0)),
    );
    let ask_all = |archive: &Archive, when: &str| {
        for (rule, expected) in &rules {
            std::fs::write(archive.rights_path(), format!("strict = true\n{rule}")).unwrap();
            let what = format!("{}, {how}, {when}: {rule}", pair.name);
            assert_eq!(found(archive, &what), *expected, "{what}");
        }
    };
    ask_all(&archive, "loaded");
    // From the rows, as after a crash or with an index of an older format.
    drop(archive);
    std::fs::remove_dir_all(dir.path().join("archive").join("search")).unwrap();
    let mut settings = OpenSettings::default();
    settings.own = true;
    let archive = Archive::open(&dir.path().join("archive"), settings).unwrap();
    ask_all(&archive, "made anew");
}

#[test]
fn a_rule_that_hides_the_capture_of_a_text_hides_the_text() {
    for pair in pairs() {
        let (current, text) = (pair.current.as_str(), pair.of_text.as_str());
        let both = format!("{text}{current}");
        check(&pair, "in one input", &[("both", &both)]);
        // If digests are equal, the name of the input makes the last one current.
        check(&pair, "text first", &[("a", text), ("b", current)]);
        check(&pair, "text last", &[("b", current), ("a", text)]);
    }
}
