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
    let words: StringArray = rows
        .iter()
        .map(|row| Some(row.as_ref()?.words.as_str()))
        .collect();
    let stems: StringArray = rows
        .iter()
        .map(|row| Some(row.as_ref()?.stems.as_str()))
        .collect();
    // The same 64 bits: Delta Lake has no unsigned numbers.
    let likeness: Int64Array = rows
        .iter()
        .map(|row| Some(row.as_ref()?.likeness? as i64))
        .collect();
    let columns: Vec<ArrayRef> = vec![Arc::new(words), Arc::new(stems), Arc::new(likeness)];
    let schema = Schema::new(vec![
        Field::new("words", DataType::Utf8, true),
        Field::new("stems", DataType::Utf8, true),
        Field::new("likeness", DataType::Int64, true),
    ]);
    RecordBatch::try_new(Arc::new(schema), columns)
}
