//! The vectors of tokens.
//!
//! Each row is stored as whole numbers of 16 bits and one factor, which halves the memory of a table
//! of `f32`. A value is off by at most 1/65,534 of the greatest value of its row.

use std::path::Path;

use crate::error::VectorsError;
use crate::safetensors::{Tensor, Tensors};

/// Maximum number of values of a table: 512 MiB of memory. That of `potion-multilingual-128M` has
/// 128 million.
pub const VALUES_MAX: u64 = 1 << 28;

/// Maximum number of values of a vector.
const DIMENSIONS_MAX: u64 = 4096;

/// Maximum number of tokens.
const TOKENS_MAX: u64 = 1 << 22;

/// Names of the tensor of vectors, in `wordllama` and Sentence Transformers, and in `model2vec`.
const NAMES: [&str; 2] = ["embedding.weight", "embeddings"];

/// The vectors of tokens.
pub(crate) struct Table {
    dimensions: usize,
    /// All rows, one after the other.
    values: Vec<i16>,
    /// The factor of each row.
    factors: Vec<f32>,
    /// The row of each token, if tokens share rows.
    rows: Option<Vec<u32>>,
    /// The weight of each token, if they have weights.
    weights: Option<Vec<f32>>,
}

impl Table {
    /// Reads a table.
    pub(crate) fn read(path: &Path) -> Result<Table, VectorsError> {
        let mut tensors = Tensors::open(path)?;
        let invalid = |reason| VectorsError::table(path, reason);
        let vectors = NAMES.iter().find_map(|name| tensors.get(name)).cloned();
        let vectors = vectors.ok_or_else(|| invalid("it has no tensor embedding.weight or embeddings"))?;
        let &[rows, dimensions] = &vectors.shape[..] else {
            return Err(invalid("its vectors are not in two dimensions"));
        };
        let values = rows.checked_mul(dimensions);
        if values.is_none_or(|values| values > VALUES_MAX) || rows > TOKENS_MAX {
            return Err(invalid("it is too large"));
        }
        if rows == 0 || dimensions == 0 || dimensions > DIMENSIONS_MAX {
            return Err(invalid("its vectors have no values, or too many"));
        }
        let mut table = Table {
            dimensions: dimensions as usize,
            values: Vec::with_capacity((rows * dimensions) as usize),
            factors: Vec::with_capacity(rows as usize),
            rows: None,
            weights: None,
        };
        tensors.read_rows(&vectors, table.dimensions, |row| table.push(row))?;
        if let Some(mapping) = list(&mut tensors, "mapping", path)? {
            let of_tokens = mapping.into_iter().map(|row| row_number(row, rows));
            let of_tokens: Option<_> = of_tokens.collect();
            table.rows = Some(of_tokens.ok_or_else(|| invalid("a token has a row that is not there"))?);
        }
        if let Some(weights) = list(&mut tensors, "weights", path)? {
            if weights.len() != table.tokens() {
                return Err(invalid("it has another number of weights than of tokens"));
            }
            table.weights = Some(weights.into_iter().map(finite).collect());
        }
        Ok(table)
    }

    pub(crate) fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Returns the number of tokens.
    pub(crate) fn tokens(&self) -> usize {
        self.rows.as_ref().map_or(self.factors.len(), Vec::len)
    }

    /// Adds the vectors of tokens to `sum`. A token that the table does not have adds nothing.
    pub(crate) fn add(&self, tokens: &[u32], sum: &mut [f32]) {
        let mut rows = tokens.iter().filter_map(|token| self.row(*token));
        // Two rows at a time halve the reads and writes of `sum`.
        while let Some((factor, row)) = rows.next() {
            let (other_factor, other) = rows.next().unwrap_or((0.0, row));
            for ((sum, value), other) in sum.iter_mut().zip(row).zip(other) {
                *sum += factor * f32::from(*value) + other_factor * f32::from(*other);
            }
        }
    }

    /// Returns the row of a token, and the factor of its values.
    fn row(&self, token: u32) -> Option<(f32, &[i16])> {
        let token = token as usize;
        let row = match &self.rows {
            Some(rows) => *rows.get(token)? as usize,
            None => token,
        };
        let factor = self.factors.get(row)?;
        let weight = self.weights.as_ref().and_then(|weights| weights.get(token));
        let from = row * self.dimensions;
        let values = self.values.get(from..from + self.dimensions)?;
        Some((factor * weight.unwrap_or(&1.0), values))
    }

    fn push(&mut self, row: &[f64]) {
        let row = row.iter().map(|value| finite(*value));
        let greatest = row
            .clone()
            .fold(0.0, |greatest: f32, value| greatest.max(value.abs()));
        let steps = f32::from(i16::MAX);
        let of_value = if greatest > 0.0 { steps / greatest } else { 0.0 };
        // Rounded without a call of the C library for each of some million values.
        let rounded = |value: f32| (value * of_value + 0.5_f32.copysign(value)) as i16;
        self.values.extend(row.map(rounded));
        self.factors.push(greatest / steps);
    }
}

/// Reads a tensor of one dimension, if the file has it.
fn list(tensors: &mut Tensors<'_>, name: &str, path: &Path) -> Result<Option<Vec<f64>>, VectorsError> {
    let Some(tensor): Option<Tensor> = tensors.get(name).cloned() else {
        return Ok(None);
    };
    let &[count] = &tensor.shape[..] else {
        return Err(VectorsError::table(
            path,
            "a list of tokens is not in one dimension",
        ));
    };
    if count > TOKENS_MAX {
        return Err(VectorsError::table(path, "it is too large"));
    }
    let mut values = Vec::with_capacity(count as usize);
    tensors.read_rows(&tensor, 1, |value| values.extend(value))?;
    Ok(Some(values))
}

fn row_number(row: f64, rows: u64) -> Option<u32> {
    let is_row = row >= 0.0 && row < rows as f64;
    is_row.then_some(row as u32)
}

/// Returns a value that a sum can take, and zero for others.
fn finite(value: f64) -> f32 {
    let value = value as f32;
    if value.is_finite() { value } else { 0.0 }
}
