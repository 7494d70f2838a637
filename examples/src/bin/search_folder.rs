//! Indexes the text files of a folder, and searches them.
//!
//!     cargo run -p examples --bin search_folder -- INDEX_DIR FOLDER QUERY

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use access::AccessFilter;
use anyhow::bail;
use search::{Change, Document, Query, SearchIndex, Settings, TextRequest};

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [dir, folder, query] = &arguments[..] else {
        bail!("expected INDEX_DIR FOLDER QUERY");
    };
    std::fs::create_dir_all(dir)?;
    let index = SearchIndex::open(Path::new(dir), Settings::default())?;

    let mut texts: HashMap<String, Arc<str>> = HashMap::new();
    let mut changes = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        let name = path.display().to_string();
        changes.push(Change::Upsert(Box::new(Document {
            url_key: name.clone(),
            url: name.clone(),
            title: path.file_stem().unwrap_or_default().to_string_lossy().into(),
            text: text.clone(),
            language: "en".into(),
            ..Document::default()
        })));
        texts.insert(name, Arc::from(text));
    }
    // The index stores the number with the documents. After a crash it shows which documents are in the index.
    index.apply(index.covered_epoch() + 1, changes)?;
    index.flush()?;

    let query = Query {
        text: query.clone(),
        limit: 10,
        ..Query::default()
    };
    // Texts are not stored in the index: the caller has them.
    let text_of = |sought: &TextRequest<'_>| texts.get(sought.url_key).cloned();
    let results = index.search(&query, &AccessFilter::everything(), &text_of)?;
    for hit in results.hits {
        println!("{:.1}\t{}\t{}", hit.score, hit.title, hit.snippet.text());
    }
    Ok(())
}
