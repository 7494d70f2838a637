//! Exports captures as an index for other tools.

use std::io::Write;

use archive::Archive;
use cdx::{Column, Dialect, Form, Writer};

use super::Subset;
use super::zipnum::{Block, ZipNum};
use crate::results::{ExportError, ExportReport};

/// The nine columns of a CDX index.
const CDX9: &str = "urlkey,timestamp,url,mime,status,digest,redirect,offset,filename";

/// The name of the file for the members written by [`Archive::export_zipnum`].
pub(super) const PART: &str = "cdx-00000.gz";

/// Format of an exported index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexForm {
    /// One `urlkey timestamp {json}` per line.
    Cdxj,
    /// Nine columns, with a header line of their letters.
    Cdx9,
    /// Eleven columns, with a header line of their letters.
    Cdx11,
}

impl IndexForm {
    fn head(self) -> &'static str {
        match self {
            IndexForm::Cdxj => "",
            IndexForm::Cdx9 => " CDX N b a m s k r V g\n",
            IndexForm::Cdx11 => " CDX N b a m s k r M S V g\n",
        }
    }

    fn writer(self) -> Writer {
        match self {
            IndexForm::Cdxj => Writer::new(Form::Cdxj, Dialect::Pywb, None, &[]),
            IndexForm::Cdx9 => Writer::new(Form::Text, Dialect::Pywb, Some(Column::list(CDX9)), &[]),
            IndexForm::Cdx11 => Writer::new(Form::Text, Dialect::Pywb, None, &[]),
        }
    }
}

/// Writes a sorted index of captures, with inputs by the last part of their names. `progress`
/// gets the number of captures written so far, and returns whether to continue.
///
/// # Errors
/// [`ExportError`].
pub fn write_index(
    archive: &Archive,
    subset: &Subset,
    form: IndexForm,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<ExportReport, ExportError> {
    let (mut writer, mut exported) = (form.writer(), ExportReport::default());
    out.write_all(form.head().as_bytes())
        .map_err(ExportError::Output)?;
    let index_only = subset.for_each(&|question| archive.ask(question), true, progress, &mut |row| {
        exported.results += 1;
        let line = writer.rows(std::slice::from_ref(&row));
        out.write_all(line.as_bytes()).map_err(ExportError::Output)
    })?;
    out.flush().map_err(ExportError::Output)?;
    exported.index_only = index_only;
    Ok(exported)
}

/// Writes captures as a ZipNum cluster in pywb's format: `members` is its file `cdx-00000.gz`,
/// `second` its `cluster.idx`, `places` its `cluster.loc`.
///
/// # Errors
/// [`ExportError`].
pub fn write_zipnum(
    archive: &Archive,
    subset: &Subset,
    [members, second, places]: [&mut dyn Write; 3],
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<ExportReport, ExportError> {
    let mut exported = ExportReport::default();
    let mut zipnum = ZipNum::new(members, second, cluster_line);
    let index_only = subset.for_each(&|question| archive.ask(question), true, progress, &mut |row| {
        exported.results += 1;
        zipnum.push(&row).map_err(ExportError::Output)
    })?;
    zipnum.finish().map_err(ExportError::Output)?;
    let place = format!("{PART}\t{PART}\n");
    places
        .write_all(place.as_bytes())
        .and_then(|()| places.flush())
        .map_err(ExportError::Output)?;
    exported.index_only = index_only;
    Ok(exported)
}

fn cluster_line(block: &Block) -> String {
    let Block {
        place,
        offset,
        length,
        number,
        ..
    } = block;
    format!("{place}\t{PART}\t{offset}\t{length}\t{number}\n")
}
