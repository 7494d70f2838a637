//! Unigram: the tokens of a piece are those with the greatest sum of scores.

use super::json::ModelJson;
use super::trie::{ROOT, Trie};

/// Added to the lowest score for a character that is no token, as SentencePiece does.
const UNKNOWN_PENALTY: f64 = -10.0;

pub(super) struct Unigram {
    /// The score of each token.
    scores: Vec<f64>,
    unknown_score: f64,
    /// The unknown token. A text that has its name does not have the token.
    unknown: Option<u32>,
    /// The token of each byte, if unknown characters are written by their bytes.
    bytes: Option<Vec<u32>>,
}

/// The best way to a position.
#[derive(Clone, Copy)]
struct Step {
    score: f64,
    /// Where its last token begins; `None` if there is no way.
    from: Option<u32>,
    /// The last token; `None` for an unknown character.
    token: Option<u32>,
}

impl Unigram {
    pub(super) fn read(json: &ModelJson) -> Result<Unigram, String> {
        let scores = json.vocab.scores.clone();
        if scores.len() != json.vocab.tokens.len() {
            return Err("its vocabulary has no scores".to_owned());
        }
        let lowest = scores.iter().copied().fold(f64::INFINITY, f64::min);
        Ok(Unigram {
            scores,
            unknown_score: lowest + UNKNOWN_PENALTY,
            unknown: json.unk_id,
            bytes: json.byte_fallback.then(|| json.byte_tokens()).flatten(),
        })
    }

    pub(super) fn split(&self, vocabulary: &Trie, piece: &str, tokens: &mut Vec<u32>) {
        let steps = self.steps(vocabulary, piece);
        let from = tokens.len();
        let mut end = piece.len();
        while let Some(Step {
            from: Some(start),
            token,
            ..
        }) = steps.get(end)
        {
            let start = *start as usize;
            match (token, &self.bytes) {
                (Some(token), _) => tokens.push(*token),
                (None, Some(bytes)) => {
                    let text = piece.as_bytes()[start..end].iter().rev();
                    tokens.extend(text.filter_map(|byte| bytes.get(usize::from(*byte))));
                }
                (None, None) => {}
            }
            end = start;
        }
        tokens[from..].reverse();
    }

    /// Returns the best way to each position: from each character on, all tokens are tried.
    fn steps(&self, vocabulary: &Trie, piece: &str) -> Vec<Step> {
        let none = Step {
            score: 0.0,
            from: None,
            token: None,
        };
        let mut steps = vec![none; piece.len() + 1];
        for (start, c) in piece.char_indices() {
            let before = steps[start].score;
            let after_c = start + c.len_utf8();
            let mut is_known = false;
            let mut node = ROOT;
            for (index, byte) in piece.as_bytes()[start..].iter().enumerate() {
                let Some(child) = vocabulary.child(node, *byte) else {
                    break;
                };
                node = child;
                let Some(token) = vocabulary.token(node) else {
                    continue;
                };
                let end = start + index + 1;
                is_known |= end == after_c;
                let score = self.scores.get(token as usize).copied().unwrap_or(0.0);
                let known = Some(token).filter(|token| Some(*token) != self.unknown);
                steps[end].improve(before + score, start, known);
            }
            if !is_known {
                steps[after_c].improve(before + self.unknown_score, start, None);
            }
        }
        steps
    }
}

impl Step {
    fn improve(&mut self, score: f64, from: usize, token: Option<u32>) {
        if self.from.is_none() || score > self.score {
            *self = Step {
                score,
                from: Some(from as u32),
                token,
            };
        }
    }
}
