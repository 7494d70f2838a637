//! Test archives, and answers as text.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use archive::question::{JobState, LoadRequest, View};
use archive::{Archive, OpenSettings};
use catalogue::{Catalogue, CatalogueSettings, Progress, ScanSettings};
use inputs::LoadInput;
use sql::arrow::util::display::{ArrayFormatter, FormatOptions};
use sql::{Database, QuerySettings, Settings, SqlError};
use tempfile::TempDir;

/// A folder with an archive.
pub(crate) struct Workspace {
    root: TempDir,
}

impl Workspace {
    pub(crate) fn new() -> Workspace {
        Workspace {
            root: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Generates a synthetic web of this many pages, some of them crawled again.
    pub(crate) fn web(&self, pages: u64, seed: u64) -> PathBuf {
        let settings = generate::synth::Settings {
            pages,
            seed,
            format: generate::synth::Format::Warc,
            recrawls_permille: 200,
            files: 1,
            threads: 1,
        };
        let out = self.path(&format!("web-{seed}.warc.gz"));
        generate::synth::write(&settings, &out, &mut |_| ()).unwrap();
        out
    }

    /// Opens the archive as its owner; creates it if missing.
    pub(crate) fn own(&self) -> Archive {
        let mut settings = OpenSettings::default();
        settings.create = true;
        settings.own = true;
        Archive::open(&self.path("archive"), settings).unwrap()
    }

    pub(crate) fn load(&self, archive: &Archive, inputs: &[PathBuf], epoch_bytes: Option<u64>) {
        let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        self.load_as(archive, inputs, name, epoch_bytes);
    }

    /// Loads inputs like `weft load` with absolute paths, which become their names.
    pub(crate) fn load_by_path(&self, archive: &Archive, inputs: &[PathBuf]) {
        self.load_as(archive, inputs, |path| inputs::path_text(path), None);
    }

    fn load_as(
        &self,
        archive: &Archive,
        inputs: &[PathBuf],
        name: impl Fn(&PathBuf) -> String,
        epoch_bytes: Option<u64>,
    ) {
        let input = |path: &PathBuf| LoadInput {
            name: name(path),
            path: inputs::path_text(path),
        };
        let request = LoadRequest {
            inputs: inputs.iter().map(input).collect(),
            epoch_bytes,
            ..LoadRequest::default()
        };
        let (_, job) = archive.load(&request, &mut |_, _| true).unwrap();
        assert_eq!(job.state, JobState::Done, "{job:#?}");
    }

    /// Makes an archive of a small web, loaded and closed.
    pub(crate) fn small() -> Workspace {
        let place = Workspace::new();
        let web = place.web(120, 1);
        place.load(&place.own(), &[web], None);
        place
    }

    /// Opens the archive's catalogue of files; creates it if missing.
    pub(crate) fn catalogue(&self) -> Arc<Catalogue> {
        let dir = self.path("archive/files");
        Arc::new(Catalogue::create(&dir, &CatalogueSettings::default()).unwrap())
    }

    /// Scans a tree into the catalogue, and closes it.
    pub(crate) fn scan(&self, tree: &Path) {
        let settings = ScanSettings::default();
        self.catalogue()
            .scan(tree, &settings, &Progress::default())
            .unwrap();
    }

    pub(crate) fn database(&self) -> Database {
        Database::new(&self.path("archive"), &Settings::default()).unwrap()
    }
}

/// Returns the rows of an answer in dump format, without the last line end, and the epoch.
pub(crate) async fn ask_with(
    database: &Database,
    statement: &str,
    settings: &QuerySettings,
) -> Result<(u64, String), SqlError> {
    let mut answer = database.query(statement, settings).await?;
    let mut lines = Vec::new();
    while let Some(batch) = answer.next().await {
        let batch = batch?;
        let options = FormatOptions::new();
        let columns: Vec<_> = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column, &options).unwrap())
            .collect();
        for row in 0..batch.num_rows() {
            let cells: Vec<String> = columns
                .iter()
                .map(|column| column.value(row).to_string())
                .collect();
            lines.push(cells.join("\t"));
        }
    }
    Ok((answer.epoch, lines.join("\n")))
}

pub(crate) async fn ask(database: &Database, statement: &str) -> String {
    match ask_with(database, statement, &QuerySettings::default()).await {
        Ok((_, rows)) => rows,
        Err(error) => panic!("{statement}: {error}"),
    }
}

pub(crate) async fn refused(database: &Database, statement: &str) -> SqlError {
    match ask_with(database, statement, &QuerySettings::default()).await {
        Ok((_, rows)) => panic!("{statement} gave {rows}"),
        Err(error) => error,
    }
}

/// Returns the dump of a view.
pub(crate) fn dump(archive: &Archive, view: View) -> String {
    let mut out = Vec::new();
    archive
        .dump(view, archive::question::DumpFormat::Tsv, &mut out)
        .unwrap();
    String::from_utf8(out).unwrap()
}

pub(crate) fn shared_inputs(names: &[&str]) -> Option<Vec<PathBuf>> {
    let shared = test_env::shared_data()?;
    let files = |name: &&str| -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = std::fs::read_dir(shared.join(name))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| is_archive_file(path))
            .collect();
        files.sort();
        files
    };
    Some(names.iter().flat_map(files).collect())
}

fn is_archive_file(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_string_lossy();
    [".warc", ".arc", ".wat", ".wet"]
        .iter()
        .any(|kind| name.contains(kind))
        && !name.ends_with(".cdx")
}
