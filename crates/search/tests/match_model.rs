//! What a match is, computed from lists of words.
//!
//! It follows docs/search.md, "What a match is", and shares no code with the search. The index of
//! images is compared with it too.

use std::collections::BTreeMap;

/// Words that are function words of no language. They have no other forms, and no two have the same
/// stem in any language of these tests.
pub(crate) const WORDS: [&str; 8] = [
    "river", "stone", "zone", "copper", "harbour", "signal", "garden", "valley",
];

/// Function words of English and German, and of no other language.
pub(crate) const ENGLISH: [&str; 2] = ["the", "about"];
pub(crate) const GERMAN: [&str; 2] = ["und", "nicht"];

/// A word that no page has.
const UNKNOWN: &str = "nowhere";

/// Returns a random number below its argument.
pub(crate) type Below<'d> = dyn FnMut(usize) -> usize + 'd;

/// A page, as lists of words.
#[derive(Debug, Clone, Default)]
pub(crate) struct ModelPage {
    pub(crate) key: String,
    pub(crate) title: Vec<String>,
    pub(crate) url: Vec<String>,
    pub(crate) text: Vec<String>,
    /// Words of each link to the page.
    pub(crate) anchors: Vec<Vec<String>>,
    pub(crate) host: String,
    /// Path of the URL, without the slash before it.
    pub(crate) path: String,
    /// `en`, `de` or empty.
    pub(crate) language: String,
}

