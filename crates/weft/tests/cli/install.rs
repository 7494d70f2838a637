//! `make install`: the program without debugging information, its manual pages and completions.

use std::path::Path;
use std::process::Command;

use crate::support::Workspace;

#[test]
fn the_program_its_pages_and_completions_are_installed() {
    let place = Workspace::new();
    let root = test_env::crate_dir().join("../..");
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
    let version = test_env::command(&installed, &place.path("root"))
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
    let place = Workspace::new();
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
    let place = Workspace::new();
    place.write("file", b"");
    let run = place.run(&["manual", "file"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(
        run.stderr.contains("write the manual pages to file"),
        "{}",
        run.stderr
    );
}

/// The package's files exist, run, and belong to root; systemd accepts the units.
#[test]
fn the_debian_package_holds_program_units_and_settings() {
    let place = Workspace::new();
    if Command::new("dpkg-deb").arg("--version").output().is_err() {
        println!("skipped: the Debian package, because there is no dpkg-deb");
        return;
    }
    let root = test_env::crate_dir().join("../..");
    let made = Command::new("make")
        .arg("-C")
        .arg(root)
        .args(["-s", "deb-files", "SQL=no", "DEB_LEVEL=0"])
        .arg(format!("CARGO_TARGET_DIR={}", place.path("target").display()))
        .arg(format!("WEFT={}", env!("CARGO_BIN_EXE_weft")))
        .output()
        .expect("make runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let package = String::from_utf8(made.stdout).expect("a path").trim().to_owned();
    let dpkg = |arguments: &[&str]| {
        let output = Command::new("dpkg-deb")
            .args(arguments)
            .output()
            .expect("it runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let version = format!("Version: {}", env!("CARGO_PKG_VERSION"));
    let info = dpkg(&["--info", &package]);
    for line in [
        version.as_str(),
        "Package: weft",
        "Depends: libc6",
        "conffiles",
        "postinst",
    ] {
        assert!(info.contains(line), "{line} is not in\n{info}");
    }
    let contents = dpkg(&["--contents", &package]);
    assert!(
        contents.lines().all(|line| line.contains(" root/root ")),
        "{contents}"
    );

    let unpacked = place.path("unpacked");
    dpkg(&["--extract", &package, unpacked.to_str().expect("text")]);
    let run = test_env::command(unpacked.join("usr/bin/weft"), &unpacked)
        .arg("--version")
        .output()
        .expect("it runs");
    assert!(run.stdout.starts_with(b"weft "), "{run:?}");
    let units =
        ["weft.service", "weft-store.service"].map(|unit| unpacked.join("usr/lib/systemd/system").join(unit));
    for unit in &units {
        let text = std::fs::read_to_string(unit).expect("a unit");
        assert!(text.contains("ExecStart=/usr/bin/weft "), "{text}");
    }
    // systemd-analyze checks that the program of a unit exists, so give it another root.
    let Ok(verified) = Command::new("systemd-analyze")
        .args(["verify", "--man=no", "--recursive-errors=no", "--root"])
        .arg(&unpacked)
        .args(["weft.service", "weft-store.service"])
        .output()
    else {
        println!("skipped: what systemd says of the units, because there is no systemd-analyze");
        return;
    };
    let said = String::from_utf8_lossy(&verified.stderr);
    let ours: Vec<&str> = said.lines().filter(|line| line.contains("weft")).collect();
    assert!(ours.is_empty(), "{said}");
}
