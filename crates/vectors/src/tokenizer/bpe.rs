//! Byte-pair encoding: characters are tokens, and pairs of tokens are merged, in the order of a list.

use rustc_hash::FxHashMap;

use super::json::ModelJson;
use super::trie::Trie;

/// A symbol that is no token. No pair with it is merged.
const NO_TOKEN: u32 = u32::MAX;

/// A pair that is not merged.
const NO_MERGE: Merge = Merge {
    rank: u32::MAX,
    token: NO_TOKEN,
};

/// Maximum number of symbols that are merged together, because the time is quadratic. Longer texts
/// without a space are split.
const SYMBOLS_MAX: usize = 512;

/// What SentencePiece writes for a space.
const SPACE: char = '▁';

pub(super) struct Bpe {
    merges: FxHashMap<(u32, u32), Merge>,
    /// The token of each byte, if unknown characters are written by their bytes.
    bytes: Option<Vec<u32>>,
    /// Whether a piece that is a token is not split.
    ignores_merges: bool,
    /// Whether no token has a space behind another character. Texts are then split before spaces.
    splits_at_spaces: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Merge {
    /// The position in the list. Lower ones are merged first.
    rank: u32,
    token: u32,
}

impl Bpe {
    pub(super) fn read(json: &ModelJson, vocabulary: &Trie) -> Result<Bpe, String> {
        let affixes = [&json.continuing_subword_prefix, &json.end_of_word_suffix];
        if affixes.into_iter().flatten().any(|affix| !affix.is_empty()) {
            return Err("a prefix or suffix of subwords is not supported".to_owned());
        }
        let mut merges = FxHashMap::default();
        for (rank, merge) in (0..).zip(&json.merges) {
            let token = |text: &str| {
                let token = vocabulary.get(text.as_bytes());
                token.ok_or_else(|| format!("{text:?} is merged, and not in the vocabulary"))
            };
            let (left, right) = (&merge.0, &merge.1);
            let pair = (token(left)?, token(right)?);
            let token = token(&format!("{left}{right}"))?;
            merges.insert(pair, Merge { rank, token });
        }
        let has_inner_space = |token: &str| token.trim_start_matches(SPACE).contains(SPACE);
        Ok(Bpe {
            merges,
            bytes: json.byte_fallback.then(|| json.byte_tokens()).flatten(),
            ignores_merges: json.ignore_merges,
            splits_at_spaces: !json.vocab.tokens.iter().any(|(token, _)| has_inner_space(token)),
        })
    }

    /// Returns the parts of a piece that are merged apart from each other.
    pub(super) fn chunks<'p>(&self, piece: &'p str) -> impl Iterator<Item = &'p str> {
        let mut rest = piece;
        let splits = self.splits_at_spaces && !self.ignores_merges;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let spaces = rest.len() - rest.trim_start_matches(SPACE).len();
            let next = rest[spaces..].find(SPACE).filter(|_| splits);
            let (chunk, after) = rest.split_at(next.map_or(rest.len(), |next| spaces + next));
            rest = after;
            Some(chunk)
        })
    }

    pub(super) fn split(&self, vocabulary: &Trie, piece: &str, tokens: &mut Vec<u32>) {
        if self.ignores_merges
            && let Some(token) = vocabulary.get(piece.as_bytes())
        {
            return tokens.push(token);
        }
        let mut symbols = Vec::with_capacity(piece.len());
        let mut encoded = [0; 4];
        for c in piece.chars() {
            let encoded = c.encode_utf8(&mut encoded).as_bytes();
            match (vocabulary.get(encoded), &self.bytes) {
                (Some(token), _) => symbols.push(token),
                (None, Some(bytes)) => {
                    symbols.extend(encoded.iter().filter_map(|byte| bytes.get(usize::from(*byte))));
                }
                (None, None) => symbols.push(NO_TOKEN),
            }
        }
        for symbols in symbols.chunks(SYMBOLS_MAX) {
            let merged = self.merged(symbols.to_vec());
            tokens.extend(merged.into_iter().filter(|token| *token != NO_TOKEN));
        }
    }

    /// Merges pairs until none is in the list: the first in the list, and of equals the leftmost.
    fn merged(&self, mut symbols: Vec<u32>) -> Vec<u32> {
        let pairs = symbols.windows(2).map(|pair| self.merge(pair[0], pair[1]));
        let mut merges: Vec<Merge> = pairs.collect();
        while let Some((index, merge)) = first_merge(&merges) {
            symbols[index] = merge.token;
            symbols.remove(index + 1);
            merges.remove(index);
            if let Some(before) = index.checked_sub(1) {
                merges[before] = self.merge(symbols[before], symbols[index]);
            }
            if index + 1 < symbols.len() {
                merges[index] = self.merge(symbols[index], symbols[index + 1]);
            }
        }
        symbols
    }

    fn merge(&self, left: u32, right: u32) -> Merge {
        self.merges.get(&(left, right)).copied().unwrap_or(NO_MERGE)
    }
}

fn first_merge(merges: &[Merge]) -> Option<(usize, Merge)> {
    let merges = merges.iter().copied().enumerate();
    // `min_by_key` returns the first of equal ones.
    let first = merges.min_by_key(|(_, merge)| merge.rank)?;
    Some(first).filter(|(_, merge)| *merge != NO_MERGE)
}
