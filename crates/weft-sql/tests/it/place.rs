//! Where tests work.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use archive::question::{LoadInput, LoadRequest};
use archive::{Archive, OpenSettings};
use tempfile::TempDir;

/// A folder with an archive of a small made-up web.
pub(crate) struct Place {
    root: TempDir,
}

impl Place {
    pub(crate) fn new() -> Place {
        let place = Place {
            root: tempfile::tempdir().unwrap(),
        };
        let web = place.path("web.warc.gz");
        let settings = making::synth::Settings {
            pages: 60,
            seed: 1,
            format: making::synth::Format::Warc,
            recrawls_permille: 0,
            files: 1,
            threads: 1,
        };
        making::synth::write(&settings, &web, &mut |_| ()).unwrap();
        let mut opening = OpenSettings::default();
        opening.create = true;
        let archive = Archive::open(&place.path("weft-archive"), opening).unwrap();
        let request = LoadRequest {
            inputs: vec![LoadInput {
                name: "web.warc.gz".into(),
                path: archive::path_text(&web),
            }],
            ..LoadRequest::default()
        };
        archive.load(&request, &mut |_, _| true).unwrap();
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// The program with these arguments.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.other(Path::new(env!("CARGO_BIN_EXE_weft-sql")), arguments)
    }

    /// Another program, beside the archive.
    pub(crate) fn other(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = apart::command(program, &self.path("home"));
        command.current_dir(self.root.path()).args(arguments);
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Standard output of a run that succeeds.
    pub(crate) fn good(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}
