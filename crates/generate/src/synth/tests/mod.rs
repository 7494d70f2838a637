//! Tests that the generated web is the same everywhere, resembles a real one, and has the same
//! content in both formats.

mod agreement;

use std::collections::{HashMap, HashSet};
use std::io::Read;

use flate2::read::MultiGzDecoder;
use sha1::{Digest, Sha1};

use super::page::Crawl;
use super::web::Target;
use super::*;

fn settings(pages: u64, format: Format) -> Settings {
    Settings {
        pages,
        seed: 7,
        format,
        recrawls_permille: 100,
        files: 1,
        threads: 1,
    }
}

/// Returns the contents of the files, one after the other.
fn written(settings: &Settings) -> (Vec<u8>, Report) {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("web.warc.gz");
    let mut told = 0;
    let report = write(settings, &out, &mut |pages| told = pages).expect("room on the disk");
    assert_eq!(told, settings.pages);
    let mut bytes = Vec::new();
    for file in &report.files {
        bytes.extend(std::fs::read(file).expect("written"));
    }
    assert_eq!(report.bytes, bytes.len() as u64);
    (bytes, report)
}

fn unzipped(bytes: &[u8]) -> String {
    let mut text = String::new();
    MultiGzDecoder::new(bytes)
        .read_to_string(&mut text)
        .expect("gzip of UTF-8");
    text
}

fn digest(text: &str) -> String {
    data_encoding::HEXLOWER.encode(&Sha1::digest(text))
}

#[test]
fn the_same_on_any_run_and_with_any_threads() {
    for format in [Format::Warc, Format::Wat] {
        let one = settings(300, format);
        let (bytes, report) = written(&one);
        for threads in [2, 3, 7] {
            let (other, other_report) = written(&Settings {
                threads,
                ..one.clone()
            });
            assert!(bytes == other, "{format:?} with {threads} threads");
            assert_eq!(report.links, other_report.links);
        }
        let (other, _) = written(&Settings {
            seed: 8,
            ..one.clone()
        });
        assert!(bytes != other);
    }
}

/// A change of the generated content would change every benchmark, so it must not happen by
/// accident.
#[test]
fn the_same_text_for_ever() {
    let digests =
        [Format::Warc, Format::Wat].map(|format| digest(&unzipped(&written(&settings(50, format)).0)));
    assert_eq!(
        digests,
        [
            "4ef0f80bf008944087849d8c0327462c669a2461",
            "18399d0a56e0fb71db483667e8ac39f99b5387d0"
        ]
    );
}

#[test]
fn several_files_hold_the_same_records() {
    let one = settings(300, Format::Wat);
    let visits = |settings: &Settings| {
        let (bytes, report) = written(settings);
        let text = unzipped(&bytes);
        let records: Vec<String> = text
            .split("WARC/1.0\r\n")
            .filter(|record| !record.contains("WARC-Type: warcinfo") && !record.is_empty())
            .map(str::to_owned)
            .collect();
        (records, report.files.len())
    };
    let (records, files) = visits(&one);
    assert_eq!((records.len(), files), (900, 1));
    assert_eq!(
        visits(&Settings {
            files: 4,
            threads: 2,
            ..one
        }),
        (records, 4)
    );
}

#[test]
fn settings_out_of_bounds_are_refused() {
    let good = settings(10, Format::Wat);
    for bad in [
        Settings {
            pages: 0,
            ..good.clone()
        },
        Settings {
            recrawls_permille: 901,
            ..good.clone()
        },
        Settings {
            files: 11,
            ..good.clone()
        },
        Settings { files: 0, ..good },
    ] {
        let error = write(&bad, Path::new("nowhere"), &mut |_| {}).expect_err("refused");
        assert!(matches!(error, Error::Setting { .. }), "{error}");
    }
}

#[test]
fn numbers_of_pages_are_bijections() {
    for pages in [1, 2, 3, 100, 1000, 4097] {
        let crawl = Crawl::new(3, pages, 0);
        let numbers = |of: &dyn Fn(u64) -> u64| (0..pages).map(of).collect::<HashSet<u64>>().len();
        assert_eq!(numbers(&|n| crawl.web.popular_page(n)) as u64, pages);
        assert_eq!(numbers(&|n| crawl.web.crawled(n)) as u64, pages);
    }
}

