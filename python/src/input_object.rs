//! An input for Python: its digest, then the batches of all tables in one pass.

use std::path::PathBuf;

use archive::OneInput;
use extract::LinkScope;
use parking_lot::Mutex;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

use crate::capsule::Batch;
use crate::input_rows::{InputRows, RowOrigin, Rows, RowsError};
use crate::remote_inputs::sources;

pub(crate) fn link_scope(name: &str) -> PyResult<LinkScope> {
    match name {
        "all" => Ok(LinkScope::All),
        "external" => Ok(LinkScope::External),
        _ => Err(PyValueError::new_err(format!(
            "links must be \"all\" or \"external\", got {name:?}"
        ))),
    }
}

pub(crate) fn rows_named(name: &str) -> PyResult<Rows> {
    Rows::named(name).ok_or_else(|| {
        PyValueError::new_err(format!(
            "unknown table {name:?}; expected captures, links, texts or quarantine"
        ))
    })
}

pub(crate) fn to_python(error: RowsError) -> PyErr {
    match error {
        RowsError::Read(error) => PyOSError::new_err(error.to_string()),
        RowsError::Arrow(error) => PyValueError::new_err(error.to_string()),
    }
}

/// An input with its digest. Content of a remote address is first copied into the folder `copies`.
#[pyclass(frozen, module = "weft_archive._weft")]
pub(crate) struct Input(OneInput);

#[pymethods]
impl Input {
    #[new]
    fn new(py: Python<'_>, location: String, copies: PathBuf) -> PyResult<Input> {
        let opened = py.detach(|| OneInput::open(&location, &sources(), &copies));
        opened
            .map(Input)
            .map_err(|error| PyOSError::new_err(format!("read {location}: {error}")))
    }

    /// Size in bytes.
    #[getter]
    fn size(&self) -> u64 {
        self.0.size()
    }

    /// `sha256:<hex>` of the bytes.
    #[getter]
    fn digest(&self) -> &str {
        self.0.digest()
    }

    /// Number of the input, derived from its content.
    #[getter]
    fn id(&self) -> i64 {
        facts::input_id_of(self.0.digest())
    }

    /// Returns whether the bytes are unchanged since they were digested.
    fn is_unchanged(&self) -> bool {
        self.0.is_unchanged()
    }

    /// Reads the input and returns the rows of these tables, under this name.
    #[pyo3(signature = (name, tables, *, links="all", collection=String::new(), epoch=0))]
    fn batches(
        &self,
        name: String,
        tables: Vec<String>,
        links: &str,
        collection: String,
        epoch: u64,
    ) -> PyResult<Batches> {
        let asked: PyResult<Vec<Rows>> = tables.iter().map(|name| rows_named(name)).collect();
        let from = RowOrigin {
            id: self.id(),
            name,
            digest: self.0.digest().to_owned(),
            collection,
            epoch,
        };
        let rows = InputRows::new(&self.0, from, link_scope(links)?, &asked?);
        let rows = rows.map_err(RowsError::Read).map_err(to_python)?;
        Ok(Batches(Mutex::new(rows)))
    }
}

/// Batches of an input, each with the name of its table.
#[pyclass(frozen, module = "weft_archive._weft")]
pub(crate) struct Batches(Mutex<InputRows>);

#[pymethods]
impl Batches {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<(&'static str, Batch)>> {
        let next = py.detach(|| self.0.lock().next()).map_err(to_python)?;
        Ok(next.map(|(rows, batch)| (rows.name(), Batch(batch))))
    }

    /// Returns the number of records, captures and quarantined parts so far.
    fn counts(&self) -> (u64, u64, u64) {
        let counts = self.0.lock().counts();
        (counts.records, counts.captures, counts.quarantined)
    }

    /// After the last batch, returns the reason if the input counts as failed.
    fn failure(&self) -> Option<&'static str> {
        self.0.lock().failure()
    }
}
