//! Reads the CACM collection: 3,204 abstracts and 52 judged queries. The benchmark of relevance
//! also uses this file.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::path::Path;

/// Number of results that are judged for each query.
pub(crate) const DEPTH: usize = 1000;

/// The CACM collection.
pub(crate) struct Collection {
    /// Name and text of each abstract.
    pub(crate) abstracts: Vec<(String, String)>,
    /// Queries as plain words, without operators and phrases.
    pub(crate) topics: BTreeMap<u32, String>,
    /// Names of the relevant abstracts of each query.
    pub(crate) judged: BTreeMap<u32, BTreeSet<String>>,
}

/// Measured quality of the answers to the queries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quality {
    /// Mean average precision.
    pub(crate) map: f64,
    /// Mean precision of the first 30.
    pub(crate) p30: f64,
}

impl Collection {
    /// Reads the collection from the folder of shared data.
    pub(crate) fn read(data: &Path) -> io::Result<Collection> {
        let mut tar = Vec::new();
        let file = std::fs::File::open(data.join("ir/cacm.tar.gz"))?;
        flate2::read::GzDecoder::new(file).read_to_end(&mut tar)?;
        let abstracts = untar(&tar).into_iter().filter_map(|(path, html)| {
            let name = path.rsplit('/').next()?.strip_suffix(".html")?.to_owned();
            let tags = ["<html>", "</html>", "<pre>", "</pre>"];
            let text = tags.iter().fold(html, |text, tag| text.replace(tag, ""));
            Some((name, text))
        });
        Ok(Collection {
            abstracts: abstracts.collect(),
            topics: topics(&std::fs::read_to_string(data.join("ir/topics.cacm.txt"))?),
            judged: judged(&std::fs::read_to_string(data.join("ir/qrels.cacm.txt"))?),
        })
    }

    /// Returns the number of judged queries.
    pub(crate) fn queries(&self) -> usize {
        self.judged.len()
    }

    /// Measures the quality of answers. `search` returns the names of the first [`DEPTH`] results
    /// of a query.
    pub(crate) fn measure(&self, mut search: impl FnMut(&str) -> Vec<String>) -> Quality {
        let (mut map, mut p30) = (0.0, 0.0);
        for (topic, relevant) in &self.judged {
            let mut found = 0;
            let names = search(self.topics.get(topic).map_or("", String::as_str));
            for (rank, name) in (1..).zip(names) {
                if relevant.contains(&name) {
                    found += 1;
                    map += f64::from(found) / f64::from(rank) / relevant.len() as f64;
                    p30 += if rank <= 30 { 1.0 / 30.0 } else { 0.0 };
                }
            }
        }
        let queries = self.queries() as f64;
        Quality {
            map: map / queries,
            p30: p30 / queries,
        }
    }
}

/// Returns the names and contents of the files of a tar archive.
fn untar(bytes: &[u8]) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut rest = bytes;
    while rest.len() >= 512 && rest[0] != 0 {
        let text = |range: std::ops::Range<usize>| {
            let field = String::from_utf8_lossy(&rest[range]).into_owned();
            field.trim_matches(['\0', ' ']).to_owned()
        };
        let Ok(length) = usize::from_str_radix(&text(124..136), 8) else {
            break;
        };
        let body = rest.get(512..512 + length).unwrap_or_default();
        if rest[156] == b'0' || rest[156] == 0 {
            files.push((text(0..100), String::from_utf8_lossy(body).into_owned()));
        }
        rest = rest.get(512 + length.div_ceil(512) * 512..).unwrap_or_default();
    }
    files
}

fn topics(text: &str) -> BTreeMap<u32, String> {
    let topics = text.split("<DOC>").skip(1).filter_map(|topic| {
        let (_, rest) = topic.split_once("<DOCNO>")?;
        let (number, rest) = rest.split_once("</DOCNO>")?;
        let text = rest.replace("</DOC>", " ");
        let words = text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
        let words: Vec<String> = words.collect();
        Some((number.trim().parse().ok()?, words.join(" ")))
    });
    topics.collect()
}

fn judged(text: &str) -> BTreeMap<u32, BTreeSet<String>> {
    let mut judged = BTreeMap::<u32, BTreeSet<String>>::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        if let [topic, _, document, "1"] = fields[..]
            && let Ok(topic) = topic.parse()
        {
            judged.entry(topic).or_default().insert(document.to_owned());
        }
    }
    judged
}
