//! Vectors of texts from a static table of word vectors.
//!
//! A table has a vector for each token of a vocabulary. The vector of a text is the mean of those
//! of its tokens. Texts with similar meanings have a high cosine, even without a common word. The
//! layouts of the Python packages `wordllama` and `model2vec` are read: a file in the format
//! safetensors, and `tokenizer.json`.
//!
//! Invariants:
//! - A text has the tokens that the package `tokenizers` gives it without special tokens. Exceptions:
//!   unknown tokens are left out, and special tokens in a text are plain text.
//! - The vector of a text depends only on the table and the text.
//! - No table and no text causes a panic. Memory is bounded by [`VALUES_MAX`] and the sizes of both
//!   files.
//!
//! The crate never downloads anything and does not know pages or queries.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod error;
mod files;
mod safetensors;
mod table;
mod tokenizer;

use std::fmt;
use std::path::Path;

pub use error::VectorsError;
pub use table::VALUES_MAX;

use table::Table;
use tokenizer::Tokenizer;

/// Bytes of a text that are read.
pub const TEXT_BYTES_MAX: usize = 64 << 10;

/// A table of word vectors, and the tokenizer that it was made with.
pub struct Vectors {
    table: Table,
    tokenizer: Tokenizer,
}

impl fmt::Debug for Vectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vectors")
            .field("dimensions", &self.dimensions())
            .finish_non_exhaustive()
    }
}

impl Vectors {
    /// Reads a table from a safetensors file, and its tokenizer from `tokenizer.json` in the same
    /// folder. Otherwise the name and the folder that `wordllama` uses are tried.
    ///
    /// # Errors
    /// [`VectorsError`] if a file is missing or has another format.
    pub fn open(path: &Path) -> Result<Vectors, VectorsError> {
        let table = Table::read(path)?;
        let tokenizer_path = files::tokenizer_of(path)?;
        let json = files::read_text(&tokenizer_path)?;
        let tokenizer = Tokenizer::read(&json, table.tokens())
            .map_err(|reason| VectorsError::tokenizer(&tokenizer_path, reason))?;
        Ok(Vectors { table, tokenizer })
    }

    /// Returns the number of values of a vector.
    pub fn dimensions(&self) -> usize {
        self.table.dimensions()
    }

    /// Writes the vector of a text, of length 1, to `vector`, which has [`Vectors::dimensions`]
    /// values. A text without a known token gets zeros. Only the first [`TEXT_BYTES_MAX`] bytes are
    /// read.
    pub fn embed(&self, text: &str, vector: &mut [f32]) {
        debug_assert_eq!(vector.len(), self.dimensions());
        vector.fill(0.0);
        let text = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
        self.table.add(&self.tokenizer.tokens(text), vector);
        // The length of a mean does not matter here, so the sum is not divided by the number of tokens.
        let length = similarity(vector, vector).sqrt();
        if length.is_finite() && length > 0.0 {
            vector.iter_mut().for_each(|value| *value /= length);
        } else {
            vector.fill(0.0);
        }
    }
}

/// Returns the cosine of two vectors of length 1.
pub fn similarity(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests;
