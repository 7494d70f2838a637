//! Splits texts into tokens, as `tokenizer.json` says.
//!
//! A text is normalised, split into pieces (mostly words), and each piece into tokens by the model.
//! A step that is not supported is an error when the file is read.

mod bpe;
mod category;
mod charsmap;
mod json;
mod memo;
mod normalize;
mod split;
mod trie;
mod unigram;
mod word_piece;

use std::borrow::Cow;

use bpe::Bpe;
use json::{ModelJson, TokenizerJson};
use memo::{Memo, Memos};
use normalize::Normalizer;
use split::Splitter;
use trie::Trie;
use unigram::Unigram;
use word_piece::WordPiece;

/// Maximum size of a text after a step of normalisation.
const NORMAL_BYTES_MAX: usize = 256 << 10;

/// Maximum number of steps of normalisation, and of splitting.
const STEPS_MAX: usize = 16;

/// A tokenizer.
pub(crate) struct Tokenizer {
    normalizers: Vec<Normalizer>,
    splitters: Vec<Splitter>,
    /// The vocabulary, without special tokens.
    vocabulary: Trie,
    model: Model,
    memos: Memos,
}

/// How a piece is split into tokens.
enum Model {
    Bpe(Bpe),
    Unigram(Unigram),
    WordPiece(WordPiece),
}

impl Tokenizer {
    /// Reads `tokenizer.json` for a table with vectors for `tokens` tokens.
    pub(crate) fn read(json: &str, tokens: usize) -> Result<Tokenizer, String> {
        let json: TokenizerJson = serde_json::from_str(json).map_err(|error| error.to_string())?;
        let normalizers = Normalizer::all(json.normalizer)?;
        let splitters = Splitter::all(json.pre_tokenizer)?;
        if normalizers.len() > STEPS_MAX || splitters.len() > STEPS_MAX {
            return Err("it has too many steps".to_owned());
        }
        let model = json.model;
        if model.vocab.tokens.iter().any(|(_, id)| *id as usize >= tokens) {
            return Err(format!(
                "its vocabulary has more tokens than the table ({tokens})"
            ));
        }
        let special = json.added_tokens.iter().filter_map(|token| token.special());
        let special: Vec<&str> = special.chain(model.unk_token.as_deref()).collect();
        let plain = model.vocab.tokens.iter().map(|(token, id)| (token.as_str(), *id));
        let plain = plain.filter(|(token, _)| !special.contains(token));
        let plain = plain.map(|(token, id)| (token.as_bytes(), id));
        let vocabulary = Trie::new(plain.collect());
        Ok(Tokenizer {
            normalizers,
            splitters,
            model: Model::read(&model, &vocabulary)?,
            vocabulary,
            memos: Memos::default(),
        })
    }

    /// Returns the tokens of a text, without unknown ones.
    pub(crate) fn tokens(&self, text: &str) -> Vec<u32> {
        let mut normal = Cow::Borrowed(text);
        for normalizer in &self.normalizers {
            normal = normalizer.apply(normal);
            let end = normal.floor_char_boundary(NORMAL_BYTES_MAX);
            if end < normal.len() {
                normal = Cow::Owned(normal[..end].to_owned());
            }
        }
        let mut tokens = Vec::with_capacity(normal.len() / 4);
        self.memos.with(|memo| {
            split::pieces(&self.splitters, &normal, true, &mut |piece| {
                self.add_piece(piece, memo, &mut tokens);
            });
        });
        tokens
    }

    fn add_piece(&self, piece: &str, memo: &mut Memo, tokens: &mut Vec<u32>) {
        let mut add = |piece| {
            let split = |tokens: &mut _| self.model.split(&self.vocabulary, piece, tokens);
            memo.add(piece, tokens, split);
        };
        match &self.model {
            Model::Bpe(bpe) => bpe.chunks(piece).for_each(add),
            Model::Unigram(_) | Model::WordPiece(_) => add(piece),
        }
    }
}

impl Model {
    fn read(json: &ModelJson, vocabulary: &Trie) -> Result<Model, String> {
        match json.kind.as_str() {
            "BPE" => Ok(Model::Bpe(Bpe::read(json, vocabulary)?)),
            "Unigram" => Ok(Model::Unigram(Unigram::read(json)?)),
            "WordPiece" => Ok(Model::WordPiece(WordPiece::read(json, vocabulary))),
            other => Err(format!("the model {other} is not supported")),
        }
    }

    fn split(&self, vocabulary: &Trie, piece: &str, tokens: &mut Vec<u32>) {
        match self {
            Model::Bpe(bpe) => bpe.split(vocabulary, piece, tokens),
            Model::Unigram(unigram) => unigram.split(vocabulary, piece, tokens),
            Model::WordPiece(word_piece) => word_piece.split(vocabulary, piece, tokens),
        }
    }
}
