//! Hidden captures appear in no answer. Two archives that differ only in hidden captures get the
//! same questions. A client from which these are hidden must get the same bytes from both, and from
//! one with rules the same as the owner from the other.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use access::Groups;
use archive::question::{
    AccessScope, Body, CdxBlocksQuestion, CdxQuestion, Collections, ConcordanceQuestion, Diff, Domain,
    DomainOrder, Domains, Events, ImagesQuestion, Inlinks, LinkCounts, LinkFilter, LinkGrouping, LoadRequest,
    MatchType, Outlinks, Page, PageText, Question, Record, SearchNote, SearchOrder, SearchQuestion, Suggest,
    ThumbnailQuestion, Top, Trends,
};
use archive::{Archive, AskError, DocumentScope, ErrorCode, OpenSettings};
use cdx::{Collapse, Field, Order};
use inputs::LoadInput;
use sha1::{Digest as _, Sha1};

use crate::data::load;
use crate::images::Reader;

const SEED: u64 = 20_260_113;
/// Searches under each set of rules, which gets searches of its own. `WEFT_TEST_SEED` chooses
/// others.
const QUERIES: usize = 250;

/// Parts of one answer, far more than any has.
const PARTS_MAX: usize = 10_000;

/// Pseudo-random numbers from a seed (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end as u64) as usize
    }

    fn of<'t, T>(&mut self, all: &'t [T]) -> &'t T {
        &all[self.below(all.len())]
    }
}

const WORDS: [&str; 16] = [
    "archive", "river", "stone", "harbour", "letters", "museum", "winter", "engine", "paper", "garden",
    "bridge", "morning", "library", "copper", "valley", "signal",
];
/// Words that occur only in hidden pages.
const SECRETS: [&str; 4] = ["zyzzyva", "quokka", "xylograph", "vellichor"];

const OPEN_HOSTS: [&str; 5] = [
    "example.com",
    "www.museum.org",
    "news.museum.org",
    "other.net",
    "mixed.com",
];

/// Images that pages show: visible ones, hidden ones and one that was never captured.
const SHOWN_IMAGES: [&str; 5] = [
    "/i0.png",
    "/i1.png",
    "/i9.png",
    "http://hidden.org/i0.gif",
    "http://mixed.com/secret/i1.gif",
];

fn open_urls() -> Vec<String> {
    let pages = |host: &str| -> Vec<String> { (0..8).map(|n| format!("http://{host}/p{n}")).collect() };
    let texts = (0..4).map(|n| format!("http://other.net/d{n}.txt"));
    let images = ["example.com", "mixed.com"]
        .iter()
        .flat_map(|host| (0..3).map(move |n| format!("http://{host}/i{n}.png")));
    OPEN_HOSTS
        .iter()
        .flat_map(|host| pages(host))
        .chain(texts)
        .chain(images)
        .collect()
}

fn hidden_urls() -> Vec<String> {
    let of_host = (0..6).map(|n| format!("http://hidden.org/h{n}"));
    let feeds = (0..4).map(|n| format!("http://hidden.org/f{n}.rss"));
    let images = ["hidden.org", "mixed.com/secret"]
        .iter()
        .flat_map(|place| (0..3).map(move |n| format!("http://{place}/i{n}.gif")));
    of_host
        .chain(feeds)
        .chain((0..6).map(|n| format!("http://mixed.com/secret/s{n}")))
        .chain(images)
        .collect()
}

/// A capture to write.
struct PlantedPage {
    url: String,
    date: String,
    mime: &'static str,
    body: String,
    is_revisit: bool,
}

impl PlantedPage {
    fn digest(&self) -> String {
        data_encoding::BASE32.encode(&Sha1::digest(self.body.as_bytes()))
    }

    fn record(&self) -> Vec<u8> {
        let http = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {}\r\nContent-Length: {}\r\n\r\n{}",
            self.mime,
            self.body.len(),
            if self.is_revisit { "" } else { &self.body }
        );
        let (kind, extra) = if self.is_revisit {
            (
                "revisit",
                "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest\r\n",
            )
        } else {
            ("response", "")
        };
        format!(
            "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000000>\r\n\
             WARC-Date: {}\r\nWARC-Target-URI: {}\r\nWARC-Payload-Digest: sha1:{}\r\n{extra}\
             Content-Type: application/http; msgtype=response\r\nContent-Length: {}\r\n\r\n{http}\r\n\r\n",
            self.date,
            self.url,
            self.digest(),
            http.len(),
        )
        .into_bytes()
    }
}