/// A part of a query that a page matches or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Atom {
    Word(&'static str),
    Phrase(&'static str, &'static str),
    Beginning(&'static str),
    Title(&'static str),
    Url(&'static str),
    Site(&'static str),
    Language(&'static str),
}

#[derive(Debug, Clone)]
enum Part {
    Wanted(&'static str),
    Demanded(Atom),
    /// All atoms of one of the alternatives.
    AnyOf(Vec<Vec<Atom>>),
    Not(Atom),
}

/// A query, and what it means.
#[derive(Debug)]
pub(crate) struct ModelQuery {
    pub(crate) text: String,
    parts: Vec<Part>,
}

/// The expected answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Expected {
    /// Whether no page has enough words, and those with fewer are listed.
    pub(crate) has_few_alone: bool,
    /// The missing words of each match, by its key.
    pub(crate) matches: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Enough,
    Known,
    One,
}

/// Returns random words, some of them function words. The first are more frequent.
pub(crate) fn random_words(below: &mut Below<'_>, count: usize) -> Vec<String> {
    let mut words = Vec::with_capacity(count);
    for _ in 0..count {
        let word = match below(5) {
            0 => ENGLISH[below(2)],
            1 => GERMAN[below(2)],
            _ => {
                let most = below(WORDS.len()) + 1;
                WORDS[below(most)]
            }
        };
        words.push(word.to_owned());
    }
    words
}

impl ModelPage {
    fn parts(&self) -> impl Iterator<Item = &Vec<String>> {
        [&self.title, &self.url, &self.text]
            .into_iter()
            .chain(&self.anchors)
    }

    fn has_word(&self, word: &str) -> bool {
        self.parts().flatten().any(|other| other == word)
    }

    fn has(&self, atom: Atom) -> bool {
        let has = |part: &[String], word: &str| part.iter().any(|other| other == word);
        match atom {
            Atom::Word(word) => self.has_word(word),
            Atom::Phrase(first, second) => self
                .parts()
                .any(|part| part.windows(2).any(|two| two[0] == first && two[1] == second)),
            Atom::Beginning(begin) => self.parts().flatten().any(|word| word.starts_with(begin)),
            Atom::Title(word) => has(&self.title, word),
            Atom::Url(word) => has(&self.url, word),
            Atom::Language(language) => self.language == language,
            Atom::Site(site) => match site.split_once('/') {
                Some((host, path)) => {
                    let rest = self.path.strip_prefix(path);
                    self.host == host && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                }
                None => self.host == site || self.host.ends_with(&format!(".{site}")),
            },
        }
    }
}

impl Atom {
    fn text(self) -> String {
        match self {
            Atom::Word(word) => word.to_owned(),
            Atom::Phrase(first, second) => format!("\"{first} {second}\""),
            Atom::Beginning(begin) => format!("{begin}*"),
            Atom::Title(word) => format!("title:{word}"),
            Atom::Url(word) => format!("url:{word}"),
            Atom::Site(site) => format!("site:{site}"),
            Atom::Language(language) => format!("lang:{language}"),
        }
    }

    /// Returns its words that weigh something.
    fn words(self) -> Vec<&'static str> {
        match self {
            Atom::Word(word) | Atom::Title(word) | Atom::Url(word) => vec![word],
            Atom::Phrase(first, second) => vec![first, second],
            Atom::Beginning(_) | Atom::Site(_) | Atom::Language(_) => Vec::new(),
        }
    }

    /// Returns its word if it can be a function word.
    fn single(self) -> Option<&'static str> {
        match self {
            Atom::Word(word) | Atom::Title(word) | Atom::Url(word) => Some(word),
            _ => None,
        }
    }
}

fn plain(below: &mut Below<'_>) -> &'static str {
    WORDS[below(WORDS.len())]
}

/// Returns three different words.
fn different(below: &mut Below<'_>) -> [&'static str; 3] {
    let first = below(WORDS.len());
    [0, 1, 2].map(|step| WORDS[(first + step) % WORDS.len()])
}

impl ModelQuery {
    /// Makes a query of one to five parts. `sites` are values of `site:`.
    pub(crate) fn random(below: &mut Below<'_>, sites: &[&'static str]) -> ModelQuery {
        let (mut texts, mut parts) = (Vec::new(), Vec::new());
        for _ in 0..1 + below(5) {
            let (text, more) = match below(20) {
                0 if below(2) == 0 => ModelQuery::alternatives(below),
                0..=2 => {
                    let [a, b, _] = different(below);
                    let both = [a, b].map(|word| Part::Demanded(Atom::Word(word)));
                    (format!("{a} AND {b}"), Vec::from(both))
                }
                3 | 4 => {
                    let atom = ModelQuery::excluded(below, sites);
                    (format!("-{}", atom.text()), vec![Part::Not(atom)])
                }
                5..=10 => ModelQuery::demanded(below, sites),
                11 => (UNKNOWN.to_owned(), vec![Part::Wanted(UNKNOWN)]),
                12 | 13 => {
                    let word = [ENGLISH, GERMAN][below(2)][below(2)];
                    (word.to_owned(), vec![Part::Wanted(word)])
                }
                _ => {
                    let word = plain(below);
                    (word.to_owned(), vec![Part::Wanted(word)])
                }
            };
            texts.push(text);
            parts.extend(more);
        }
        let text = texts.join(" ");
        ModelQuery { text, parts }
    }

    fn alternatives(below: &mut Below<'_>) -> (String, Vec<Part>) {
        let [a, b, c] = different(below);
        match below(2) {
            0 => (
                format!("{a} OR {b}"),
                vec![Part::AnyOf(vec![vec![Atom::Word(a)], vec![Atom::Word(b)]])],
            ),
            _ => {
                let both = vec![Atom::Word(a), Atom::Word(b)];
                let any = vec![both, vec![Atom::Word(c)]];
                (format!("{a} AND {b} OR {c}"), vec![Part::AnyOf(any)])
            }
        }
    }

    fn excluded(below: &mut Below<'_>, sites: &[&'static str]) -> Atom {
        match below(4) {
            0 => Atom::Phrase(plain(below), plain(below)),
            1 => Atom::Title(plain(below)),
            2 => Atom::Site(sites[below(sites.len())]),
            _ => Atom::Word(plain(below)),
        }
    }

    fn demanded(below: &mut Below<'_>, sites: &[&'static str]) -> (String, Vec<Part>) {
        let atom = match below(8) {
            0 => Atom::Phrase(plain(below), plain(below)),
            1 => Atom::Title(plain(below)),
            2 => Atom::Url(plain(below)),
            3 => Atom::Beginning(&plain(below)[..3]),
            4 => Atom::Site(sites[below(sites.len())]),
            5 => Atom::Language(["en", "de"][below(2)]),
            _ => {
                let word = plain(below);
                return (format!("+{word}"), vec![Part::Demanded(Atom::Word(word))]);
            }
        };
        (atom.text(), vec![Part::Demanded(atom)])
    }

    /// Returns the demanded atoms, each once.
    fn demanded_atoms(&self) -> Vec<Atom> {
        let mut atoms = Vec::new();
        for part in &self.parts {
            if let Part::Demanded(atom) = part
                && !atoms.contains(atom)
            {
                atoms.push(*atom);
            }
        }
        atoms
    }

    /// Returns the words that are wanted and not demanded, each once.
    fn wanted(&self) -> Vec<Atom> {
        let demanded = self.demanded_atoms();
        let mut words = Vec::new();
        for part in &self.parts {
            if let Part::Wanted(word) = part {
                let word = Atom::Word(word);
                if !words.contains(&word) && !demanded.contains(&word) {
                    words.push(word);
                }
            }
        }
        words
    }

    /// Returns the single words that are not excluded.
    fn singles(&self) -> Vec<&'static str> {
        let of_part = |part: &Part| -> Vec<&'static str> {
            match part {
                Part::Wanted(word) => vec![*word],
                Part::Demanded(atom) => atom.single().into_iter().collect(),
                Part::AnyOf(any) => any.iter().flatten().filter_map(|atom| atom.single()).collect(),
                Part::Not(_) => Vec::new(),
            }
        };
        self.parts.iter().flat_map(of_part).collect()
    }

    /// Returns the matches among the pages that the client sees.
    pub(crate) fn answer(&self, pages: &[ModelPage]) -> Expected {
        let demanded = self.demanded_atoms();
        let weighing = demanded.iter().copied().filter(|atom| !atom.words().is_empty());
        let matcher = Matcher {
            pages,
            wanted: self.wanted(),
            demanded: weighing.collect(),
            singles: self.singles(),
            has_alternatives: self.parts.iter().any(|part| matches!(part, Part::AnyOf(_))),
        };
        let words_or_beginnings = demanded
            .iter()
            .filter(|atom| !matches!(atom, Atom::Site(_) | Atom::Language(_)))
            .count();
        let wanted = matcher.wanted.len();
        let can_relax = wanted > 0 && wanted + words_or_beginnings > 1;
        for mode in [Mode::Enough, Mode::Known, Mode::One] {
            let matching = pages
                .iter()
                .filter(|page| self.holds_in(page) && matcher.has_enough(page, mode));
            let matches: BTreeMap<String, Vec<String>> = matching
                .map(|page| (page.key.clone(), matcher.missing(page)))
                .collect();
            if !matches.is_empty() {
                return Expected {
                    has_few_alone: mode != Mode::Enough,
                    matches,
                };
            }
            if !can_relax {
                break;
            }
        }
        Expected::default()
    }

    /// Returns whether all that is demanded or excluded holds in a page.
    fn holds_in(&self, page: &ModelPage) -> bool {
        self.parts.iter().all(|part| match part {
            Part::Wanted(_) => true,
            Part::Demanded(atom) => page.has(*atom),
            Part::AnyOf(any) => any.iter().any(|all| all.iter().all(|atom| page.has(*atom))),
            Part::Not(atom) => !page.has(*atom),
        })
    }
}