#[test]
fn sites_are_stretches_and_domains_of_their_own() {
    let crawl = Crawl::new(3, 20_000, 0);
    let mut domains: HashMap<String, u64> = HashMap::new();
    let mut keys = HashSet::new();
    for page in 0..20_000 {
        let site = crawl.web.site_of(page);
        assert!((site.first..site.first + site.pages).contains(&page));
        assert_eq!(crawl.web.site_of(site.first), site);
        assert_eq!(crawl.web.site_of(site.first + site.pages - 1), site);
        let mut url = String::new();
        crawl.web.append_origin(Target::Page(page), &mut url);
        crawl.web.append_path(Target::Page(page), &mut url);
        let key = urlkey::url_key(&url).expect("a URL");
        assert_eq!(
            *domains.entry(urlkey::domain_of_key(&key)).or_insert(site.first),
            site.first,
            "{url}"
        );
        assert!(keys.insert(key), "{url}");
    }
}

#[test]
fn links_are_as_many_and_as_uneven_as_on_the_web() {
    let crawl = Crawl::new(7, 20_000, 0);
    let mut external = 0;
    let mut internal = 0;
    let mut inlinks: HashMap<String, u64> = HashMap::new();
    for index in 0..20_000 {
        let page = crawl.page(crawl.visit(index), false);
        let own = urlkey::url_key(&page.url).expect("a URL");
        let mut keys = HashSet::new();
        for link in page.links {
            let key = urlkey::url_key(&link.url).expect("a URL");
            assert_ne!(key, own);
            assert_eq!(
                link.external,
                !urlkey::same_domain(&key, &own),
                "{} to {}",
                page.url,
                link.url
            );
            assert!(link.href == link.url || link.url == format!("{}{}", page.origin, link.href));
            assert!(keys.insert(key.clone()), "twice on {}: {}", page.url, link.url);
            if link.external {
                external += 1;
                *inlinks.entry(key).or_default() += 1;
            } else {
                internal += 1;
            }
        }
    }
    let (external, internal) = (external as f64 / 20_000.0, f64::from(internal) / 20_000.0);
    assert!((11.5..13.5).contains(&external), "{external}");
    assert!((20.0..40.0).contains(&internal), "{internal}");
    let once = inlinks.values().filter(|&&count| count == 1).count() as f64 / inlinks.len() as f64;
    let most = inlinks.values().max().copied().unwrap_or_default();
    assert!((0.5..0.9).contains(&once), "{once}");
    assert!((500..12_000).contains(&most), "{most}");
}

#[test]
fn recrawls_are_as_many_as_asked_and_change_some_links() {
    let crawl = Crawl::new(7, 10_000, 200);
    let mut first: HashMap<u64, u64> = HashMap::new();
    let (mut recrawls, mut kept, mut changed) = (0, 0, 0);
    for index in 0..10_000 {
        let visit = crawl.visit(index);
        if !visit.again {
            assert_eq!(first.insert(visit.page, index), None);
            continue;
        }
        recrawls += 1;
        let before = crawl.visit(first[&visit.page]);
        let links: HashSet<String> = crawl
            .page(before, false)
            .links
            .into_iter()
            .map(|link| link.url)
            .collect();
        for link in crawl.page(visit, false).links {
            if links.contains(&link.url) {
                kept += 1
            } else {
                changed += 1
            }
        }
    }
    assert_eq!(recrawls, 2000);
    let share = f64::from(changed) / f64::from(kept + changed);
    assert!((0.08..0.22).contains(&share), "{share}");
}

#[test]
fn wat_visits_have_the_size_of_common_crawls() {
    let (bytes, report) = written(&settings(1000, Format::Wat));
    let per_page = bytes.len() as u64 / report.pages;
    assert!((9_100..10_100).contains(&per_page), "{per_page}");
    let (bytes, report) = written(&settings(300, Format::Warc));
    let per_page = bytes.len() as u64 / report.pages;
    assert!((25_000..35_000).contains(&per_page), "{per_page}");
}
