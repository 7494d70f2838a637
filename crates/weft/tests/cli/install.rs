//! `make install`: the program without debugging information, its manual pages and completions.

use std::path::Path;
use std::process::Command;

use crate::support::Place;

#[test]
fn the_program_its_pages_and_completions_are_installed() {
    let place = Place::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = env!("CARGO_BIN_EXE_weft");
    let mut make = Command::new("make");
    make.arg("-C")
        .arg(root)
        .args(["-s", "install-files", "PREFIX=/usr"]);
    make.arg(format!("DESTDIR={}", place.path("root").display()))
        .arg(format!("WEFT={program}"));
    let made = make.output().expect("make runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));

    let installed = place.path("root/usr/bin/weft");
    let size = |path: &Path| std::fs::metadata(path).expect("a file").len();
    assert!(size(&installed) < size(Path::new(program)), "it is not stripped");
    let version = apart::command(&installed, &place.path("root"))
        .arg("--version")
        .output()
        .expect("it runs");
    assert!(version.stdout.starts_with(b"weft "), "{version:?}");

    let read = |name: &str| std::fs::read_to_string(place.path("root/usr/share").join(name)).expect(name);
    for page in ["weft.1", "weft-load.1", "weft-store-layout.1"] {
        let page = read(&format!("man/man1/{page}"));
        assert!(page.contains(".SH NAME") && page.contains("Examples"), "{page}");
    }
    assert!(read("bash-completion/completions/weft").contains("complete -F _weft"));
    assert!(read("zsh/site-functions/_weft").starts_with("#compdef weft"));
    assert!(read("fish/vendor_completions.d/weft.fish").contains("complete -c weft"));
}

#[test]
fn bash_completes_commands() {
    let place = Place::new();
    let script = place.good(&["completions", "bash"]);
    place.write("weft.bash", script.as_bytes());
    let typed = "source ./weft.bash; COMP_WORDS=(weft inl); COMP_CWORD=1; _weft weft inl weft; echo \"${COMPREPLY[@]}\"";
    let Ok(done) = Command::new("bash")
        .current_dir(place.path(""))
        .args(["--norc", "-c", typed])
        .output()
    else {
        println!("skipped: bash completes, because there is no bash");
        return;
    };
    assert_eq!(
        String::from_utf8_lossy(&done.stdout).trim(),
        "inlinks",
        "{done:?}"
    );
}

#[test]
fn pages_that_cannot_be_written_are_told() {
    let place = Place::new();
    place.write("file", b"");
    let run = place.run(&["manual", "file"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(
        run.stderr.contains("could not be written to file"),
        "{}",
        run.stderr
    );
}
