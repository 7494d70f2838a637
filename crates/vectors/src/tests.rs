//! Compares tokens and vectors with those of the Python packages. `tests/data/make.py` makes the
//! tokenizers and the expected results.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde::Deserialize;
use tempfile::TempDir;

use super::*;

const BPE: &str = include_str!("../tests/data/bpe.json");
const UNIGRAM: &str = include_str!("../tests/data/unigram.json");
const WORD_PIECE: &str = include_str!("../tests/data/word_piece.json");

/// Number of values of a vector of `make.py`.
const WIDTH: usize = 8;

#[derive(Deserialize)]
struct Expected {
    texts: Vec<String>,
    bpe: OfModel,
    unigram: OfModel,
    word_piece: OfModel,
}

/// What the packages make of the texts.
#[derive(Deserialize)]
struct OfModel {
    /// Number of tokens of the vocabulary.
    size: usize,
    tokens: Vec<Vec<u32>>,
    /// The vectors of the first texts.
    vectors: Vec<Vec<f32>>,
}

fn expected() -> Expected {
    serde_json::from_str(include_str!("../tests/data/expected.json")).unwrap()
}

/// The table of `make.py`: every value is exact in 16 bits.
fn value(row: usize, column: usize) -> f32 {
    let value = (row * 31 + column * 17 + row * column) % 61;
    (value as f32 - 30.0) / 8.0
}

/// A tensor: its name, type, shape and data.
type Data<'a> = (&'a str, &'a str, Vec<usize>, Vec<u8>);

