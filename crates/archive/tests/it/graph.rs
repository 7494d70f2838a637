//! The graph of links, compared with the sum of all links in the views.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use access::Groups;
use archive::Archive;
use archive::question::{Dump, DumpFormat, GraphBy, GraphEdge, GraphPart, LoadRequest};
use export::{GraphBuilder, GraphSelection};
use inputs::LoadInput;
use proptest::prelude::*;

use crate::data::{self, dump, load, own};

/// A page: number of its host, of the page, its year, and the numbers of hosts and pages to which
/// it links.
type Made = (usize, usize, u16, Vec<(usize, usize)>);

const HOSTS: [&str; 7] = [
    "a.org",
    "www.a.org",
    "shop.a.org",
    "b.co.uk",
    "c.b.co.uk:8080",
    "192.168.1.7",
    "xn--bcher-kva.ch",
];

fn url((host, page): (usize, usize)) -> String {
    format!("http://{}/{page}", HOSTS[host])
}

/// Writes an input with these pages.
fn input(dir: &Path, name: &str, pages: &[Made]) -> LoadInput {
    let records = pages.iter().map(|(host, page, year, links)| {
        let links: String = links
            .iter()
            .map(|link| format!("<a href='{}'>x</a>", url(*link)))
            .collect();
        let http = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>t</title>{links}");
        data::response(
            &url((*host, *page)),
            &format!("{year}-06-01T12:00:00Z"),
            "",
            &http,
        )
    });
    data::write(dir, name, &records.collect::<String>())
}

/// Returns all edges of a graph.
fn edges(archive: &Archive, question: &GraphPart) -> Vec<GraphEdge> {
    let dir = tempfile::tempdir().unwrap();
    let mut builder = GraphBuilder::new(question.clone(), dir.path());
    while builder.next(&|question| archive.ask(question)).unwrap() {}
    let mut edges = Vec::new();
    let mut graph = builder.finish(GraphSelection::default()).unwrap();
    graph
        .for_each_edge(&mut |edge| {
            edges.push(edge.clone());
            Ok(())
        })
        .unwrap();
    let links: u64 = edges.iter().map(|edge| edge.links).sum();
    assert_eq!(graph.totals().links, links);
    edges
}

/// Computes the same from the rows of views: every link, and the time and collection of the page
/// that contains it.
fn model(archive: &Archive, question: &GraphPart, collections: &BTreeMap<String, String>) -> Vec<GraphEdge> {
    let mut versions = Vec::new();
    archive
        .dump(
            "versions".parse::<Dump>().unwrap(),
            DumpFormat::Tsv,
            &mut versions,
        )
        .unwrap();
    let versions = String::from_utf8(versions).unwrap();
    let times: BTreeMap<&str, i64> = versions
        .lines()
        .map(|line| {
            let mut cells = line.split('\t');
            (
                cells.next().unwrap(),
                format::date::ms_of_iso(cells.next().unwrap()).unwrap(),
            )
        })
        .collect();
    let name = |key: &str| match question.by {
        GraphBy::Domain => urlkey::domain_of_key(key),
        GraphBy::Host => urlkey::host_of_key(key),
    };
    let mut sums: BTreeMap<(String, String), (GraphEdge, BTreeSet<String>)> = BTreeMap::new();
    for line in dump(archive, "links").lines() {
        let mut cells = line.split('\t');
        let (source_key, target_key) = (cells.next().unwrap(), cells.next().unwrap());
        let time_ms = times[source_key];
        let digits = format::date::digits(time_ms);
        let is_in = |bound: &Option<String>, is: &dyn Fn(&str) -> bool| bound.as_deref().is_none_or(is);
        // Bounds of one year each.
        let is_wanted = is_in(&question.from, &|from| *from <= digits[..4])
            && is_in(&question.to, &|to| digits[..4] <= *to)
            && is_in(&question.collection, &|wanted| collections[source_key] == wanted);
        if !is_wanted {
            continue;
        }
        let ends = (name(source_key), name(target_key));
        let (edge, pages) = sums.entry(ends.clone()).or_insert_with(|| {
            let edge = GraphEdge {
                source: ends.0,
                target: ends.1,
                first_ms: i64::MAX,
                last_ms: i64::MIN,
                ..GraphEdge::default()
            };
            (edge, BTreeSet::new())
        });
        edge.links += 1;
        pages.insert(source_key.to_owned());
        edge.pages = pages.len() as u64;
        edge.first_ms = edge.first_ms.min(time_ms);
        edge.last_ms = edge.last_ms.max(time_ms);
    }
    sums.into_values().map(|(edge, _)| edge).collect()
}

