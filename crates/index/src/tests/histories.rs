//! Random histories: whatever is loaded, in any order and any epochs, the views equal the model's.

use extract::{Capture, CaptureKind, Link, Page, RefersTo, Shortfall};
use proptest::prelude::*;

use crate::tests::support::{Pair, progress};
use crate::{InputId, InputState, QuarantineEntry, Selector};

const URLS: [&str; 16] = [
    "http://a.com/",
    "https://www.a.com/",
    "http://A.com/index.html",
    "http://sub.a.com/x",
    "http://a.com:8080/x",
    "http://b.org/",
    "http://b.org/p?x=1&y=2",
    "https://b.org/P?Y=2&x=1",
    "http://b.org/p?X=1&y=2",
    "http://www.b.org/%50?x=1&Y=2",
    "http://b-c.org/",
    "http://c.co.uk/",
    "http://co.uk/",
    "http://192.168.1.254/i",
    "http://d.net/1",
    "http://d.net/2",
];

fn link() -> impl Strategy<Value = Link> {
    (0..URLS.len(), 0..3usize, any::<bool>()).prop_map(|(url, anchor, nofollow)| Link {
        url_key: urlkey::url_key(URLS[url]).unwrap(),
        url: URLS[url].into(),
        anchor: ["", "words", "other\twords"][anchor].into(),
        nofollow,
        kind: Default::default(),
    })
}

fn page() -> impl Strategy<Value = Page> {
    let links = prop_oneof![1 => Just(Vec::new()), 3 => prop::collection::vec(link(), 0..9)];
    (0..3usize, 0..3usize, any::<bool>(), links).prop_map(|(title, text, text_truncated, links)| Page {
        title: ["", "Title", "Other"][title].into(),
        text: ["", "text", "other text"][text].into(),
        text_truncated,
        links,
        ..Page::default()
    })
}

/// Turns a page into a document, which has no links.
fn as_document(page: &Page) -> Page {
    Page {
        links: Vec::new(),
        links_dropped: 0,
        ..page.clone()
    }
}

/// The reference of a revisit: none, a URL, or a URL and a time.
fn refers_to() -> impl Strategy<Value = Option<Box<RefersTo>>> {
    let time = prop_oneof![1 => Just(None), 5 => (0..4i64).prop_map(|time| Some(time * 1000))];
    prop::option::weighted(
        0.7,
        (0..URLS.len(), time).prop_map(|(url, time_ms)| {
            Box::new(RefersTo {
                url_key: urlkey::url_key(URLS[url]).unwrap(),
                time_ms,
            })
        }),
    )
}

/// Few URLs, times and digests, so that most captures interact with others.
fn capture() -> impl Strategy<Value = Capture> {
    let kind = prop_oneof![
        6 => Just(CaptureKind::Response),
        1 => Just(CaptureKind::Arc),
        1 => Just(CaptureKind::Resource),
        2 => Just(CaptureKind::Wat),
        2 => Just(CaptureKind::Wet),
        5 => Just(CaptureKind::Revisit),
        1 => Just(CaptureKind::Conversion),
    ];
    let method = prop_oneof![4 => Just(""), 4 => Just("GET"), 1 => Just("POST"), 1 => Just("HEAD")];
    let shortfall = prop_oneof![
        9 => Just(Shortfall::None),
        1 => Just(Shortfall::Empty),
        1 => Just(Shortfall::Part),
        1 => Just(Shortfall::NoTarget),
    ];
    let status = prop_oneof![
        8 => Just(200u16),
        1 => prop::sample::select(vec![0, 404, 503]),
        1 => prop::sample::select(vec![301, 302]),
        1 => prop::sample::select(vec![204, 205, 206, 304]),
    ];
    (
        0..URLS.len(),
        0..4i64,
        kind,
        status,
        0..3usize,
        prop::option::weighted(0.9, page()),
        prop::bool::weighted(0.2),
        link(),
        (method, shortfall, refers_to(), prop::bool::weighted(0.2)),
    )
        .prop_map(
            |(
                url,
                time,
                kind,
                status,
                digest,
                page,
                is_document,
                redirect,
                (method, shortfall, refers_to, is_damaged),
            )| Capture {
                truncated: if is_damaged { Capture::DAMAGED } else { "" }.into(),
                refers_to: refers_to.filter(|_| kind == CaptureKind::Revisit),
                url_key: urlkey::url_key(URLS[url]).unwrap(),
                redirects_to_itself: status == 301,
                method: method.into(),
                shortfall,
                url: URLS[url].into(),
                fetch_time_ms: time * 1000,
                mime: if kind == CaptureKind::Revisit {
                    "warc/revisit".into()
                } else if page.is_some() && !is_document {
                    "text/html".into()
                } else {
                    "application/pdf".into()
                },
                status: if kind == CaptureKind::Wet { 0 } else { status },
                digest: ["3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", "", "other"][digest].into(),
                offset: 0,
                length: 100,
                kind,
                document: page
                    .as_ref()
                    .filter(|_| is_document && kind != CaptureKind::Revisit)
                    .map(|page| Box::new(as_document(page))),
                page: page.filter(|_| !is_document && kind != CaptureKind::Revisit),
                redirect: (302..400).contains(&status).then_some(match kind {
                    // The link as read from the `Location` of its header.
                    CaptureKind::Revisit => Link {
                        anchor: String::new(),
                        nofollow: false,
                        kind: extract::LinkKind::Location,
                        ..redirect
                    },
                    _ => redirect,
                }),
                ..Capture::default()
            },
        )
}