/// Decides which pages have enough words.
struct Matcher<'p> {
    pages: &'p [ModelPage],
    wanted: Vec<Atom>,
    /// Demanded words and phrases, which count as words that a page has.
    demanded: Vec<Atom>,
    singles: Vec<&'static str>,
    has_alternatives: bool,
}

impl Matcher<'_> {
    fn pages_with(&self, word: &str) -> usize {
        self.pages.iter().filter(|page| page.has_word(word)).count()
    }

    /// Returns the inverse document frequency in units of 1 / 4,096; a phrase has the sum of its
    /// words.
    fn weight(&self, atom: Atom) -> u64 {
        let of_word = |word: &str| {
            let with = self.pages_with(word);
            let without = self.pages.len() - with;
            let odds = (without as f32 + 0.5) / (with as f32 + 0.5);
            (((1.0 + odds).ln() * 4096.0).round() as u64).max(1)
        };
        atom.words().into_iter().map(of_word).sum()
    }

    /// Returns whether a word is a function word of a language. If the query has only function words
    /// of that language, they are words like others.
    fn is_silent(&self, atom: Atom, language: &str) -> bool {
        let list: &[&str] = match language {
            "en" => &ENGLISH,
            "de" => &GERMAN,
            _ => &[],
        };
        let is_listed = |word: &&'static str| list.contains(word);
        atom.single().as_ref().is_some_and(is_listed) && !self.singles.iter().all(is_listed)
    }

    fn is_weighty(&self, atom: Atom) -> bool {
        !self.is_silent(atom, "en") && !self.is_silent(atom, "de")
    }

    fn has_enough(&self, page: &ModelPage, mode: Mode) -> bool {
        match (self.wanted.as_slice(), self.demanded.as_slice()) {
            ([], _) => return true,
            (words, []) if self.has_alternatives && !words.iter().any(|word| self.is_weighty(*word)) => {
                return true;
            }
            ([word], []) => return page.has(*word),
            _ => {}
        }
        let counts = |atom: &Atom| {
            let is_known = atom.words().iter().all(|word| self.pages_with(word) > 0);
            !self.is_silent(*atom, &page.language) && (mode == Mode::Enough || is_known)
        };
        let sum = |atoms: &[Atom]| -> u64 { atoms.iter().map(|atom| self.weight(*atom)).sum() };
        let counted = |atoms: &[Atom]| -> Vec<Atom> { atoms.iter().copied().filter(counts).collect() };
        let (wanted, demanded) = (counted(&self.wanted), counted(&self.demanded));
        let count = (wanted.len() + demanded.len()) as u64;
        if count == 0 {
            return false;
        }
        let total = sum(&wanted) + sum(&demanded);
        let is_enough = |weight: u64| match mode {
            Mode::One => weight > 0,
            // (2 / n)² of the weight of all, and all of two words.
            Mode::Enough | Mode::Known => weight * (count * count).max(4) >= total * 4,
        };
        if is_enough(sum(&demanded)) {
            return true;
        }
        let held: Vec<Atom> = wanted.into_iter().filter(|word| page.has(*word)).collect();
        let has_weighty = held.iter().chain(&demanded).any(|atom| self.is_weighty(*atom))
            || !self.wanted.iter().any(|word| self.is_weighty(*word));
        is_enough(sum(&demanded) + sum(&held)) && has_weighty
    }

    fn missing(&self, page: &ModelPage) -> Vec<String> {
        if self.wanted.len() < 2 && self.demanded.is_empty() {
            return Vec::new();
        }
        let missing = self
            .wanted
            .iter()
            .filter(|word| !page.has(**word) && !self.is_silent(**word, &page.language));
        missing.map(|word| word.text()).collect()
    }
}
