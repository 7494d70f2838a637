//! Queries to an archive and their answers as JSON, from which the package makes Python objects.

use std::path::PathBuf;

use archive::OpenSettings;
use archive::question::Question;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;

use crate::remote_inputs::sources;

create_exception!(
    weft_archive,
    Error,
    PyException,
    "An archive cannot be opened or does not answer. The arguments are a message and a code."
);

/// An open archive: this process owns it, or sends requests to the owner.
#[pyclass(frozen, module = "weft_archive._weft")]
pub(crate) struct Archive(archive::Archive);

#[pymethods]
impl Archive {
    #[new]
    fn new(py: Python<'_>, folder: PathBuf) -> PyResult<Archive> {
        let mut settings = OpenSettings::default();
        settings.asks_only = true;
        let opened = py.detach(|| archive::Archive::open_with(&folder, settings, sources()));
        opened
            .map(Archive)
            .map_err(|error| Error::new_err((error.to_string(), "not_opened")))
    }

    /// The absolute folder of the archive.
    #[getter]
    fn folder(&self) -> PathBuf {
        self.0.dir().to_owned()
    }

    /// Answers a question; both are JSON.
    fn ask(&self, py: Python<'_>, question: &str) -> PyResult<String> {
        let question: Question =
            serde_json::from_str(question).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let answer = py
            .detach(|| self.0.ask(question))
            .map_err(|error| Error::new_err((error.message, error.code.name())))?;
        serde_json::to_string(&answer).map_err(|error| PyValueError::new_err(error.to_string()))
    }
}