fn page(numbers: &mut Numbers, words: &[&str], targets: &[String], mark: &str) -> String {
    let mut body = format!(
        "<html><head><title>{} {}</title></head><body>",
        numbers.of(words),
        numbers.of(words)
    );
    for _ in 0..5 + numbers.below(30) {
        let _ = write!(body, "{} ", numbers.of(words));
    }
    for _ in 0..numbers.below(8) {
        let _ = write!(
            body,
            "<a href=\"{}\">{}</a> ",
            numbers.of(targets),
            numbers.of(words)
        );
    }
    for _ in 0..numbers.below(3) {
        let _ = write!(
            body,
            "<figure><img src=\"{}\" alt=\"{} {}\"><figcaption>{}</figcaption></figure> ",
            numbers.of(&SHOWN_IMAGES),
            numbers.of(words),
            numbers.of(words),
            numbers.of(words)
        );
    }
    // Each page has its own content, so that a rule by digest hides only the intended one.
    let _ = write!(body, "</body><!-- {mark} --></html>");
    body
}

/// Returns the perceptual hash of an image. All look alike: three bits are set.
fn picture(mark: &str) -> String {
    let hash = mark.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let bits = [hash % 21, 21 + (hash >> 8) % 21, 42 + (hash >> 16) % 22];
    format!(
        "{:016x}",
        bits.iter().fold(0_u64, |all, bit| all | (1_u64 << *bit))
    )
}

