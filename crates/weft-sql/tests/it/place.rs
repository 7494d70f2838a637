//! Test folders.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use archive::question::LoadRequest;
use archive::{Archive, OpenSettings};
use catalogue::{Catalogue, CatalogueSettings, Progress, ScanSettings};
use inputs::LoadInput;
use tempfile::TempDir;

/// A folder with an archive of a small synthetic web.
pub(crate) struct Workspace {
    root: TempDir,
}

impl Workspace {
    pub(crate) fn new() -> Workspace {
        let place = Workspace {
            root: tempfile::tempdir().unwrap(),
        };
        let web = place.path("web.warc.gz");
        let settings = generate::synth::Settings {
            pages: 60,
            seed: 1,
            format: generate::synth::Format::Warc,
            recrawls_permille: 0,
            files: 1,
            threads: 1,
        };
        generate::synth::write(&settings, &web, &mut |_| ()).unwrap();
        let mut opening = OpenSettings::default();
        opening.create = true;
        let archive = Archive::open(&place.path("weft-archive"), opening).unwrap();
        let request = LoadRequest {
            inputs: vec![LoadInput {
                name: "web.warc.gz".into(),
                path: inputs::path_text(&web),
            }],
            ..LoadRequest::default()
        };
        archive.load(&request, &mut |_, _| true).unwrap();
        place
    }

    /// Opens the archive's catalogue of files; creates it if missing.
    pub(crate) fn catalogue(&self) -> Arc<Catalogue> {
        let dir = self.path("weft-archive/files");
        Arc::new(Catalogue::create(&dir, &CatalogueSettings::default()).unwrap())
    }

    /// Makes a tree of three files, and scans it into the catalogue.
    pub(crate) fn scan(&self) {
        let tree = self.path("tree");
        std::fs::create_dir_all(tree.join("inner")).unwrap();
        for (name, size) in [("a.warc.gz", 10), ("inner/b.pdf", 200), ("inner/it's", 3)] {
            std::fs::write(tree.join(name), vec![b'x'; size]).unwrap();
        }
        let settings = ScanSettings::default();
        self.catalogue()
            .scan(&tree, &settings, &Progress::default())
            .unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Returns the program with these arguments.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.other(Path::new(env!("CARGO_BIN_EXE_weft-sql")), arguments)
    }

    /// Returns another program that runs in this folder.
    pub(crate) fn other(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = test_env::command(program, &self.path("home"));
        command.current_dir(self.root.path()).args(arguments);
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Returns the standard output of a successful run.
    pub(crate) fn good(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

/// Counts no rows: the subquery contains NULL and no such text. (The engine by itself would count
/// all pages.)
pub(crate) const NOT_IN_NULLS: &str =
    "select count(*) as n from pages where 'x' not in (select case when url = 'y' then url end from pages)";