/// One step: captures (by number, so that some come twice), and other events.
#[derive(Debug, Clone)]
struct Step {
    captures: Vec<prop::sample::Index>,
    quarantined: bool,
    reopen: bool,
    /// Rename an input.
    rename: Option<usize>,
    /// Find the content of an input under another name too.
    found_again: Option<usize>,
    /// Take an input back to an offset.
    take_back: Option<(usize, u64)>,
    /// Take captures down.
    take_down: Option<Selector>,
    /// Undo the takedown with this number, and read the captures that it kept out again.
    undo: Option<usize>,
}

fn selector() -> impl Strategy<Value = Selector> {
    prop_oneof![
        (0..URLS.len()).prop_map(|url| Selector::Url(urlkey::url_key(URLS[url]).unwrap())),
        prop::sample::select(vec!["com,a", "com,a)/", "org,b", "net,d)/1", "uk,"])
            .prop_map(|prefix| Selector::Prefix(prefix.into())),
        (0..4i64).prop_map(|time| Selector::Before(time * 1000)),
        Just(Selector::Collection(String::new())),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let captures = prop::collection::vec(any::<prop::sample::Index>(), 0..12);
    let rename = prop::option::weighted(0.3, 0..3usize);
    let take_back = prop::option::weighted(0.4, (0..3usize, 0..50u64));
    let take_down = prop::option::weighted(0.25, selector());
    let undo = prop::option::weighted(0.3, 1..4usize);
    (
        captures,
        any::<bool>(),
        prop::bool::weighted(0.15),
        (rename, prop::option::weighted(0.3, 0..3usize)),
        take_back,
        take_down,
        undo,
    )
        .prop_map(
            |(captures, quarantined, reopen, (rename, found_again), take_back, take_down, undo)| Step {
                captures,
                quarantined,
                reopen,
                rename,
                found_again,
                take_back,
                take_down,
                undo,
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn views_are_those_of_the_model(
        captures in prop::collection::vec((0..3u32, capture()), 1..50),
        steps in prop::collection::vec(step(), 1..9),
    ) {
        let mut pair = Pair::new();
        // Numbers and names of inputs have different orders.
        let inputs = ["b.warc.gz", "c.warc.gz", "a.warc.gz"].map(|name| pair.input(name));
        let captures: Vec<(InputId, Capture)> = captures
            .into_iter()
            .zip(0..)
            .map(|((input, capture), offset)| (inputs[input as usize], Capture { offset, ..capture }))
            .collect();
        for (step, number) in steps.iter().zip(1..) {
            let batch = step.captures.iter().map(|i| i.get(&captures).clone()).collect();
            // Positions after all captures, so that an input is always taken back and never
            // forward.
            let mut moved = inputs.map(|input| progress(input, 50 + number, InputState::Loading));
            if step.quarantined {
                moved[0].quarantined.push(QuarantineEntry {
                    offset: number,
                    length: 1,
                    reason: "junk".into(),
                    detail: "odd\nbytes".into(),
                });
            }
            pair.apply_batch(batch, moved.to_vec());
            if let Some(renamed) = step.rename {
                let input = inputs[renamed];
                let name = format!("{}{number}.warc.gz", ["a", "d", "b"][(renamed + number as usize) % 3]);
                pair.rename(input, &name);
            }
            if let Some(found) = step.found_again {
                let name = format!("{}{number}.warc.gz", ["c", "a", "e"][(found + number as usize) % 3]);
                pair.find_again(inputs[found], &name);
            }
            if step.reopen {
                pair.reopen();
            }
            pair.check();
            if let Some((input, offset)) = step.take_back {
                pair.take_back(inputs[input], offset);
                pair.check();
            }
            if let Some(selector) = &step.take_down {
                pair.take_down(selector);
                pair.check();
            }
            if let Some(number) = step.undo.filter(|number| *number <= pair.index().takedowns().len()) {
                pair.index().undo_takedown(number as u32, "somebody", 9).unwrap();
                let back = pair.model.undo_takedown(number);
                pair.check();
                pair.apply(back);
                pair.check();
            }
        }
    }
}

/// Adds enough sources for in-links to leave their row, and enough URIs for rankings to get an
/// index whose floor rises. Then removes everything again.
#[test]
fn many_in_links_come_and_go() {
    let (mut pair, input) = Pair::with_input();
    let targets: Vec<String> = (0..12).map(|n| format!("http://t.com/{n}")).collect();
    let source = |n: usize| format!("http://s{}.com/{n}", n % 5);
    for n in 0..24 {
        let anchors = ["x", "y", "", "z"];
        let anchor = |target: usize| anchors[(n + target) % anchors.len()];
        let links: Vec<(&str, &str)> = (targets.iter().enumerate().take(n % 13))
            .map(|(number, target)| (target.as_str(), anchor(number)))
            .collect();
        pair.apply(vec![(
            input,
            crate::tests::support::page(&source(n), 100 + n as i64, &links),
        )]);
        pair.check();
    }
    for n in 0..24 {
        pair.apply(vec![(
            input,
            crate::tests::support::page(&source(n), 200 + n as i64, &[]),
        )]);
    }
    pair.check();
    assert_eq!(pair.snapshot().totals().unwrap().uris, 24);
}

/// Many hosts link to each page with many texts, which change, gain and lose weight, and disappear.
#[test]
fn words_of_many_hosts_come_and_go() {
    let (mut pair, input) = Pair::with_input();
    let mut time = 0;
    let mut load = |pair: &mut Pair, source: usize, links: &[(&str, &str)]| {
        time += 1;
        let url = format!("http://s{}.com/{source}", source % 9);
        pair.apply(vec![(input, crate::tests::support::page(&url, time, links))]);
        pair.check();
    };
    load(&mut pair, 0, &[("http://s1.com/1", "first")]);
    for source in 1..30 {
        let own = format!("word {}", source % 20);
        load(
            &mut pair,
            source,
            &[("http://s1.com/1", "same"), ("http://s0.com/0", &own)],
        );
    }
    pair.reopen();
    for source in 1..30 {
        load(
            &mut pair,
            source,
            &[("http://s1.com/1", "other"), ("http://s0.com/0", "same")],
        );
    }
    for source in 0..30 {
        load(&mut pair, source, &[]);
    }
    let rows = pair.snapshot().cut().iter(crate::tables::Table::Anchors).count();
    assert_eq!(rows, 0);
}

/// Links that come, stay, go and come back, over more versions than random histories have, in every
/// order of loading.
#[test]
fn links_of_versions_are_remembered_whatever_the_order_of_loading() {
    let targets: Vec<String> = (0..9).map(|n| format!("http://t.com/{n}")).collect();
    let version = |source: usize, n: i64| {
        let has = |target: usize| (n as usize * 7 + target * (3 + source)) % 5 < 2 && n % 11 != 10;
        let links: Vec<(&str, &str)> = (targets.iter().enumerate())
            .filter(|(target, _)| has(*target))
            .map(|(target, url)| {
                (
                    url.as_str(),
                    ["", "first", "second"][(target + n as usize / 6) % 3],
                )
            })
            .collect();
        crate::tests::support::page(&format!("http://s{source}.com/"), n, &links)
    };
    let forward: Vec<i64> = (0..24).collect();
    let backward: Vec<i64> = forward.iter().rev().copied().collect();
    let mixed: Vec<i64> = forward.iter().map(|n| n * 7 % 24).collect();
    for order in [forward, backward, mixed] {
        let mut pair = Pair::new();
        let inputs = ["a.warc.gz", "b.warc.gz"].map(|name| pair.input(name));
        for (step, n) in order.into_iter().enumerate() {
            let batch = (0..2).map(|source| (inputs[source], version(source, n)));
            pair.apply_batch(
                batch.collect(),
                inputs
                    .map(|input| progress(input, 100, InputState::Loading))
                    .to_vec(),
            );
            if step % 5 == 4 {
                pair.check();
            }
        }
        pair.check();
        pair.take_down(&Selector::Before(5000));
        pair.check();
        pair.take_back(inputs[0], 15);
        pair.check();
        pair.index().undo_takedown(1, "somebody", 9).unwrap();
        let back = pair.model.undo_takedown(1);
        pair.apply(back);
        pair.check();
        pair.take_back(inputs[0], 0);
        pair.take_back(inputs[1], 0);
        pair.check();
        let snapshot = pair.snapshot();
        for table in [crate::tables::Table::PastLinks, crate::tables::Table::PastInlinks] {
            assert_eq!(snapshot.cut().iter(table).count(), 0, "{}", table.name());
        }
    }
}

/// A page without links is current, and the redirect of the same moment is not. The redirect's link
/// still counts among the links of all time.
#[test]
fn the_link_of_a_redirect_beside_a_page_of_its_moment_is_remembered() {
    let mut pair = Pair::new();
    let input = pair.input("a.warc.gz");
    let source = "http://s.com/";
    let mut redirect = crate::tests::support::page(source, 7, &[("http://t.com/", "")]);
    redirect.redirect = redirect
        .page
        .take()
        .and_then(|page| page.links.into_iter().next());
    redirect.status = 302;
    redirect.offset += 1;
    let page = crate::tests::support::page(source, 7, &[]);
    pair.apply(vec![(input, page), (input, redirect)]);
    pair.check();
    let ever = pair
        .snapshot()
        .sources_ever(&urlkey::url_key("http://t.com/").unwrap(), None, 9);
    assert_eq!(ever.unwrap().len(), 1);
}
