//! One epoch of an archive, held while several dumps are made of it.

use std::io::Write;

use index::Snapshot;

use crate::cut_epochs::CutEpochs;
use crate::question::{Dump, DumpFormat, DumpRange, DumpRequest};
use crate::socket::client::HeldCut;
use crate::{Archive, AskError, ask};

/// One epoch of an archive. All dumps of it show the same state, even while loads continue. Its
/// data stays on disk until it is dropped, so hold it only for one question.
pub struct Cut {
    pub(crate) archive: Archive,
    pub(crate) of: CutEpochs,
    pub(crate) held: CutHolder,
}

/// The holder of the cut.
pub(crate) enum CutHolder {
    Here(Snapshot),
    ByOwner(HeldCut),
}

impl Cut {
    /// Returns the number of the epoch.
    pub fn epoch(&self) -> u64 {
        self.of.epoch
    }

    /// Returns the last epoch that a table of facts must contain to show the same state as this
    /// cut.
    pub fn facts_epoch(&self, table: facts::Table) -> u64 {
        self.of.facts[table]
    }

    /// Returns the archive.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// Writes a part of a view. Returns the number of rows.
    ///
    /// # Errors
    /// [`AskError`]; some rows may have been written already. `Unavailable` if the owner that held
    /// the cut has ended.
    pub fn dump(
        &self,
        rows: impl Into<Dump>,
        range: DumpRange,
        format: DumpFormat,
        out: &mut dyn Write,
    ) -> Result<u64, AskError> {
        let mut request = DumpRequest {
            view: rows.into(),
            format,
            range,
            cut: None,
        };
        match &self.held {
            CutHolder::Here(snapshot) => ask::dump(snapshot, &request, out),
            CutHolder::ByOwner(held) => {
                request.cut = Some(held.cut);
                self.archive.dump_requested(&request, out)
            }
        }
    }
}