/// Writes tensors in the format safetensors.
fn safetensors(tensors: &[Data<'_>]) -> Vec<u8> {
    let mut header = serde_json::Map::new();
    let mut data = Vec::new();
    header.insert("__metadata__".to_owned(), serde_json::json!({ "format": "pt" }));
    for (name, dtype, shape, bytes) in tensors {
        let offsets = [data.len(), data.len() + bytes.len()];
        let tensor = serde_json::json!({ "dtype": dtype, "shape": shape, "data_offsets": offsets });
        header.insert((*name).to_owned(), tensor);
        data.extend_from_slice(bytes);
    }
    let header = serde_json::to_vec(&header).unwrap();
    let length = (header.len() as u64).to_le_bytes();
    [&length[..], &header, &data].concat()
}

/// Returns the bits of a value of [`value`] as a number of 16 bits.
fn half_bits(value: f32) -> u16 {
    let bits = value.to_bits();
    let exponent = (bits >> 23 & 0xff) as u16;
    let magnitude = match exponent {
        0 => 0,
        _ => (exponent - 112) << 10 | (bits >> 13 & 0x3ff) as u16,
    };
    (bits >> 16) as u16 & 0x8000 | magnitude
}

/// Returns the table of `make.py` with values of a type.
fn table(dtype: &str, rows: usize) -> Vec<u8> {
    let values = (0..rows).flat_map(|row| (0..WIDTH).map(move |column| value(row, column)));
    let bytes = values.flat_map(|value| match dtype {
        "F16" => half_bits(value).to_le_bytes().to_vec(),
        "BF16" => ((value.to_bits() >> 16) as u16).to_le_bytes().to_vec(),
        "F32" => value.to_le_bytes().to_vec(),
        "F64" => f64::from(value).to_le_bytes().to_vec(),
        // The length of a vector is not used.
        "I8" => ((value * 8.0) as i8).to_le_bytes().to_vec(),
        other => panic!("{other}"),
    });
    let name = if dtype == "F16" {
        "embedding.weight"
    } else {
        "embeddings"
    };
    safetensors(&[(name, dtype, vec![rows, WIDTH], bytes.collect())])
}

/// Writes a table and its tokenizer.
fn written(table: &[u8], tokenizer: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    fs::write(&path, table).unwrap();
    fs::write(folder.path().join("tokenizer.json"), tokenizer).unwrap();
    (folder, path)
}

fn opened(table: &[u8], tokenizer: &str) -> Result<Vectors, VectorsError> {
    let (_folder, path) = written(table, tokenizer);
    Vectors::open(&path)
}

fn embedded(vectors: &Vectors, text: &str) -> Vec<f32> {
    let mut vector = vec![0.0; vectors.dimensions()];
    vectors.embed(text, &mut vector);
    vector
}

#[track_caller]
fn assert_close(found: &[f32], expected: &[f32], text: &str) {
    assert_eq!(found.len(), expected.len());
    let is_close = |(a, b): (&f32, &f32)| (a - b).abs() < 2e-4;
    assert!(
        found.iter().zip(expected).all(is_close),
        "{text:?}: {found:?}, expected {expected:?}"
    );
}

#[test]
fn texts_have_the_tokens_that_the_packages_give_them() {
    let expected = expected();
    for (json, of_model) in [
        (BPE, &expected.bpe),
        (UNIGRAM, &expected.unigram),
        (WORD_PIECE, &expected.word_piece),
    ] {
        let tokenizer = Tokenizer::read(json, of_model.size).unwrap();
        // Twice, because words are remembered.
        for _ in 0..2 {
            for (text, tokens) in expected.texts.iter().zip(&of_model.tokens) {
                assert_eq!(tokenizer.tokens(text), *tokens, "{text:?}");
            }
        }
    }
}

#[test]
fn vectors_are_those_of_the_packages_whatever_the_type_of_values() {
    let expected = expected();
    for (dtype, json, of_model) in [
        ("F16", BPE, &expected.bpe),
        ("BF16", UNIGRAM, &expected.unigram),
        ("F32", UNIGRAM, &expected.unigram),
        ("F64", WORD_PIECE, &expected.word_piece),
        ("I8", WORD_PIECE, &expected.word_piece),
    ] {
        let vectors = opened(&table(dtype, of_model.size), json).unwrap();
        assert_eq!(vectors.dimensions(), WIDTH);
        for (text, vector) in expected.texts.iter().zip(&of_model.vectors) {
            assert_close(&embedded(&vectors, text), vector, text);
        }
    }
}

#[test]
fn tokens_can_share_rows_and_have_weights() {
    let expected = expected();
    let size = expected.unigram.size;
    let row_of = |token: usize| token * 7 % 50;
    let weight = |token: usize| (token % 5) as f32;
    let values = (0..50).flat_map(|row| (0..WIDTH).map(move |column| value(row, column)));
    let mapping = (0..size).flat_map(|token| (row_of(token) as i64).to_le_bytes());
    let weights = (0..size).flat_map(|token| weight(token).to_le_bytes());
    let table = safetensors(&[
        (
            "embeddings",
            "F32",
            vec![50, WIDTH],
            values.flat_map(f32::to_le_bytes).collect(),
        ),
        ("mapping", "I64", vec![size], mapping.collect()),
        ("weights", "F32", vec![size], weights.collect()),
    ]);
    let vectors = opened(&table, UNIGRAM).unwrap();
    for (text, tokens) in expected.texts.iter().zip(&expected.unigram.tokens) {
        let mut sum = [0.0; WIDTH];
        for token in tokens.iter().map(|token| *token as usize) {
            for (column, sum) in sum.iter_mut().enumerate() {
                *sum += weight(token) * value(row_of(token), column);
            }
        }
        let length = similarity(&sum, &sum).sqrt();
        if length > 0.0 {
            sum.iter_mut().for_each(|value| *value /= length);
        }
        assert_close(&embedded(&vectors, text), &sum, text);
    }
}

#[test]
fn the_folders_of_wordllama_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let (weights, tokenizers) = (folder.path().join("weights"), folder.path().join("tokenizers"));
    fs::create_dir(&weights).unwrap();
    fs::create_dir(&tokenizers).unwrap();
    let path = weights.join("l2_supercat_256.safetensors");
    fs::write(&path, table("F16", expected().bpe.size)).unwrap();
    assert!(matches!(
        Vectors::open(&path),
        Err(VectorsError::NoTokenizer { .. })
    ));
    fs::write(tokenizers.join("l2_supercat_tokenizer_config.json"), BPE).unwrap();
    assert!(Vectors::open(&path).is_ok());
}

