//! WordPiece: the longest token at the beginning of a word, then the longest of the rest.

use super::json::ModelJson;
use super::trie::{Node, ROOT, Trie};

/// Characters of a word, unless the file gives another number. A longer word is unknown.
const WORD_CHARS_MAX: usize = 100;

pub(super) struct WordPiece {
    /// The node of tokens that continue a word, if there are any.
    continuing: Option<Node>,
    word_chars_max: usize,
}

impl WordPiece {
    pub(super) fn read(json: &ModelJson, vocabulary: &Trie) -> WordPiece {
        let prefix = json.continuing_subword_prefix.as_deref().unwrap_or("##");
        WordPiece {
            continuing: vocabulary.node(prefix.as_bytes()),
            word_chars_max: json.max_input_chars_per_word.unwrap_or(WORD_CHARS_MAX),
        }
    }

    /// Adds the tokens of a word, or none if a part of it is unknown.
    pub(super) fn split(&self, vocabulary: &Trie, word: &str, tokens: &mut Vec<u32>) {
        if word.chars().count() > self.word_chars_max {
            return;
        }
        let from = tokens.len();
        let mut rest = word.as_bytes();
        let mut node = Some(ROOT);
        while !rest.is_empty() {
            let Some((token, bytes)) = node.and_then(|node| longest(vocabulary, node, rest)) else {
                return tokens.truncate(from);
            };
            tokens.push(token);
            rest = &rest[bytes..];
            node = self.continuing;
        }
    }
}

/// Returns the longest token at the beginning of `bytes` and its length.
fn longest(vocabulary: &Trie, mut node: Node, bytes: &[u8]) -> Option<(u32, usize)> {
    let mut found = None;
    for (index, byte) in bytes.iter().enumerate() {
        let Some(child) = vocabulary.child(node, *byte) else {
            break;
        };
        node = child;
        if let Some(token) = vocabulary.token(node) {
            found = Some((token, index + 1));
        }
    }
    found
}
