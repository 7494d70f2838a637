//! One table of any number of inputs as an Arrow stream.

use std::collections::VecDeque;
use std::path::PathBuf;

use archive::OneInput;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use extract::LinkScope;
use inputs::ResolvedInput;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::capsule;
use crate::find_inputs;
use crate::input_object::{link_scope, rows_named};
use crate::input_rows::{InputRows, RowOrigin, Rows, RowsError};
use crate::remote_inputs::sources;

/// One table of several inputs. Each stream made from it reads them again from the first.
#[pyclass(frozen, module = "weft_archive")]
pub(crate) struct Stream {
    inputs: Vec<ResolvedInput>,
    rows: Rows,
    links: LinkScope,
    copies: PathBuf,
}

#[pymethods]
impl Stream {
    #[new]
    fn new(
        py: Python<'_>,
        arguments: Vec<PathBuf>,
        table: &str,
        links: &str,
        copies: PathBuf,
    ) -> PyResult<Stream> {
        let (rows, links) = (rows_named(table)?, link_scope(links)?);
        let inputs = py.detach(|| find_inputs::find(&arguments))?;
        if let Some((input, problem)) = inputs
            .iter()
            .find_map(|input| Some((input, input.problem.as_ref()?)))
        {
            let message = format!("{}: {problem}", input.name);
            return Err(pyo3::exceptions::PyOSError::new_err(message));
        }
        Ok(Stream {
            inputs,
            rows,
            links,
            copies,
        })
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::schema(py, &self.rows.schema())
    }

    /// Returns a stream as a capsule. The requested schema is ignored, as the interface allows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let reader = Reader {
            left: self.inputs.clone().into(),
            rows: self.rows,
            links: self.links,
            copies: self.copies.clone(),
            open: None,
        };
        capsule::stream(py, Box::new(reader))
    }
}

/// Reads inputs one after another.
struct Reader {
    left: VecDeque<ResolvedInput>,
    rows: Rows,
    links: LinkScope,
    copies: PathBuf,
    open: Option<InputRows>,
}

impl Reader {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        loop {
            if let Some(open) = &mut self.open {
                match open.next() {
                    Ok(Some((_, batch))) => return Ok(Some(batch)),
                    Ok(None) => self.open = None,
                    Err(error) => return Err(self.fail(error)),
                }
            }
            let Some(found) = self.left.pop_front() else {
                return Ok(None);
            };
            self.open = Some(self.begin(&found)?);
        }
    }

    fn begin(&mut self, found: &ResolvedInput) -> Result<InputRows, ArrowError> {
        let input = OneInput::open(&found.location, &sources(), &self.copies);
        let input = input.map_err(|error| {
            self.left.clear();
            ArrowError::IoError(format!("read {}: {error}", found.location), error)
        })?;
        let from = RowOrigin {
            id: facts::input_id_of(input.digest()),
            name: found.name.clone(),
            digest: input.digest().to_owned(),
            collection: String::new(),
            epoch: 0,
        };
        let rows = InputRows::new(&input, from, self.links, &[self.rows]);
        rows.map_err(|error| self.fail(RowsError::Read(error)))
    }

    /// Stops reading after an error.
    fn fail(&mut self, error: RowsError) -> ArrowError {
        self.left.clear();
        self.open = None;
        match error {
            RowsError::Arrow(error) => error,
            RowsError::Read(error) => ArrowError::IoError(error.to_string(), std::io::Error::other(error)),
        }
    }
}

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }
}