#[test]
fn what_is_wrong_with_a_file_is_reported() {
    let size = expected().bpe.size;
    let good = table("F32", size);
    let check = |table: &[u8], tokenizer: &str, expected: &str| {
        let error = opened(table, tokenizer).err().map(|error| error.to_string());
        assert!(
            error.as_ref().is_some_and(|error| error.contains(expected)),
            "{error:?}"
        );
    };
    check(b"", BPE, "read ");
    check(&[0xff; 20], BPE, "its header has a false length");
    check(&good[..good.len() - 1], BPE, "a false shape or range");
    check(&safetensors(&[]), BPE, "no tensor embedding.weight");
    let flat = safetensors(&[("embeddings", "I8", vec![3], vec![1, 2, 3])]);
    check(&flat, BPE, "not in two dimensions");
    let empty = safetensors(&[("embeddings", "I8", vec![0, 3], Vec::new())]);
    check(&empty, BPE, "no values");
    check(&table("F32", size - 1), BPE, "more tokens than the table");
    check(&good, "{}", "missing field");
    check(
        &good,
        &BPE.replace("\"BPE\"", "\"WordLevel\""),
        "WordLevel is not supported",
    );
    check(
        &good,
        &BPE.replace("\"Prepend\"", "\"ByteLevel\""),
        "unknown variant `ByteLevel`",
    );
    let missing = Vectors::open(Path::new("/nowhere/model.safetensors"));
    assert!(matches!(missing, Err(VectorsError::Read { .. })));
}

#[test]
fn special_tokens_in_a_text_are_plain_text() {
    let tokenizer = Tokenizer::read(BPE, expected().bpe.size).unwrap();
    let tokens = tokenizer.tokens("a </s> b");
    assert!(
        !tokens.is_empty() && tokens.iter().all(|token| *token > 2),
        "{tokens:?}"
    );
}

#[test]
fn a_long_text_is_cut() {
    let vectors = opened(&table("F32", expected().word_piece.size), WORD_PIECE).unwrap();
    let beginning = "ü human ".repeat(TEXT_BYTES_MAX / 9 + 1);
    let beginning = &beginning[..beginning.floor_char_boundary(TEXT_BYTES_MAX)];
    let longer = format!("{beginning} rights and dignity");
    assert_eq!(embedded(&vectors, beginning), embedded(&vectors, &longer));
}

/// Numbers without an order, the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, count: usize) -> usize {
        // Xorshift.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 8) as usize % count.max(1)
    }

    /// Changes, removes or repeats some bytes.
    fn damage(&mut self, bytes: &mut Vec<u8>, within: usize) {
        for _ in 0..=self.below(3) {
            let at = self.below(within.min(bytes.len()));
            match self.below(4) {
                0 => bytes.truncate(at),
                1 => drop(bytes.drain(at..(at + self.below(9)).min(bytes.len()))),
                2 => bytes.insert(at, b"09[]{}\",:-e"[self.below(11)]),
                _ if at < bytes.len() => bytes[at] = self.below(256) as u8,
                _ => {}
            }
        }
    }
}

#[test]
fn damaged_files_are_errors_or_tables() {
    let expected = expected();
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let mut usable = 0;
    for round in 0..600 {
        let (json, size) = [
            (BPE, expected.bpe.size),
            (UNIGRAM, expected.unigram.size),
            (WORD_PIECE, expected.word_piece.size),
        ][round % 3];
        let (mut table, mut json) = (table("F16", size), json.as_bytes().to_vec());
        if round % 2 == 0 {
            chance.damage(&mut table, 200);
        } else {
            // Where the steps are, or anywhere.
            let within = [1500, usize::MAX][chance.below(2)];
            chance.damage(&mut json, within);
        }
        if let Ok(vectors) = opened(&table, &String::from_utf8_lossy(&json)) {
            usable += 1;
            for text in expected.texts.iter().step_by(7) {
                let length = similarity(&embedded(&vectors, text), &embedded(&vectors, text));
                assert!(length == 0.0 || (length - 1.0).abs() < 1e-3, "{length}");
            }
        }
    }
    assert!(usable > 50, "{usable}");
}

proptest! {
    #[test]
    fn any_text_has_a_vector(texts in prop::collection::vec(any::<String>(), 1..4)) {
        let expected = expected();
        for (json, size) in [
            (BPE, expected.bpe.size),
            (UNIGRAM, expected.unigram.size),
            (WORD_PIECE, expected.word_piece.size),
        ] {
            let tokenizer = Tokenizer::read(json, size).unwrap();
            for text in &texts {
                let tokens = tokenizer.tokens(text);
                prop_assert!(tokens.iter().all(|token| (*token as usize) < size));
                prop_assert_eq!(tokens, tokenizer.tokens(text));
            }
        }
    }
}
