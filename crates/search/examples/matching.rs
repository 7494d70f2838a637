//! Measures the processor time of searches in an index:
//! `cargo run --release -p search --example matching -- FOLDER QUERIES [LIMIT] [ROUNDS]`
//!
//! FOLDER is the index (`search` in an archive), QUERIES a file with a query on each line. The time
//! is that of the thread, without snippets, after one round to warm up. The checksum covers totals,
//! keys and scores, so two programs can be compared.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use access::AccessFilter;
use search::{Query, SearchIndex, Settings};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [folder, queries, rest @ ..] = args.as_slice() else {
        panic!("usage: matching FOLDER QUERIES [LIMIT] [ROUNDS]");
    };
    let number = |at: usize, default| {
        rest.get(at)
            .map_or(default, |text| text.parse().expect("a number"))
    };
    let (limit, rounds) = (number(0, 1), number(1, 5));
    let index = SearchIndex::open(Path::new(folder), Settings::default()).expect("open the index");
    let queries = std::fs::read_to_string(queries).expect("read the queries");
    let queries: Vec<&str> = queries.lines().collect();
    println!("{} documents, {} queries", index.documents(), queries.len());
    for round in 0..=rounds {
        let (begin, mut sum) = (thread_ns(), DefaultHasher::new());
        for text in &queries {
            let query = Query {
                text: (*text).to_owned(),
                limit,
                ..Query::default()
            };
            let found = index.search(&query, &AccessFilter::everything(), &|_| None);
            let found = found.expect("search");
            found.total.hash(&mut sum);
            for hit in found.hits {
                (hit.url_key, hit.score.to_bits()).hash(&mut sum);
            }
        }
        let ms = (thread_ns() - begin) as f64 / 1e6 / queries.len() as f64;
        println!(
            "round {round}: {ms:.3} ms a query, checksum {:016x}",
            sum.finish()
        );
    }
}

/// Returns the processor time of this thread.
fn thread_ns() -> u64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").expect("read the time");
    let first = times.split(' ').next().and_then(|first| first.parse().ok());
    first.expect("a number")
}