fn any_pages() -> impl Strategy<Value = Vec<Made>> {
    let link = (0..HOSTS.len(), 0..3usize);
    let page = (
        0..HOSTS.len(),
        0..3usize,
        2010u16..2015,
        proptest::collection::vec(link, 0..8),
    );
    proptest::collection::vec(page, 1..25)
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 40, ..ProptestConfig::with_cases(5) })]
    #[test]
    fn edges_are_all_links_of_the_view_counted(old in any_pages(), new in any_pages()) {
        let dir = tempfile::tempdir().unwrap();
        let archive = own(&dir.path().join("archive"));
        for (collection, pages) in [("old", &old), ("new", &new)] {
            load(&archive, &LoadRequest {
                inputs: vec![input(dir.path(), collection, pages)],
                collection: Some(collection.to_owned()),
                ..LoadRequest::default()
            });
        }
        let collections = collections(&archive);
        for by in GraphBy::ALL {
            for (from, to) in [(None, None), (Some("2012"), None), (None, Some("2011")), (Some("2011"), Some("2013"))] {
                for collection in [None, Some("old")] {
                    let question = GraphPart {
                        by,
                        from: from.map(str::to_owned),
                        to: to.map(str::to_owned),
                        collection: collection.map(str::to_owned),
                        after: None,
                    };
                    prop_assert_eq!(edges(&archive, &question), model(&archive, &question, &collections));
                }
            }
        }
    }
}

/// Returns the collection of each current version, from the answer about the page.
fn collections(archive: &Archive) -> BTreeMap<String, String> {
    let mut collections = BTreeMap::new();
    for line in dump(archive, "pages").lines() {
        let mut cells = line.split('\t');
        let (url_key, url) = (cells.next().unwrap(), cells.next().unwrap());
        let page = archive
            .ask(archive::question::Page { url: url.to_owned() })
            .unwrap()
            .body;
        collections.insert(url_key.to_owned(), page.current.unwrap().collection);
    }
    collections
}

#[test]
fn hidden_pages_are_in_no_edge_and_no_count() {
    let dir = tempfile::tempdir().unwrap();
    let archive = own(&dir.path().join("archive"));
    // a.org links to b.co.uk and the address; b.co.uk links back.
    let pages: [Made; 3] = [
        (0, 0, 2012, vec![(3, 0), (5, 0)]),
        (2, 0, 2012, vec![(3, 0)]),
        (3, 0, 2013, vec![(0, 0)]),
    ];
    load(
        &archive,
        &LoadRequest {
            inputs: vec![input(dir.path(), "x", &pages)],
            ..LoadRequest::default()
        },
    );
    let rules = "[[rule]]\naccess = \"deny\"\nprefix = \"org,a,shop)/\"\n";
    std::fs::write(archive.rights_path(), rules).unwrap();
    let told = |archive: &Archive| {
        let edges = edges(archive, &GraphPart::default());
        edges
            .iter()
            .map(|edge| format!("{} {} {} {}", edge.source, edge.target, edge.links, edge.pages))
            .collect::<Vec<_>>()
    };
    let all = ["a.org 192.168.1.7 1 1", "a.org b.co.uk 2 2", "b.co.uk a.org 1 1"];
    assert_eq!(told(&archive), all);
    let seen = ["a.org 192.168.1.7 1 1", "a.org b.co.uk 1 1", "b.co.uk a.org 1 1"];
    let public = archive.seen_by(Groups::public());
    assert_eq!(told(&public), seen);
    let part = public.ask(GraphPart::default()).unwrap().body;
    assert_eq!((part.pages, part.next), (2, None));
}

#[test]
fn times_that_there_are_not_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let archive = own(&dir.path().join("archive"));
    let question = GraphPart {
        from: Some("2012-13".into()),
        ..GraphPart::default()
    };
    let error = archive.ask(question).unwrap_err();
    assert_eq!(error.code, archive::ErrorCode::BadRequest);
    assert!(error.to_string().contains("2012-13"), "{error}");
}
