//! Judged collections, and plain BM25 to compare with.
//!
//! CACM is read from the files of Anserini in the shared data. Any other collection is a folder
//! with three files of lines with tabs: `documents.tsv` (name, title, text), `queries.tsv` (number,
//! words) and `judged.tsv` (number of a query, name of a relevant document). A fourth, `language`,
//! has its language if it is not English.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use anyhow::{Context, bail};
use frostem::{Algorithm, Stemmer};
use search::Document;

use crate::collection::{Collection, Quality};

/// Parameters of plain BM25, those that Anserini uses.
const K1: f64 = 0.9;
const B: f64 = 0.4;

/// Lucene's English function words.
const FUNCTION_WORDS: [&str; 33] = [
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no",
    "not", "of", "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to",
    "was", "will", "with",
];

/// Documents with judged queries.
pub(crate) struct Judged {
    pub(crate) name: String,
    pub(crate) language: String,
    pub(crate) documents: Vec<Document>,
    pub(crate) queries: Collection,
}

impl Judged {
    /// Measures the answers to the queries. `search` returns the names of the best documents.
    pub(crate) fn measure(
        &self,
        mut search: impl FnMut(&str) -> anyhow::Result<Vec<String>>,
    ) -> anyhow::Result<Quality> {
        let mut failed = None;
        let quality = self.queries.measure(|text| {
            let names = search(text);
            names.unwrap_or_else(|error| {
                failed = Some(error);
                Vec::new()
            })
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(quality),
        }
    }
}

/// Reads CACM, the collections of the folder `ir` of shared data, and those of another folder.
pub(crate) fn read_all(data: &Path, more: Option<&Path>) -> anyhow::Result<Vec<Judged>> {
    let cacm = Collection::read(data).context("read the CACM collection")?;
    let documents = cacm
        .abstracts
        .iter()
        .map(|(name, text)| document(name, "", text, "en"));
    let mut all = vec![Judged {
        name: "cacm".to_owned(),
        language: "en".to_owned(),
        documents: documents.collect(),
        queries: cacm,
    }];
    let folders = [data.join("ir")].into_iter().chain(more.map(Path::to_owned));
    for folder in folders {
        let read = read_folder(&folder, &mut all);
        read.with_context(|| format!("read {}", folder.display()))?;
    }
    Ok(all)
}

/// Adds the collections of a folder, without those that are known by name.
fn read_folder(folder: &Path, all: &mut Vec<Judged>) -> anyhow::Result<()> {
    let mut folders: Vec<_> = std::fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<_>>()?;
    folders.sort();
    for folder in folders {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let is_known = all.iter().any(|judged| judged.name == name);
        if folder.join("judged.tsv").is_file() && !is_known {
            all.push(read(&folder).with_context(|| format!("read {}", folder.display()))?);
        }
    }
    Ok(())
}

fn read(folder: &Path) -> anyhow::Result<Judged> {
    let lines =
        |name: &str| std::fs::read_to_string(folder.join(name)).with_context(|| format!("read {name}"));
    let language = match lines("language") {
        Ok(language) => language.trim().to_owned(),
        Err(_) => "en".to_owned(),
    };
    let mut documents = Vec::new();
    for line in lines("documents.tsv")?.lines() {
        let [name, title, text] = line.split('\t').collect::<Vec<_>>()[..] else {
            bail!("a line of documents.tsv has not three fields: {line}");
        };
        documents.push(document(name, title, text, &language));
    }
    let mut topics = BTreeMap::new();
    let mut judged = BTreeMap::<u32, BTreeSet<String>>::new();
    for line in lines("queries.tsv")?.lines() {
        let (number, words) = line.split_once('\t').context("a query without words")?;
        topics.insert(number.parse()?, words.to_owned());
    }
    for line in lines("judged.tsv")?.lines() {
        let (number, name) = line.split_once('\t').context("a judgement without a document")?;
        judged.entry(number.parse()?).or_default().insert(name.to_owned());
    }
    let name = folder
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    Ok(Judged {
        name,
        language,
        documents,
        queries: Collection {
            abstracts: Vec::new(),
            topics,
            judged,
        },
    })
}

/// Returns a document as a page without a URL.
fn document(name: &str, title: &str, text: &str, language: &str) -> Document {
    Document {
        url_key: name.to_owned(),
        title: title.to_owned(),
        text: text.to_owned(),
        language: language.to_owned(),
        ..Document::default()
    }
}

/// Plain BM25 over title and text, with Snowball's stems and Lucene's function words. It shares no
/// code with the search that it is compared with.
pub(crate) struct Plain {
    stemmer: Stemmer,
    is_english: bool,
    names: Vec<String>,
    lengths: Vec<f64>,
    /// For each stem its documents, with the number of occurrences.
    postings: HashMap<String, BTreeMap<usize, f64>>,
}

impl Plain {
    /// Returns the index of documents in a language.
    pub(crate) fn new(language: &str, documents: &[Document]) -> Plain {
        let algorithm = match language {
            "de" => Algorithm::German,
            "es" => Algorithm::Spanish,
            "ru" => Algorithm::Russian,
            _ => Algorithm::English,
        };
        let mut plain = Plain {
            stemmer: Stemmer::new(algorithm),
            is_english: language == "en",
            names: Vec::new(),
            lengths: Vec::new(),
            postings: HashMap::new(),
        };
        for (number, document) in documents.iter().enumerate() {
            let words = plain.words(&format!("{} {}", document.title, document.text));
            plain.names.push(document.url_key.clone());
            plain.lengths.push(words.len() as f64);
            for word in words {
                *plain.postings.entry(word).or_default().entry(number).or_default() += 1.0;
            }
        }
        plain
    }

    fn words(&self, text: &str) -> Vec<String> {
        let text = text.to_lowercase();
        let words = text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty());
        let words = words.filter(|word| !(self.is_english && FUNCTION_WORDS.contains(word)));
        words.map(|word| self.stemmer.stem(word).into_owned()).collect()
    }

    /// Returns the names of the best documents for a query.
    pub(crate) fn names(&self, query: &str, limit: usize) -> Vec<String> {
        let mean = self.lengths.iter().sum::<f64>() / self.lengths.len() as f64;
        let mut scores = BTreeMap::<usize, f64>::new();
        for word in self.words(query) {
            let Some(documents) = self.postings.get(&word) else {
                continue;
            };
            let with = documents.len() as f64;
            let idf = (1.0 + (self.names.len() as f64 - with + 0.5) / (with + 0.5)).ln();
            for (number, frequency) in documents {
                let half = K1 * (1.0 - B + B * self.lengths[*number] / mean);
                *scores.entry(*number).or_default() += idf * (K1 + 1.0) * frequency / (frequency + half);
            }
        }
        let mut best: Vec<(usize, f64)> = scores.into_iter().collect();
        best.sort_by(|one, other| other.1.total_cmp(&one.1));
        best.truncate(limit);
        best.into_iter()
            .map(|(number, _)| self.names[number].clone())
            .collect()
    }
}
