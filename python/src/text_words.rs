//! The words of texts, as Weft's index has them.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use search::{TextWords, TextWordsReader};

use crate::capsule::Batch;

/// Returns the folded words, stems and likeness of each text in its language, one row a text. A
/// text that is missing has no values.
#[pyfunction]
pub(crate) fn text_words(
    py: Python<'_>,
    texts: Vec<Option<String>>,
    languages: Vec<Option<String>>,
) -> PyResult<Batch> {
    if texts.len() != languages.len() {
        return Err(PyValueError::new_err(format!(
            "{} texts have {} languages",
            texts.len(),
            languages.len()
        )));
    }
    let read = py.detach(|| batch(&texts, &languages));
    read.map(Batch)
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

fn batch(texts: &[Option<String>], languages: &[Option<String>]) -> Result<RecordBatch, ArrowError> {
    let mut reader = TextWordsReader::default();
    let rows: Vec<Option<TextWords>> = texts
        .iter()
        .zip(languages)
        .map(|(text, language)| {
            let language = language.as_deref().unwrap_or_default();
            Some(reader.read(text.as_deref()?, language))
        })
        .collect();
    let words = |row: &Option<TextWords>| row.as_ref().map(|row| row.words.clone());
    let stems = |row: &Option<TextWords>| row.as_ref().map(|row| row.stems.clone());
    // The same 64 bits: Delta Lake has no unsigned numbers.
    let likeness = |row: &Option<TextWords>| Some(row.as_ref()?.likeness? as i64);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(rows.iter().map(words).collect::<StringArray>()),
        Arc::new(rows.iter().map(stems).collect::<StringArray>()),
        Arc::new(rows.iter().map(likeness).collect::<Int64Array>()),
    ];
    let schema = Schema::new(vec![
        Field::new("words", DataType::Utf8, true),
        Field::new("stems", DataType::Utf8, true),
        Field::new("likeness", DataType::Int64, true),
    ]);
    RecordBatch::try_new(Arc::new(schema), columns)
}
