//! The extension module of the Python package `weft_archive` (`docs/python.md`): rows of inputs as
//! Arrow record batches, and queries to archives.
//!
//! Rows come from the same reader, extraction and columns as in loads ([`archive::OneInput`],
//! [`facts::TableRows`]). This module only converts them to Arrow.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod archive_object;
mod arrow;
mod capsule;
mod find_inputs;
mod input_object;
mod input_rows;
mod remote_inputs;
mod stream;
mod text_words;
mod views;

use pyo3::prelude::*;

/// The implementation of the package `weft_archive`; import that instead.
#[pymodule]
mod _weft {
    #[pymodule_export]
    use super::archive_object::{Archive, Error};
    #[pymodule_export]
    use super::capsule::Batch;
    #[pymodule_export]
    use super::find_inputs::{find_inputs, is_record_file_name};
    #[pymodule_export]
    use super::input_object::{Batches, Input};
    #[pymodule_export]
    use super::stream::Stream;
    #[pymodule_export]
    use super::text_words::text_words;
    #[pymodule_export]
    use super::views::views;

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "the name that Python packages use")]
    const __version__: &str = archive::VERSION;
}
