//! `make install` and packages: the program without debugging information, its manual pages and
//! completions.

use std::path::Path;
use std::process::{Command, Output};

use crate::support::Workspace;

#[test]
fn the_program_its_pages_and_completions_are_installed() {
    let place = Workspace::new();
    let root = test_env::crate_dir().join("../..");
    let program = env!("CARGO_BIN_EXE_weft");
    let mut make = Command::new("make");
    make.arg("-C")
        .arg(root)
        .args(["-s", "install-files", "SQL=no", "PREFIX=/usr"]);
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
    for (page, examples) in [
        ("weft.1", "Common use"),
        ("weft-load.1", "Examples"),
        ("weft-store-layout.1", "Examples"),
    ] {
        let page = read(&format!("man/man1/{page}"));
        assert!(page.contains(".SH NAME") && page.contains(examples), "{page}");
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
    let weft = format!("WEFT={}", env!("CARGO_BIN_EXE_weft"));
    let made = make(
        "deb-files",
        &place,
        &["SQL=no".into(), "DEB_LEVEL=0".into(), weft],
    );
    let package = made.trim().to_owned();
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

#[test]
fn the_tarball_holds_the_program_its_pages_and_sums() {
    let place = Workspace::new();
    let weft = format!("WEFT={}", env!("CARGO_BIN_EXE_weft"));
    let printed = make(
        "dist-files",
        &place,
        &["SQL=no".into(), "DIST_LEVEL=1".into(), weft],
    );
    let tarball = printed.trim();
    let version = env!("CARGO_PKG_VERSION");
    let name = format!("weft-{version}-{}-linux-gnu", std::env::consts::ARCH);
    assert!(tarball.ends_with(&format!("/{name}.tar.gz")), "{tarball}");

    run(Path::new("tar"), &["-xzf", tarball], &place);
    let unpacked = place.path(&name);
    for file in [
        "LICENSE",
        "README.md",
        "share/man/man1/weft-load.1",
        "share/bash-completion/completions/weft",
        "lib/systemd/system/weft.service",
    ] {
        assert!(unpacked.join(file).is_file(), "{file}");
    }
    assert!(!unpacked.join("bin/weft-sql").exists());
    let said = run(&unpacked.join("bin/weft"), &["--version"], &place);
    assert_eq!(said.trim(), format!("weft {version}"));
    let check = "sha256sum --check --quiet SHA256SUMS";
    for folder in [unpacked, place.path("target/dist")] {
        run(
            Path::new("sh"),
            &["-c", &format!("cd '{}' && {check}", folder.display())],
            &place,
        );
    }
}

/// Neither the extension nor `weft-sql` is built: a wheel without code replaces the first, a copy of
/// the program the second.
#[test]
fn wheels_hold_the_programs() {
    let place = Workspace::new();
    let Some(python) = test_env::python(&["venv", "ensurepip"]) else {
        println!("skipped: wheels, because there is no python3 with venv and pip");
        return;
    };
    let version = env!("CARGO_PKG_VERSION");
    let info = format!("weft_archive-{version}.dist-info");
    let metadata = format!("Metadata-Version: 2.4\nName: weft-archive\nVersion: {version}\n");
    place.write("extension/weft_archive/__init__.py", b"");
    place.write(&format!("extension/{info}/METADATA"), metadata.as_bytes());
    let extension = place.path(&format!("weft_archive-{version}-cp310-abi3-linux_x86_64.whl"));
    let zip = format!(
        "cd extension && '{}' -m zipfile -c '{}' weft_archive {info}",
        python.display(),
        extension.display()
    );
    run(Path::new("sh"), &["-c", &zip], &place);
    for name in ["weft", "weft-sql"] {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_weft"), place.path(name)).expect("a link");
    }
    let variables = [
        format!("WEFT={}", place.path("weft").display()),
        format!("EXTENSION={}", extension.display()),
        "WHEEL_LEVEL=0".into(),
    ];
    make("wheel-files", &place, &variables);
    let older = [&variables[..], &["WHEEL_GLIBC=2.2".into()]].concat();
    let refused = try_make("wheel-files", &place, &older);
    assert!(!refused.status.success());
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("weft needs glibc 2."),
        "{refused:?}"
    );

    let wheels = place.path("target/wheels");
    let environment = place.path("environment");
    let made = ["-m", "venv", environment.to_str().expect("text")];
    run(&python, &made, &place);
    let install = ["install", "--quiet", "--disable-pip-version-check", "--no-index"];
    let found = ["--find-links", wheels.to_str().expect("text"), "weft-archive-sql"];
    // The second wheel needs the first one, of the same version.
    run(
        &environment.join("bin/pip"),
        &[&install[..], &found].concat(),
        &place,
    );
    for command in ["weft", "weft-archive", "weft-sql"] {
        let said = run(&environment.join("bin").join(command), &["--version"], &place);
        assert_eq!(said.trim(), format!("weft {version}"), "{command}");
    }
}

/// Runs `make` for a target that packs the program of these tests, and returns its output.
fn make(target: &str, place: &Workspace, variables: &[String]) -> String {
    let made = try_make(target, place, variables);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    String::from_utf8(made.stdout).expect("text")
}

fn try_make(target: &str, place: &Workspace, variables: &[String]) -> Output {
    Command::new("make")
        .arg("-C")
        .arg(test_env::crate_dir().join("../.."))
        .args(["-s", target])
        .arg(format!("CARGO_TARGET_DIR={}", place.path("target").display()))
        .args(variables)
        .output()
        .expect("make runs")
}

fn run(program: &Path, arguments: &[&str], place: &Workspace) -> String {
    let output = test_env::command(program, &place.path("home"))
        .current_dir(place.path(""))
        .args(arguments)
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{}: {output:?}", program.display());
    String::from_utf8_lossy(&output.stdout).into_owned()
}
