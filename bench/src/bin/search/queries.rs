//! Makes queries from the archive's own text, in the published mix.

use anyhow::ensure;

use crate::dice::Dice;
use crate::server::Server;
use bench::http::encoded;

/// Words of a query, and how many of these there are.
const MIX: [(usize, usize); 7] = [(1, 28), (2, 42), (3, 19), (4, 3), (6, 4), (7, 1), (8, 2)];

/// Rounds of the mix: different queries.
const ROUNDS: usize = 20;

/// Of a hundred queries, how many find nothing.
const WITHOUT_MATCH: usize = 15;

/// Results of each query.
const RESULTS: usize = 100;

/// Queries that are tried before, to see that the mix is what it should be.
pub(crate) const TRIED: usize = 100;

/// Pages the words are taken from.
const PAGES: usize = 1000;

/// The queries, in a random order.
pub(crate) struct Queries {
    /// Paths with query strings.
    pub(crate) paths: Vec<String>,
    /// Queries that were made to find nothing.
    pub(crate) without_match: usize,
    /// Of the first [`TRIED`], how many find nothing indeed.
    pub(crate) tried_without_match: usize,
}

impl Queries {
    /// The same, with preferences.
    pub(crate) fn preferring(&self, prefer: &str) -> Queries {
        let prefer = encoded(prefer);
        let paths = self.paths.iter().map(|path| format!("{path}&prefer={prefer}"));
        Queries {
            paths: paths.collect(),
            ..*self
        }
    }
}

/// Takes words that are next to each other on a page, so that a query of several words finds something.
pub(crate) fn sample(server: &Server, seed: u64, facets: bool) -> anyhow::Result<Queries> {
    let pages = words_by_page(server)?;
    ensure!(
        !pages.is_empty(),
        "the archive has no pages with text to take words from"
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
        // A word of no language, for each of the query's words: even "most of them" finds nothing.
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
    // The longest query must find its words, if there are pages that have as many: short records do not.
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