/// Returns the content of a URL and its type, according to its name: plain text, a feed, an image,
/// or a page of type `page_type`.
fn body_of(
    numbers: &mut Numbers,
    words: &[&str],
    targets: &[String],
    url: &str,
    (page_type, mark): (&'static str, &str),
) -> (&'static str, String) {
    let text: String = (0..20).map(|_| format!("{} ", numbers.of(words))).collect();
    if url.ends_with(".txt") {
        ("text/plain", format!("{text}{mark}"))
    } else if url.ends_with(".png") {
        ("image/png", picture(mark))
    } else if url.ends_with(".gif") {
        ("image/gif", picture(mark))
    } else if url.ends_with(".rss") {
        let (title, item) = (numbers.of(words), numbers.of(words));
        let rss = format!(
            "<rss><channel><title>{title}</title><item><title>{item}</title><description>{text}{mark}</description></item></channel></rss>"
        );
        ("application/rss+xml", rss)
    } else {
        (page_type, page(numbers, words, targets, mark))
    }
}

/// The hidden captures have every property by which any of the rules hides.
fn captures() -> (Vec<PlantedPage>, Vec<PlantedPage>) {
    let mut numbers = Numbers(SEED);
    let (open, hidden) = (open_urls(), hidden_urls());
    let targets: Vec<String> = open
        .iter()
        .chain(&hidden)
        .cloned()
        .chain(["http://never.net/captured".to_owned()])
        .collect();
    let all_words: Vec<&str> = WORDS.iter().chain(&SECRETS).copied().collect();
    let mut seen = Vec::new();
    for (index, url) in open.iter().enumerate() {
        for version in 0..1 + numbers.below(3) {
            let date = format!("201{version}-0{}-11T10:00:{:02}Z", 1 + numbers.below(9), index);
            let mark = format!("{url} {version}");
            let (mime, body) = body_of(&mut numbers, &WORDS, &targets, url, ("text/html", &mark));
            seen.push(PlantedPage {
                url: url.clone(),
                date,
                mime,
                body,
                is_revisit: false,
            });
        }
    }
    let mut unseen = Vec::new();
    for (index, url) in hidden.iter().enumerate() {
        let of_page = ("application/xhtml+xml", url.as_str());
        let (mime, body) = body_of(&mut numbers, &all_words, &targets, url, of_page);
        unseen.push(PlantedPage {
            url: url.clone(),
            date: format!("2020-03-11T10:00:{index:02}Z"),
            mime,
            body,
            is_revisit: false,
        });
    }
    (seen, unseen)
}

/// Captures of visible pages that rules by key do not hide: older versions, and revisits that show
/// a page was there later.
fn hidden_captures_of_open_pages() -> Vec<PlantedPage> {
    let mut numbers = Numbers(SEED + 1);
    let mut unseen = Vec::new();
    for (index, url) in open_urls().iter().enumerate().step_by(3) {
        let body = page(&mut numbers, &SECRETS, &hidden_urls(), &format!("{url} old"));
        unseen.push(PlantedPage {
            url: url.clone(),
            date: format!("2004-03-11T10:00:{index:02}Z"),
            mime: "application/xhtml+xml",
            body: body.clone(),
            is_revisit: false,
        });
        unseen.push(PlantedPage {
            url: url.clone(),
            date: format!("2021-03-11T10:00:{index:02}Z"),
            mime: "application/xhtml+xml",
            body,
            is_revisit: true,
        });
    }
    unseen
}

fn write_to(path: &Path, captures: &[PlantedPage]) -> LoadInput {
    let info = "WARC/1.0\r\nWARC-Type: warcinfo\r\nWARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000001>\r\n\
                WARC-Date: 2010-01-01T00:00:00Z\r\nContent-Length: 0\r\n\r\n\r\n\r\n";
    let mut bytes = info.as_bytes().to_vec();
    bytes.extend(captures.iter().flat_map(PlantedPage::record));
    std::fs::write(path, bytes).unwrap();
    LoadInput {
        name: path.file_name().unwrap().to_str().unwrap().to_owned(),
        path: inputs::path_text(path),
    }
}

/// Makes an archive of the visible captures, and of `hidden` in a separate collection.
fn archive(
    root: &Path,
    name: &str,
    open: &LoadInput,
    hidden: &[PlantedPage],
    vectors: Option<PathBuf>,
) -> Archive {
    let mut settings = OpenSettings::default();
    (settings.create, settings.own) = (true, true);
    settings.documents = Some(DocumentScope::Exif);
    settings.document_reader = Some(Arc::new(Reader));
    settings.vectors = vectors;
    let archive = Archive::open(&root.join(name), settings).unwrap();
    let hidden = write_to(&root.join(format!("{name}-hidden.warc")), hidden);
    for (input, collection) in [(open.clone(), None), (hidden, Some("closed".to_owned()))] {
        load(
            &archive,
            &LoadRequest {
                inputs: vec![input],
                collection,
                ..LoadRequest::default()
            },
        );
    }
    archive
}

/// Writes a table of word vectors, in which words near each other in the lists are alike.
fn write_vectors(root: &Path) -> PathBuf {
    let words: Vec<&str> = WORDS.iter().chain(&SECRETS).copied().collect();
    let (rows, bytes) = (words.len() + 1, 2 * (words.len() + 1));
    let header =
        format!(r#"{{"embeddings":{{"dtype":"I8","shape":[{rows},2],"data_offsets":[0,{bytes}]}}}}"#);
    let mut table = (header.len() as u64).to_le_bytes().to_vec();
    table.extend(header.as_bytes());
    table.extend((0..rows).flat_map(|row| [120 - 6 * row as u8, 6 * row as u8]));
    let path = root.join("model.safetensors");
    std::fs::write(&path, table).unwrap();
    let mut vocabulary = serde_json::Map::new();
    for (number, word) in ["[UNK]"].into_iter().chain(words).enumerate() {
        vocabulary.insert(word.to_owned(), number.into());
    }
    let tokenizer = serde_json::json!({
        "pre_tokenizer": { "type": "WhitespaceSplit" },
        "model": { "type": "WordPiece", "vocab": vocabulary }
    });
    std::fs::write(root.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    path
}

/// Returns an answer as a client gets it, without its duration.
fn answer(archive: &Archive, question: &Question) -> Result<(u64, Body), AskError> {
    let mut answer = archive.ask(question.clone())?;
    match &mut answer.body {
        Body::Search(body) => body.summary.took_ms = 0.0,
        Body::Concordance(body) => body.took_ms = 0.0,
        Body::Images(body) => body.summary.took_ms = 0.0,
        _ => {}
    }
    Ok((answer.epoch, answer.body))
}

/// Returns the cursor of the next part of an answer.
fn next_of(body: &Body) -> Option<String> {
    match body {
        Body::Links(body) => body.next.clone(),
        Body::Domains(body) => body.next.clone(),
        Body::Top(body) => body.next.clone(),
        Body::Cdx(body) => body.next.clone(),
        Body::CdxBlocks(body) => body.next.clone(),
        Body::Search(body) => body.next.clone(),
        Body::Concordance(body) => body.next.clone(),
        Body::Images(body) => body.next.clone(),
        _ => None,
    }
}

fn go_on(question: &mut Question, next: String) {
    let after = match question {
        Question::Inlinks(question) => &mut question.after,
        Question::Outlinks(question) => &mut question.after,
        Question::Domains(question) => &mut question.after,
        Question::Top(question) => &mut question.after,
        Question::Cdx(question) => &mut question.after,
        Question::CdxBlocks(question) => &mut question.after,
        Question::Search(question) => &mut question.after,
        Question::Concordance(question) => &mut question.after,
        Question::Images(question) => &mut question.after,
        Question::LinkCounts(question) => &mut question.links.after,
        _ => return,
    };
    *after = Some(next);
}

fn link_selections() -> [(MatchType, LinkFilter); 3] {
    let anchor = LinkFilter {
        anchor: Some("e".into()),
        ..LinkFilter::default()
    };
    let external = LinkFilter {
        external: true,
        from: Some("2004".into()),
        ..LinkFilter::default()
    };
    [
        (MatchType::Exact, anchor),
        (MatchType::Prefix, external),
        (MatchType::Domain, LinkFilter::default()),
    ]
}

fn questions_about_urls() -> Vec<Question> {
    let mut questions = Vec::new();
    let urls = open_urls().into_iter().chain(hidden_urls());
    for url in urls.chain(["http://never.net/captured".into(), "http://nowhere.net/".into()]) {
        questions.push(Page { url: url.clone() }.into());
        // In 2004, hidden versions have links that the visible ones do not have.
        for (at, ever) in [
            (None, false),
            (None, true),
            (Some("2004"), false),
            (Some("2010"), false),
            (Some("2011"), false),
        ] {
            questions.push(
                Inlinks {
                    url: url.clone(),
                    after: None,
                    limit: 2,
                    at: at.map(str::to_owned),
                    ever,
                    ..Inlinks::default()
                }
                .into(),
            );
        }
        for (match_type, filter) in link_selections() {
            let links = Inlinks {
                url: url.clone(),
                match_type,
                filter,
                limit: 2,
                ..Inlinks::default()
            };
            questions.push(links.clone().into());
            let by = LinkGrouping::Page;
            let first_links = 2;
            let counts = LinkCounts {
                links,
                by,
                first_links,
            };
            questions.push(counts.into());
        }
        questions.push(
            Outlinks {
                url: url.clone(),
                after: None,
                limit: 2,
            }
            .into(),
        );
        for from in [None, Some("2004"), Some("2012")] {
            questions.push(
                Diff {
                    url: url.clone(),
                    from: from.map(str::to_owned),
                    to: None,
                }
                .into(),
            );
        }
        for at in [None, Some("2004"), Some("2012")] {
            questions.push(
                PageText {
                    url: url.clone(),
                    at: at.map(str::to_owned),
                    ..PageText::default()
                }
                .into(),
            );
        }
        for at in [None, Some("2004"), Some("20200311"), Some("2012")] {
            questions.push(
                Record {
                    url: url.clone(),
                    at: at.map(str::to_owned),
                    capture: None,
                    fuzzy: false,
                    with_content: false,
                }
                .into(),
            );
        }
        for at in [None, Some("2012"), Some("2020")] {
            let at = at.map(str::to_owned);
            questions.push(ThumbnailQuestion { url: url.clone(), at }.into());
        }
        for order in [Order::Forward, Order::Reverse, Order::Closest("2011".into())] {
            questions.push(
                CdxQuestion {
                    url: url.clone(),
                    limit: 1,
                    order,
                    ..Default::default()
                }
                .into(),
            );
        }
    }
    questions
}

fn questions_about_ranges() -> Vec<Question> {
    let mut questions = Vec::new();
    for url in [
        "http://mixed.com/",
        "http://hidden.org/",
        "http://museum.org/",
        "http://mixed.com/secret/",
    ] {
        for match_type in [MatchType::Prefix, MatchType::Host, MatchType::Domain] {
            for order in [Order::Forward, Order::Reverse] {
                let all = CdxQuestion {
                    url: url.into(),
                    match_type,
                    limit: 3,
                    order,
                    ..Default::default()
                };
                questions.push(all.clone().into());
                let collapse = vec![Collapse {
                    field: Field::UrlKey,
                    chars: None,
                }];
                questions.push(
                    CdxQuestion {
                        collapse,
                        from: Some("2005".into()),
                        ..all
                    }
                    .into(),
                );
            }
            questions.push(
                CdxBlocksQuestion {
                    url: url.into(),
                    match_type,
                    rows: 4,
                    after: None,
                }
                .into(),
            );
        }
    }
    for order in [DomainOrder::Name, DomainOrder::Pages, DomainOrder::Inlinks] {
        questions.push(
            Domains {
                order,
                after: None,
                limit: 2,
            }
            .into(),
        );
    }
    questions.push(
        Top {
            domain: None,
            after: None,
            limit: 4,
        }
        .into(),
    );
    for domain in [
        "example.com",
        "museum.org",
        "other.net",
        "mixed.com",
        "hidden.org",
        "never.net",
        "nowhere.net",
    ] {
        questions.push(Domain { name: domain.into() }.into());
        questions.push(
            Top {
                domain: Some(domain.into()),
                after: None,
                limit: 3,
            }
            .into(),
        );
    }
    questions
}

fn searches(name: &str) -> Vec<Question> {
    let given = std::env::var("WEFT_TEST_SEED");
    let seed: u64 = given.map_or(SEED, |seed| seed.parse().expect("WEFT_TEST_SEED is a number"));
    println!("{name}: WEFT_TEST_SEED={seed}");
    let of_name = name.bytes().fold(seed, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut numbers = Numbers(of_name);
    let words: Vec<&str> = WORDS.iter().chain(&SECRETS).copied().collect();
    let mut query = || {
        let mut text = String::new();
        for _ in 0..1 + numbers.below(4) {
            let word = *numbers.of(&words);
            let part = match numbers.below(15) {
                9 => format!("at:{}", numbers.of(&["2010", "2004-06", "2020", "2022"])),
                10 => format!("from:{}", numbers.of(&["2003", "2012", "2020-03"])),
                11 => format!("to:{}", numbers.of(&["2005", "2012", "2021-04"])),
                0 => format!("\"{word} {}\"", numbers.of(&words)),
                1 => format!("-{word}"),
                2 => format!("{}*", &word[..4]),
                3 => format!("title:{word}"),
                4 => format!("{word} OR {}", numbers.of(&words)),
                5 => "site:museum.org".to_owned(),
                6 => format!(
                    "type:{}",
                    numbers.of(&["html", "xhtml+xml", "plain", "rss", "image"])
                ),
                7 => format!("year:{}", numbers.of(&["2010", "2012", "2020", "2004"])),
                8 => format!("collection:{}", numbers.of(&["closed", "open"])),
                _ => word.to_owned(),
            };
            let _ = write!(text, "{part} ");
        }
        if numbers.below(6) == 0 {
            return ImagesQuestion {
                query: text,
                same: None,
                limit: 1 + numbers.below(10),
                after: None,
                order: *numbers.of(&[SearchOrder::Relevance, SearchOrder::Newest]),
                every_page: numbers.below(2) == 0,
            }
            .into();
        }
        if numbers.below(5) == 0 {
            return ConcordanceQuestion {
                query: text,
                limit: 1 + numbers.below(10),
                per_page: numbers.below(4),
                context: numbers.below(4),
                after: None,
                order: *numbers.of(&[SearchOrder::Relevance, SearchOrder::Newest]),
                all_versions: numbers.below(4) == 0,
            }
            .into();
        }
        SearchQuestion {
            query: text,
            limit: 1 + numbers.below(10),
            after: None,
            explain: numbers.below(4) == 0,
            facets: numbers.below(2) == 0,
            order: *numbers.of(&[SearchOrder::Relevance, SearchOrder::Newest, SearchOrder::Oldest]),
            all_versions: numbers.below(4) == 0,
            per_site: numbers.below(4).saturating_sub(1),
            distinct: numbers.below(3) == 0,
            prefer: numbers
                .of(&[
                    "",
                    "",
                    "lang:de",
                    "site:museum.org^70 collection:open",
                    "place:www.museum.org from:2012",
                ])
                .to_string(),
            exact: numbers.below(2) == 0,
            near: numbers.below(3) == 0,
        }
        .into()
    };
    let trends: Question = Trends {
        queries: ["river", "zyzzyva", "river -quokka year:2020", "nowhere river"]
            .map(str::to_owned)
            .into(),
    }
    .into();
    let events = [
        "river from:2003 to:2006",
        "zyzzyva",
        "river -quokka",
        "river from:2010 to:2020",
    ];
    let events: [Question; 4] = events.map(|query| {
        Events {
            query: query.to_owned(),
            ..Events::default()
        }
        .into()
    });
    (0..QUERIES)
        .map(|_| query())
        .chain([trends])
        .chain(events)
        .chain(INCOMPLETE.map(of_words))
        .chain(["0000000000000000", "ffffffffffffffff"].map(same_picture))
        .collect()
}

/// Queries of words that no visible page has, or that no page has together.
const INCOMPLETE: [&str; 8] = [
    "river zyzzyva",
    "river zyzzyva quokka stone",
    "+river vellichor copper signal",
    "zyzzyva quokka xylograph vellichor",
    "\"river stone\" zyzzyva harbour",
    "nowhere river quokka",
    "archive river stone harbour letters museum winter zyzzyva",
    "title:river zyzzyva winter",
];

fn of_words(query: &str) -> Question {
    SearchQuestion {
        query: query.to_owned(),
        limit: 10,
        explain: true,
        facets: true,
        ..SearchQuestion::default()
    }
    .into()
}

/// Asks for all images that differ from a hash in at most six bits.
fn same_picture(hash: &str) -> Question {
    ImagesQuestion {
        same: Some(hash.to_owned()),
        limit: 3,
        ..ImagesQuestion::default()
    }
    .into()
}

/// Asks for the collections, by all captures and by some. An owner is also told of inputs without
/// captures, so the answers of owners are not compared with those of others.
fn collections() -> Vec<Question> {
    let of = |captures_max| Collections { captures_max }.into();
    [None, Some(5)].into_iter().map(of).collect()
}

/// Prefixes of all words, alone and after others.
fn suggestions() -> Vec<Question> {
    let words: Vec<&str> = WORDS.iter().chain(&SECRETS).copied().collect();
    let mut texts: Vec<String> = words.iter().map(|word| word[..2].to_owned()).collect();
    texts.extend(words.iter().map(|word| format!("river {}", &word[..3])));
    texts.extend(words.iter().map(|word| format!("site:museum.org -stone {word}")));
    texts.extend(SECRETS.iter().map(|secret| format!("{secret} ri")));
    texts.extend(["h", "hi", "ht", "s0", "20"].map(str::to_owned));
    let suggest = |text| Suggest { text, limit: 5 }.into();
    texts.into_iter().map(suggest).collect()
}

/// Asks each question until the end of its answer. Returns the parts of each answer as text.
fn answers(archive: &Archive, questions: &[Question]) -> Vec<Vec<String>> {
    let to_end = |first: &Question| {
        let (mut question, mut parts) = (first.clone(), Vec::new());
        while parts.len() < PARTS_MAX {
            let found = answer(archive, &question);
            parts.push(match &found {
                Ok(answer) => serde_json::to_string(answer).unwrap(),
                Err(error) => serde_json::to_string(error).unwrap(),
            });
            match found.ok().and_then(|(_, body)| next_of(&body)) {
                Some(next) => go_on(&mut question, next),
                None => return parts,
            }
        }
        panic!("an answer to {first:?} has no end")
    };
    questions.iter().map(to_end).collect()
}

#[track_caller]
fn compare(name: &str, questions: &[Question], found: &[Vec<String>], expected: &[Vec<String>]) {
    for (question, (found, expected)) in questions.iter().zip(found.iter().zip(expected)) {
        assert_eq!(found, expected, "{name}: {question:?}");
    }
    assert_eq!((found.len(), expected.len()), (questions.len(), questions.len()));
}

fn set_rules(archives: &[&Archive], rules: &str) {
    for archive in archives {
        std::fs::write(archive.rights_path(), format!("strict = true\n{rules}")).unwrap();
    }
}

fn rules_by_digest(hidden: &[PlantedPage]) -> String {
    let rule = |capture: &PlantedPage| {
        format!(
            "[[rule]]\naccess = \"deny\"\nexcept = [\"staff\"]\ndigest = \"{}\"\n",
            capture.digest()
        )
    };
    hidden.iter().map(rule).collect()
}

/// Rules that hide the same captures in different ways.
fn rules(hidden: &[PlantedPage]) -> BTreeMap<&'static str, String> {
    let deny = |what: &str| format!("[[rule]]\naccess = \"deny\"\nexcept = [\"staff\"]\n{what}\n");
    BTreeMap::from([
        ("collection", deny("collection = \"closed\"")),
        ("keys", deny("domain = \"hidden.org\"") + &deny("prefix = \"com,mixed)/secret/\"")),
        ("mime", deny("mime = \"application/xhtml*\"") + &deny("mime = \"application/rss+xml\"") + &deny("mime = \"image/gif\"") + &deny("mime = \"warc/revisit\"")),
        ("dates", deny("from = \"2020\"") + &deny("to = \"2005\"")),
        ("digests", rules_by_digest(hidden)),
        (
            "closed but for",
            "default = \"deny\"\n".to_owned()
                + &["example.com", "museum.org", "other.net", "mixed.com"]
                    .map(|domain| format!("[[rule]]\naccess = \"allow\"\ndomain = \"{domain}\"\nto = \"2019\"\nfrom = \"2006\"\n"))
                    .concat()
                + "[[rule]]\naccess = \"allow\"\ngroups = [\"staff\"]\n",
        ),
    ])
}

struct Pair {
    many: Archive,
    few: Archive,
    hidden: Vec<PlantedPage>,
    /// All questions but searches.
    questions: Vec<Question>,
    /// What the owners of both are answered to them. No rule applies to an owner.
    owner_of_many: Vec<Vec<String>>,
    owner_of_few: Vec<Vec<String>>,
    /// Last, so that it is removed after the archives are closed.
    _root: tempfile::TempDir,
}

fn pair(more: Vec<PlantedPage>) -> Pair {
    pair_with(more, |_| None)
}

/// As [`pair`], with the table of word vectors that `vectors` writes to a folder.
fn pair_with(more: Vec<PlantedPage>, vectors: fn(&Path) -> Option<PathBuf>) -> Pair {
    let root = tempfile::tempdir().unwrap();
    let vectors = vectors(root.path());
    let (open, mut hidden) = captures();
    hidden.extend(more);
    let input = write_to(&root.path().join("open.warc"), &open);
    let many = archive(root.path(), "many", &input, &hidden, vectors.clone());
    let few = archive(root.path(), "few", &input, &[], vectors);
    set_rules(&[&many, &few], "");
    let questions = [questions_about_urls(), questions_about_ranges(), suggestions()].concat();
    Pair {
        owner_of_many: answers(&many, &questions),
        owner_of_few: answers(&few, &questions),
        many,
        few,
        hidden,
        questions,
        _root: root,
    }
}

#[track_caller]
fn check(pair: &Pair, name: &str, rules: &str) {
    let Pair {
        many, few, questions, ..
    } = pair;
    set_rules(&[many, few], rules);
    let of_many = many.seen_by(Groups::public());
    let lower_of_few = few.seen_by(Groups::listed("unheard-of"));
    let staff = many.seen_by(Groups::listed("staff"));
    let searches = [searches(name), collections()].concat();
    let found = answers(&of_many, questions);
    compare(name, questions, &found, &answers(&lower_of_few, questions));
    // The answers are also right, not only equal: the archive without hidden captures shows the
    // same to its owner.
    compare(name, questions, &found, &pair.owner_of_few);
    compare(
        name,
        &searches,
        &answers(&of_many, &searches),
        &answers(&lower_of_few, &searches),
    );
    // Clients that may see everything get the owner's answers.
    compare(name, questions, &answers(&staff, questions), &pair.owner_of_many);
    compare(
        name,
        &searches,
        &answers(&staff, &searches),
        &answers(many, &searches),
    );
    // The compared answers are not empty.
    let rows = |archive: &Archive, text: &str| {
        let text = text.to_owned();
        archive.ask(Suggest { text, limit: 5 }).unwrap().body.rows
    };
    assert_eq!(rows(many, "zyzz")[0].word, "zyzzyva", "{name}");
    assert_eq!(rows(&of_many, "zyzz"), [], "{name}");
    assert_eq!(rows(&of_many, "riv")[0].word, "river", "{name}");
    let found = matches_of(&of_many, "river zyzzyva");
    assert!(
        found.matches.iter().all(|(_, missing)| missing == &["zyzzyva"]),
        "{name}"
    );
    assert!(found.total > 0 && found.images > 0, "{name}");
    check_without_strict(pair, name, rules);
}

/// The part of an answer that does not depend on hidden pages, even if the rules are not strict.
#[derive(Debug, PartialEq)]
struct Matches {
    total: u64,
    notes: Vec<SearchNote>,
    /// Key of each result, and the words that it lacks.
    matches: BTreeMap<String, Vec<String>>,
    /// Number of images.
    images: u64,
}

fn matches_of(archive: &Archive, query: &str) -> Matches {
    let question = SearchQuestion {
        query: query.to_owned(),
        limit: 1000,
        ..SearchQuestion::default()
    };
    let found = archive.ask(question).unwrap().body;
    let images = ImagesQuestion {
        query: query.to_owned(),
        limit: 1,
        ..ImagesQuestion::default()
    };
    Matches {
        total: found.summary.total,
        notes: found.summary.notes,
        matches: found
            .hits
            .into_iter()
            .map(|hit| (hit.url_key, hit.missing))
            .collect(),
        images: archive.ask(images).unwrap().body.summary.total,
    }
}

/// Without `strict`, hidden pages may change scores. They change no match, total, note or missing
/// word.
#[track_caller]
fn check_without_strict(pair: &Pair, name: &str, rules: &str) {
    for archive in [&pair.many, &pair.few] {
        std::fs::write(archive.rights_path(), rules).unwrap();
    }
    let of_many = pair.many.seen_by(Groups::public());
    let of_few = pair.few.seen_by(Groups::public());
    for query in INCOMPLETE {
        assert_eq!(
            matches_of(&of_many, query),
            matches_of(&of_few, query),
            "{name}: {query}"
        );
    }
}

#[test]
fn what_is_hidden_shows_in_no_answer() {
    let mut pair = pair(hidden_captures_of_open_pages());
    for (name, rules) in rules(&pair.hidden) {
        // Under rules by key, the hidden captures of visible pages are visible too.
        if name != "keys" {
            check(&pair, name, &rules);
        }
    }
    // Here word vectors change the order, too.
    pair = pair_with(Vec::new(), |root| Some(write_vectors(root)));
    let rules = rules(&pair.hidden);
    for name in ["keys", "collection"] {
        check(&pair, name, &rules[name]);
    }
    let question = SearchQuestion {
        query: "river stone".to_owned(),
        limit: 1,
        explain: true,
        ..SearchQuestion::default()
    };
    let best = pair.many.ask(question).unwrap().body.hits.remove(0);
    let explanation = best.explanation.unwrap();
    assert!(
        explanation["similarity"]["score"].as_f64().unwrap() > 0.0,
        "{explanation}"
    );
}

#[test]
fn what_is_about_the_archive_is_for_those_who_see_everything() {
    let pair = pair(Vec::new());
    set_rules(&[&pair.many], &rules(&pair.hidden)["keys"]);
    let public = pair.many.seen_by(Groups::public());
    let staff = pair.many.seen_by(Groups::listed("staff"));
    let is_forbidden = |question: Question| {
        assert!(staff.ask(question.clone()).is_ok(), "{question:?}");
        assert_eq!(
            public.ask(question.clone()).unwrap_err().code,
            ErrorCode::Forbidden,
            "{question:?}"
        );
    };
    is_forbidden(archive::question::Status {}.into());
    is_forbidden(archive::question::Jobs {}.into());
    is_forbidden(archive::question::Ledger::default().into());
    is_forbidden(archive::question::Quarantine::default().into());
    let view = "captures".parse::<archive::question::View>().unwrap();
    let format = archive::question::DumpFormat::Tsv;
    let refused = public.dump(view, format, &mut Vec::new()).unwrap_err();
    assert_eq!(refused.code, ErrorCode::Forbidden);
    assert_eq!(public.hold().err().unwrap().code, ErrorCode::Forbidden);
    assert!(staff.dump(view, format, &mut Vec::new()).is_ok());
    assert!(!public.ask(AccessScope {}).unwrap().body.everything);
    assert!(staff.ask(AccessScope {}).unwrap().body.everything);
}

/// A rule is half edited. Until it is valid again only the owner sees anything, because the
/// incomplete rule may be the one that hides.
#[test]
fn rules_that_cannot_be_read_hide_everything() {
    let pair = pair(Vec::new());
    set_rules(
        &[&pair.many],
        "[[rule]]\naccess = \"deny\"\nprefx = \"org,hidden)/\"\n",
    );
    let question = Page {
        url: "http://example.com/p1".into(),
    };
    let refused = pair
        .many
        .seen_by(Groups::public())
        .ask(question.clone())
        .unwrap_err();
    assert_eq!(refused.code, ErrorCode::Unavailable);
    assert!(refused.message.contains("prefx"), "{refused}");
    assert!(pair.many.ask(question).is_ok());
}

/// Access rules apply to clients of the owner's socket too.
#[test]
fn who_asks_through_the_socket_sees_no_more() {
    let pair = pair(Vec::new());
    set_rules(&[&pair.many], &rules(&pair.hidden)["keys"]);
    let dir: PathBuf = pair.many.dir().to_owned();
    let client = Archive::open(&dir, archive::OpenSettings::default()).unwrap();
    assert!(!client.is_owner());
    let question: Question = Record {
        url: "http://hidden.org/h1".into(),
        at: None,
        capture: None,
        fuzzy: false,
        with_content: false,
    }
    .into();
    let public = client.seen_by(Groups::public());
    assert_eq!(
        public.ask(question.clone()).unwrap_err().code,
        ErrorCode::NotFound
    );
    assert!(client.ask(question.clone()).is_ok());
    assert!(client.seen_by(Groups::listed("staff")).ask(question).is_ok());
}
