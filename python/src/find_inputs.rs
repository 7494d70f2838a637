//! Finds the inputs that a call names: files, folders, patterns, path lists and addresses, as in
//! `weft load`.

use std::path::PathBuf;

use inputs::LoadInput;
use inputs::{ResolvedInput, is_address, path_of, path_text, resolve_inputs};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

use crate::remote_inputs::sources;

/// Finds inputs. Names are as given, locations are absolute.
pub(crate) fn find(arguments: &[PathBuf]) -> PyResult<Vec<ResolvedInput>> {
    let mut inputs = Vec::new();
    for argument in arguments {
        let name = path_text(argument);
        let (mark, text) = match name.strip_prefix('@') {
            Some(rest) => ("@", rest),
            None => ("", name.as_str()),
        };
        let path = if is_address(text) {
            text.to_owned()
        } else {
            let absolute = std::path::absolute(path_of(text));
            path_text(&absolute.map_err(|error| PyOSError::new_err(format!("{name}: {error}")))?)
        };
        inputs.push(LoadInput {
            path: format!("{mark}{path}"),
            name,
        });
    }
    // Lists may refer only to their own origin.
    Ok(resolve_inputs(&inputs, &[], &sources()))
}

/// Name, location, size, validator and problem of an input.
type FoundTuple = (String, String, u64, Option<String>, Option<String>);

/// Finds the inputs that arguments of `weft load` name. Returns for each its name, its location,
/// its size in bytes, a validator that changes with the content (for addresses, if the server sends
/// one), and the problem if it cannot be read.
#[pyfunction]
pub(crate) fn find_inputs(py: Python<'_>, arguments: Vec<PathBuf>) -> PyResult<Vec<FoundTuple>> {
    let found = py.detach(|| find(&arguments))?.into_iter();
    Ok(found
        .map(|input| {
            (
                input.name,
                input.location,
                input.size,
                input.validator,
                input.problem,
            )
        })
        .collect())
}

/// Returns whether a file name denotes a file of records.
#[pyfunction]
pub(crate) fn is_record_file_name(name: &str) -> bool {
    warc::is_record_file_name(name.as_bytes())
}
