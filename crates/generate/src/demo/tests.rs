//! Tests of the whole site, and of its WARCs as they are read back.

use std::collections::{HashMap, HashSet};
use std::fs;

use ::warc::{Entry, Kind, Reader, ReaderSettings, Record};

use super::*;

/// Writes the site, and returns the records of each WARC, with digests verified.
fn crawls() -> Vec<Vec<Record>> {
    let folder = tempfile::tempdir().expect("a folder");
    let web = write(folder.path()).expect("written");
    web.files.iter().map(|path| records(path)).collect()
}

fn records(path: &Path) -> Vec<Record> {
    let mut settings = ReaderSettings::default();
    settings.verify_digests = true;
    let mut reader = Reader::open(path, settings).expect("a file");
    let mut records = Vec::new();
    while let Some(entry) = reader.next_entry().expect("readable") {
        let Entry::Record(record) = entry else {
            panic!("{entry:?}")
        };
        assert!(record.defects.is_empty(), "{:?}", record.defects);
        records.push(record);
    }
    records
}

/// Returns the addresses in links, images, styles and scripts of a page, as absolute URLs.
fn references(resource: &Resource) -> Vec<String> {
    let body = String::from_utf8_lossy(&resource.body);
    let values = [" href=\"", " src=\""].map(|attribute| {
        let rests = body.split(attribute).skip(1);
        let values = rests.filter_map(|rest| rest.split('"').next());
        values.map(str::to_owned).collect::<Vec<_>>()
    });
    let url = &resource.url;
    let path = url.match_indices('/').nth(2).map_or(url.len(), |(at, _)| at);
    let folder = url.rfind('/').map_or(url.len(), |at| at + 1);
    let absolute = |value: &String| match value.chars().next() {
        _ if value.contains("://") => value.clone(),
        Some('/') => format!("{}{value}", &url[..path]),
        Some('#') => format!("{url}{value}"),
        _ => format!("{}{}", &url[..folder], value.trim_start_matches("./")),
    };
    values.iter().flatten().map(absolute).collect()
}

/// Returns whether the address is one of the site's hosts, which are all below `.example`.
fn is_ours(url: &str) -> bool {
    urlkey::host_of_url(url).unwrap_or_default().ends_with(".example")
}

#[test]
fn the_same_site_is_the_same_bytes() {
    let bytes = [(); 2].map(|()| {
        let folder = tempfile::tempdir().expect("a folder");
        let web = write(folder.path()).expect("written");
        let read = |path| fs::read(path).expect("read");
        web.files.iter().map(read).collect::<Vec<_>>()
    });
    assert_eq!(bytes[0], bytes[1]);
}

#[test]
fn every_reference_within_an_edition_leads_to_a_capture() {
    for (_, resources) in site().expect("the site") {
        let urls: HashSet<&str> = resources.iter().map(|resource| resource.url.as_str()).collect();
        let mut references_count = 0;
        for resource in resources
            .iter()
            .filter(|resource| resource.content_type == resource::HTML)
        {
            for reference in references(resource) {
                let to = reference.split('#').next().unwrap_or_default();
                if is_ours(to) {
                    assert!(urls.contains(to), "{} refers to {to}", resource.url);
                    references_count += 1;
                }
            }
        }
        assert!(references_count > 300, "{references_count}");
    }
}

#[test]
fn every_anchor_of_the_newest_edition_exists() {
    let (_, resources) = site().expect("the site").pop().expect("an edition");
    let find = |url: &str| resources.iter().find(|resource| resource.url == url);
    let mut anchors = 0;
    for resource in resources.iter().filter(|resource| resource.is_page()) {
        for reference in references(resource) {
            if let Some((page, anchor)) = reference.split_once('#')
                && is_ours(page)
            {
                let target = find(page).expect("a page");
                let id = format!("id=\"{anchor}\"");
                let exists = String::from_utf8_lossy(&target.body).contains(&id);
                assert!(exists, "{} refers to {reference}", resource.url);
                anchors += 1;
            }
        }
    }
    assert!(anchors > 20, "{anchors}");
}

#[test]
fn unchanged_answers_are_revisits_of_stored_ones() {
    let mut stored: HashMap<String, String> = HashMap::new();
    for (number, records) in crawls().iter().enumerate() {
        assert_eq!(records[0].kind, Kind::Warcinfo);
        let field = |record: &Record, name| record.headers.get(name).expect("a field").to_owned();
        let mut revisits = 0;
        for record in records {
            match record.kind {
                Kind::Response => {
                    let digest = field(record, "WARC-Payload-Digest");
                    stored.insert(field(record, "WARC-Record-ID"), digest);
                }
                Kind::Revisit => {
                    let digest = field(record, "WARC-Payload-Digest");
                    assert_eq!(stored.get(&field(record, "WARC-Refers-To")), Some(&digest));
                    revisits += 1;
                }
                _ => {}
            }
        }
        assert_eq!(
            revisits == 0,
            number == 0,
            "edition {number} has {revisits} revisits"
        );
    }
}

#[test]
fn editions_differ_in_pages_style_and_picture() {
    let site = site().expect("the site");
    let find = |number: usize, path: &str| {
        let (_, resources): &(_, Vec<Resource>) = &site[number];
        let url = format!("{}{path}", documentation::START_URL);
        resources.iter().find(|resource| resource.url == url)
    };
    assert!(find(0, "threads.png").is_some() && find(0, "results.png").is_none());
    assert!(find(2, "threads.png").is_none() && find(2, "results.png").is_some());
    for path in ["", "search.html", "style.css"] {
        let body = |number| &find(number, path).expect("an answer").body;
        assert_ne!(body(0), body(2), "{path:?}");
    }
    assert_eq!(find(2, "tutorial.html").expect("an answer").status, 404);
    assert_eq!(find(2, "index.html").expect("an answer").status, 301);
}

#[test]
fn an_address_has_one_answer() {
    for (_, resources) in site().expect("the site") {
        let urls: HashSet<&str> = resources.iter().map(|resource| resource.url.as_str()).collect();
        assert_eq!(urls.len(), resources.len());
    }
}
