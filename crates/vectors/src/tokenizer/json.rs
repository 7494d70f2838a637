//! `tokenizer.json`, as the package `tokenizers` writes it.

use std::fmt;

use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};

#[derive(Deserialize)]
pub(super) struct TokenizerJson {
    #[serde(default)]
    pub(super) added_tokens: Vec<AddedTokenJson>,
    pub(super) normalizer: Option<NormalizerJson>,
    pub(super) pre_tokenizer: Option<SplitterJson>,
    pub(super) model: ModelJson,
}

#[derive(Deserialize)]
pub(super) struct AddedTokenJson {
    content: String,
    #[serde(default)]
    special: bool,
}

impl AddedTokenJson {
    pub(super) fn special(&self) -> Option<&str> {
        self.special.then_some(&self.content)
    }
}

/// A step of normalisation.
#[derive(Deserialize)]
#[serde(tag = "type")]
pub(super) enum NormalizerJson {
    Sequence {
        normalizers: Vec<NormalizerJson>,
    },
    BertNormalizer {
        clean_text: bool,
        handle_chinese_chars: bool,
        strip_accents: Option<bool>,
        lowercase: bool,
    },
    Precompiled {
        precompiled_charsmap: Option<String>,
    },
    Prepend {
        prepend: String,
    },
    Replace {
        pattern: PatternJson,
        content: String,
    },
    Strip {
        strip_left: bool,
        strip_right: bool,
    },
    Lowercase,
    StripAccents,
    #[serde(rename = "NFC")]
    Nfc,
    #[serde(rename = "NFD")]
    Nfd,
    #[serde(rename = "NFKC")]
    Nfkc,
    #[serde(rename = "NFKD")]
    Nfkd,
}

#[derive(Deserialize)]
pub(super) enum PatternJson {
    String(String),
    Regex(String),
}

/// A step that splits a text into pieces.
#[derive(Deserialize)]
#[serde(tag = "type")]
pub(super) enum SplitterJson {
    Sequence {
        pretokenizers: Vec<SplitterJson>,
    },
    BertPreTokenizer,
    WhitespaceSplit,
    Metaspace {
        replacement: char,
        prepend_scheme: Option<PrependSchemeJson>,
        /// The older name of `prepend_scheme`.
        add_prefix_space: Option<bool>,
        split: Option<bool>,
    },
    Punctuation {
        behavior: Option<String>,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum PrependSchemeJson {
    Always,
    First,
    Never,
}

/// The model, with the fields of all kinds.
#[derive(Deserialize)]
pub(super) struct ModelJson {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) vocab: VocabJson,
    #[serde(default)]
    pub(super) merges: Vec<MergeJson>,
    pub(super) unk_token: Option<String>,
    pub(super) unk_id: Option<u32>,
    #[serde(default)]
    pub(super) byte_fallback: bool,
    #[serde(default)]
    pub(super) ignore_merges: bool,
    pub(super) continuing_subword_prefix: Option<String>,
    pub(super) end_of_word_suffix: Option<String>,
    pub(super) max_input_chars_per_word: Option<usize>,
}

/// A vocabulary: an object of token and number, or a list of token and score.
#[derive(Default)]
pub(super) struct VocabJson {
    pub(super) tokens: Vec<(String, u32)>,
    /// The score of each token, if it is a list.
    pub(super) scores: Vec<f64>,
}

impl<'de> Deserialize<'de> for VocabJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<VocabJson, D::Error> {
        // By hand, because an untagged enum would copy the largest part of the file.
        deserializer.deserialize_any(VocabVisitor)
    }
}

struct VocabVisitor;

impl<'de> Visitor<'de> for VocabVisitor {
    type Value = VocabJson;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a vocabulary")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<VocabJson, A::Error> {
        let mut vocab = VocabJson::default();
        while let Some(token) = map.next_entry()? {
            vocab.tokens.push(token);
        }
        Ok(vocab)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<VocabJson, A::Error> {
        let mut vocab = VocabJson::default();
        while let Some((token, score)) = seq.next_element()? {
            let id = u32::try_from(vocab.scores.len());
            let id = id.map_err(|_| A::Error::custom("too many tokens"))?;
            vocab.tokens.push((token, id));
            vocab.scores.push(score);
        }
        Ok(vocab)
    }
}

/// Two tokens that are merged: a list, or one text with a space between.
pub(super) struct MergeJson(pub(super) String, pub(super) String);

impl<'de> Deserialize<'de> for MergeJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<MergeJson, D::Error> {
        deserializer.deserialize_any(MergeVisitor)
    }
}

struct MergeVisitor;

impl<'de> Visitor<'de> for MergeVisitor {
    type Value = MergeJson;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("two tokens")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<MergeJson, E> {
        let pair = text.split_once(' ');
        let (left, right) = pair.ok_or_else(|| E::custom("a merge without a space"))?;
        Ok(MergeJson(left.to_owned(), right.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<MergeJson, A::Error> {
        let missing = || A::Error::custom("a merge of fewer than two tokens");
        let left = seq.next_element()?.ok_or_else(missing)?;
        let right = seq.next_element()?.ok_or_else(missing)?;
        Ok(MergeJson(left, right))
    }
}

impl ModelJson {
    /// Returns the tokens `<0x00>` to `<0xFF>`, if all are in the vocabulary.
    pub(super) fn byte_tokens(&self) -> Option<Vec<u32>> {
        let mut found = vec![None; 256];
        for (token, id) in &self.vocab.tokens {
            let digits = token.strip_prefix("<0x").and_then(|rest| rest.strip_suffix('>'));
            let digits = digits.filter(|digits| digits.len() == 2);
            if let Some(byte) = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
                found[usize::from(byte)] = Some(*id);
            }
        }
        found.into_iter().collect()
    }
}
