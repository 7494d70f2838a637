//! The files of a table.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::error::VectorsError;

/// Maximum size of a tokenizer. That of XLM-RoBERTa, with 250,000 tokens, has 17 MB.
const TOKENIZER_BYTES_MAX: u64 = 128 << 20;

/// Returns the tokenizer of a table: `tokenizer.json` in its folder, or the file of `wordllama`.
/// `weights/l2_supercat_256.safetensors` of that package belongs to
/// `tokenizers/l2_supercat_tokenizer_config.json`.
pub(crate) fn tokenizer_of(table: &Path) -> Result<PathBuf, VectorsError> {
    let folder = table.parent().unwrap_or(Path::new(""));
    let stem = table.file_stem().unwrap_or_default().to_string_lossy();
    let model = stem.rsplit_once('_').map_or(&*stem, |(model, _)| model);
    let of_model = format!("{model}_tokenizer_config.json");
    let candidates = [
        folder.join("tokenizer.json"),
        folder.join(&of_model),
        folder.join("..").join("tokenizers").join(&of_model),
    ];
    let found = candidates.into_iter().find(|path| path.is_file());
    found.ok_or_else(|| VectorsError::NoTokenizer {
        path: table.to_owned(),
    })
}

/// Reads the text of a tokenizer.
pub(crate) fn read_text(path: &Path) -> Result<String, VectorsError> {
    let file = File::open(path).map_err(|error| VectorsError::read(path, error))?;
    let mut text = String::new();
    file.take(TOKENIZER_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .map_err(|error| VectorsError::read(path, error))?;
    if text.len() as u64 > TOKENIZER_BYTES_MAX {
        return Err(VectorsError::tokenizer(path, "larger than 128 MiB".to_owned()));
    }
    Ok(text)
}
