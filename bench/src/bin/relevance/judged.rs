//! Judged collections, and plain BM25 to compare with.
//!
//! A collection is a folder of `ir` with three files of lines with tabs: `documents.tsv` (name,
//! title, text), `queries.tsv` (number, words) and `judged.tsv` (number of a query, name of a
//! relevant document). `ir/NAME/language` has its language if it is not English.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use anyhow::{Context, bail};
use frostem::{Algorithm, Stemmer};
use search::Document;

use crate::collection::{Collection, DEPTH};

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
    pub(crate) documents: Vec<Document>,
    pub(crate) queries: Collection,
}

/// Reads all collections of a folder of shared data.
pub(crate) fn read_all(data: &Path) -> anyhow::Result<Vec<Judged>> {
    let cacm = Collection::read(data).context("read the CACM collection")?;
    let documents = cacm
        .abstracts
        .iter()
        .map(|(name, text)| document(name, "", text, "en"));
    let mut all = vec![Judged {
        name: "cacm".to_owned(),
        documents: documents.collect(),
        queries: cacm,
    }];
    let folder = data.join("ir");
    let entries = std::fs::read_dir(&folder).with_context(|| format!("read {}", folder.display()))?;
    let mut folders: Vec<_> = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<_>>()?;
    folders.sort();
    for folder in folders
        .iter()
        .filter(|folder| folder.join("judged.tsv").is_file())
    {
        all.push(read(folder).with_context(|| format!("read {}", folder.display()))?);
    }
    Ok(all)
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
    pub(crate) fn new(documents: &[Document]) -> Plain {
        let language = documents
            .first()
            .map_or("en", |document| document.language.as_str());
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
    pub(crate) fn names(&self, query: &str) -> Vec<String> {
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
        best.truncate(DEPTH);
        best.into_iter()
            .map(|(number, _)| self.names[number].clone())
            .collect()
    }
}
