//! An archive made anew from the inputs of another, in a folder beside it that goes away with it.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use anyhow::{Context as _, bail};
use archive::question::{JobBody, LedgerRow, LoadInput, LoadRequest, StatusBody};
use archive::{Archive, OpenSettings, Sources};
use extract::LinkScope;
use tempfile::TempDir;

use crate::stop::Stop;

/// An archive made anew.
pub(super) struct Fresh {
    // Closed before its folder goes away: fields are dropped in this order.
    archive: Archive,
    folder: TempDir,
}

impl Fresh {
    /// Loads the inputs of `rows` as they were loaded into the archive at `beside`.
    pub(super) fn load(
        beside: &Path,
        rows: &[LedgerRow],
        status: &StatusBody,
        sources: Sources,
        stop: &Stop,
    ) -> anyhow::Result<Fresh> {
        let parent = beside.parent().unwrap_or(beside);
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix(".weft-verify-");
        // Beside a read-only archive nothing can be written.
        let folder = builder
            .tempdir_in(parent)
            .or_else(|_| builder.tempdir())
            .with_context(|| format!("create a folder in {}", parent.display()))?;
        let mut settings = OpenSettings::default();
        settings.create = true;
        settings.own = true;
        settings.links = Some(if status.links_scope == "external" {
            LinkScope::External
        } else {
            LinkScope::All
        });
        let archive = Archive::open_with(&folder.path().join("archive"), settings, sources)?;
        for request in requests(rows) {
            let (_, job) = archive.load(&request, &mut |_, _| !stop.asked())?;
            check(&job)?;
        }
        Ok(Fresh { archive, folder })
    }

    /// All rows of a view, in a file that has no name any more.
    pub(super) fn dump(&self, view: &str) -> anyhow::Result<File> {
        let mut file = tempfile::tempfile_in(self.folder.path()).context("create a file")?;
        self.archive.dump(view, "tsv", &mut file)?;
        Ok(file)
    }
}

/// One load for each collection, under the names of the ledger. Without search: it is not among the views.
fn requests(rows: &[LedgerRow]) -> Vec<LoadRequest> {
    let mut inputs: BTreeMap<&str, Vec<LoadInput>> = BTreeMap::new();
    for row in rows {
        let input = LoadInput {
            name: row.input.clone(),
            path: row.location.clone(),
        };
        inputs.entry(&row.collection).or_default().push(input);
    }
    inputs
        .into_iter()
        .map(|(collection, inputs)| LoadRequest {
            inputs,
            collection: Some(collection.to_owned()).filter(|name| !name.is_empty()),
            stages_off: vec!["search".to_owned()],
            ..LoadRequest::default()
        })
        .collect()
}

fn check(job: &JobBody) -> anyhow::Result<()> {
    match job.state.as_str() {
        "done" => Ok(()),
        "cancelled" => bail!("stopped; nothing was compared"),
        _ => bail!(
            "read the inputs again: {}",
            job.error.as_deref().unwrap_or("failed without a reason")
        ),
    }
}
