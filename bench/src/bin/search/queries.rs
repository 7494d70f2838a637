//! Generates queries from the archive's own text, in the published mix.

use anyhow::ensure;

use crate::dice::Dice;
use crate::server::Server;
use bench::http::encoded;

/// Number of words in a query, and number of such queries.
const MIX: [(usize, usize); 7] = [(1, 28), (2, 42), (3, 19), (4, 3), (6, 4), (7, 1), (8, 2)];

/// Rounds of the mix, with different queries.
const ROUNDS: usize = 20;

/// Percentage of queries that have no match.
const WITHOUT_MATCH: usize = 15;

/// Results of each query.
const RESULTS: usize = 100;

/// Number of queries that are tried in advance, to check the mix.
pub(crate) const TRIED: usize = 100;

/// Pages that the words are taken from.
const PAGES: usize = 1000;

/// The queries, in random order.
pub(crate) struct Queries {
    /// Paths with query strings.
    pub(crate) paths: Vec<String>,
    /// Queries that were generated to have no match.
    pub(crate) without_match: usize,
    /// Number of the first [`TRIED`] queries that actually have no match.
    pub(crate) tried_without_match: usize,
}

impl Queries {
    /// Returns the same queries with preferences.
    pub(crate) fn preferring(&self, prefer: &str) -> Queries {
        let prefer = encoded(prefer);
        let paths = self.paths.iter().map(|path| format!("{path}&prefer={prefer}"));
        Queries {
            paths: paths.collect(),
            ..*self
        }
    }
}

/// Takes adjacent words of a page, so that a query of several words has a match.
pub(crate) fn sample(server: &Server, seed: u64, facets: bool) -> anyhow::Result<Queries> {
    let pages = words_by_page(server)?;
    ensure!(
        !pages.is_empty(),
        "the archive has no pages with text, so there are no words to search for"
    );
    let mut dice = Dice::new(seed);
    let mut texts = Vec::new();
    for _ in 0..ROUNDS {
        for (words, count) in MIX {
            texts.extend((0..count).map(|_| from_page(&pages, words, &mut dice)));
        }
    }
    dice.shuffle(&mut texts);
    let without_match = texts.len() * WITHOUT_MATCH / 100;
    for text in &mut texts[..without_match] {
        // An unknown word for each of the query's words, so that even "most of the words" has no
        // match.
        let unknown = |_| format!("zqx{:x}", dice.next());
        *text = text.split(' ').map(unknown).collect::<Vec<_>>().join(" ");
    }
    dice.shuffle(&mut texts);
    let facets = if facets { "&facets=1" } else { "" };
    let path = |text: &String| format!("/api/v1/search?q={}&limit={RESULTS}{facets}", encoded(text));
    let paths: Vec<String> = texts.iter().map(path).collect();
    let mut tried_without_match = 0;
    for path in paths.iter().take(TRIED) {
        tried_without_match += usize::from(server.get(path)?["total"] == 0);
    }
    Ok(Queries {
        paths,
        without_match,
        tried_without_match,
    })
}

fn words_by_page(server: &Server) -> anyhow::Result<Vec<Vec<String>>> {
    let mut hits = Vec::new();
    for kind in ["html", "text"] {
        let answer = server.get(&format!("/api/v1/search?q=type%3A{kind}&limit={PAGES}"))?;
        hits.extend(answer["hits"].as_array().cloned().unwrap_or_default());
    }
    let words = hits.iter().map(|hit| {
        let snippet = hit["snippet_html"].as_str().unwrap_or_default();
        let words = snippet.split(|c: char| !c.is_alphanumeric());
        let long = words.filter(|word| word.chars().count() > 2);
        let mut words: Vec<String> = long.map(str::to_lowercase).collect();
        words.sort_unstable();
        words.dedup();
        words
    });
    let words: Vec<Vec<String>> = words.filter(|words| !words.is_empty()).collect();
    // The longest query must have a match if there are pages with as many words. Short records do
    // not have that many.
    let most = MIX.iter().map(|(words, _)| *words).max().unwrap_or_default();
    let long: Vec<_> = words
        .iter()
        .filter(|words| words.len() >= most)
        .cloned()
        .collect();
    Ok(if long.is_empty() { words } else { long })
}

fn from_page(pages: &[Vec<String>], count: usize, dice: &mut Dice) -> String {
    let page = &pages[dice.below(pages.len())];
    let mut words = page.clone();
    dice.shuffle(&mut words);
    words.truncate(count);
    words.join(" ")
}
