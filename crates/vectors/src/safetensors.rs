//! Reads tensors from a file in the format safetensors.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | length of the header, little endian |
//! | that many | the header, JSON: for each tensor its type, shape, and range of the data |
//! | the rest | the data, little endian |

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use serde::Deserialize;

use crate::error::VectorsError;

/// Maximum length of a header. A table has at most a few tensors.
const HEADER_BYTES_MAX: u64 = 1 << 20;

/// A file of tensors.
pub(crate) struct Tensors<'p> {
    path: &'p Path,
    file: BufReader<File>,
    tensors: BTreeMap<String, Tensor>,
    /// Offset of the data in the file.
    data_offset: u64,
}

/// The description of a tensor.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Tensor {
    dtype: DataType,
    pub(crate) shape: Vec<u64>,
    /// Start and end in the data.
    data_offsets: (u64, u64),
}

/// A type of values.
#[derive(Debug, Clone, Copy, Deserialize)]
enum DataType {
    F16,
    BF16,
    F32,
    F64,
    I8,
    I32,
    I64,
}

impl<'p> Tensors<'p> {
    /// Opens a file and reads its header.
    pub(crate) fn open(path: &'p Path) -> Result<Tensors<'p>, VectorsError> {
        let failed = |error| VectorsError::read(path, error);
        let file = File::open(path).map_err(failed)?;
        let file_bytes = file.metadata().map_err(failed)?.len();
        let mut file = BufReader::new(file);
        let mut length = [0; 8];
        file.read_exact(&mut length).map_err(failed)?;
        let length = u64::from_le_bytes(length);
        if length > HEADER_BYTES_MAX || length + 8 > file_bytes {
            return Err(VectorsError::table(path, "its header has a false length"));
        }
        let mut header = vec![0; length as usize];
        file.read_exact(&mut header).map_err(failed)?;
        let tensors = header_of(&header).ok_or(VectorsError::table(path, "its header cannot be parsed"))?;
        let data_bytes = file_bytes - 8 - length;
        if !tensors.values().all(|tensor| tensor.is_within(data_bytes)) {
            return Err(VectorsError::table(path, "a tensor has a false shape or range"));
        }
        Ok(Tensors {
            path,
            file,
            tensors,
            data_offset: 8 + length,
        })
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Tensor> {
        self.tensors.get(name)
    }

    /// Reads a tensor and calls `each` with `count` values at a time: a row.
    pub(crate) fn read_rows(
        &mut self,
        tensor: &Tensor,
        count: usize,
        mut each: impl FnMut(&[f64]),
    ) -> Result<(), VectorsError> {
        let (start, end) = tensor.data_offsets;
        let size = tensor.dtype.bytes();
        let mut bytes = vec![0; count * size];
        let mut values = vec![0.0; count];
        let failed = |error: io::Error| VectorsError::read(self.path, error);
        self.file
            .seek(SeekFrom::Start(self.data_offset + start))
            .map_err(failed)?;
        for _ in 0..(end - start) / (bytes.len() as u64).max(1) {
            self.file.read_exact(&mut bytes).map_err(failed)?;
            tensor.dtype.decode(&bytes, &mut values);
            each(&values);
        }
        Ok(())
    }
}

fn header_of(header: &[u8]) -> Option<BTreeMap<String, Tensor>> {
    let mut values: BTreeMap<String, serde_json::Value> = serde_json::from_slice(header).ok()?;
    values.remove("__metadata__");
    let tensors = values
        .into_iter()
        .map(|(name, value)| Some((name, serde_json::from_value(value).ok()?)));
    tensors.collect()
}

impl Tensor {
    fn is_within(&self, data_bytes: u64) -> bool {
        let (start, end) = self.data_offsets;
        let size = self.dtype.bytes() as u64;
        let bytes = self
            .shape
            .iter()
            .try_fold(size, |product, count| product.checked_mul(*count));
        start <= end && end <= data_bytes && bytes == Some(end - start)
    }
}

impl DataType {
    fn bytes(self) -> usize {
        match self {
            DataType::I8 => 1,
            DataType::F16 | DataType::BF16 => 2,
            DataType::F32 | DataType::I32 => 4,
            DataType::F64 | DataType::I64 => 8,
        }
    }

    /// Decodes values of [`DataType::bytes`] bytes each.
    fn decode(self, bytes: &[u8], values: &mut [f64]) {
        let single = |bits| f64::from(f32::from_bits(bits));
        match self {
            DataType::F16 => each(bytes, values, |value| half(u16::from_le_bytes(value))),
            DataType::BF16 => each(bytes, values, |value| {
                single(u32::from(u16::from_le_bytes(value)) << 16)
            }),
            DataType::F32 => each(bytes, values, |value| single(u32::from_le_bytes(value))),
            DataType::F64 => each(bytes, values, f64::from_le_bytes),
            DataType::I8 => each(bytes, values, |value| f64::from(i8::from_le_bytes(value))),
            DataType::I32 => each(bytes, values, |value| f64::from(i32::from_le_bytes(value))),
            // Exact for the positions of rows, which are below 2^53.
            DataType::I64 => each(bytes, values, |value| i64::from_le_bytes(value) as f64),
        }
    }
}

/// Decodes values of `N` bytes each.
fn each<const N: usize>(bytes: &[u8], values: &mut [f64], decode: impl Fn([u8; N]) -> f64) {
    let (bytes, _) = bytes.as_chunks::<N>();
    for (value, bytes) in values.iter_mut().zip(bytes) {
        *value = decode(*bytes);
    }
}

/// Decodes a number of 16 bits: a sign, 5 bits of exponent, 10 of fraction.
fn half(bits: u16) -> f64 {
    // Its bits, read as those of a number of 32 bits, are smaller by this factor.
    const FACTOR: f64 = f64::from_bits((1023 + 112) << 52);
    if bits & 0x7c00 == 0x7c00 {
        return f64::NAN;
    }
    let magnitude = f64::from(f32::from_bits(u32::from(bits & 0x7fff) << 13)) * FACTOR;
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_16_bits_are_decoded() {
        let cases = [
            (0x0000, 0.0),
            (0x0001, 2f64.powi(-24)),
            (0x03ff, 1023.0 * 2f64.powi(-24)),
            (0x0400, 2f64.powi(-14)),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
        ];
        for (bits, value) in cases {
            assert_eq!(half(bits), value, "{bits:#06x}");
        }
        assert!(half(0x7c00).is_nan() && half(0xfe00).is_nan());
    }
}
