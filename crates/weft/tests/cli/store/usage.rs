//! Wrong use of `weft store`, which must leave nothing behind.

use crate::support::Workspace;

const COMMANDS: &[&str] = &[
    "put", "get", "ls", "rm", "retain", "hold", "stat", "census", "scrub", "repair", "layout", "fixity",
    "reindex", "serve", "status",
];

#[test]
fn every_command_has_help_with_examples() {
    let place = Workspace::new();
    let help = place.good(&["store", "--help"]);
    for command in COMMANDS {
        assert!(
            help.contains(&format!("\n  {command} ")),
            "{command} is not in\n{help}"
        );
        let help = place.good(&["store", command, "--help"]);
        assert!(help.contains("\nExamples:\n  "), "{command}:\n{help}");
        assert!(
            help.lines().all(|line| line.chars().count() <= 120),
            "{command} is too wide:\n{help}"
        );
    }
}

#[test]
fn every_layout_command_has_examples_of_its_own() {
    let place = Workspace::new();
    for command in ["show", "plan", "apply", "figures"] {
        let help = place.good(&["store", "layout", command, "--help"]);
        let examples: Vec<&str> = help.lines().filter(|line| line.starts_with("  weft ")).collect();
        let own = format!("  weft store layout {command}");
        assert!(
            !examples.is_empty() && examples.iter().all(|example| example.starts_with(&own)),
            "{command}:\n{help}"
        );
    }
}

#[test]
fn wrong_use_is_code_2_and_leaves_nothing_behind() {
    let place = Workspace::new();
    place.write("x/one", b"1");
    place.write("y/one", b"2");
    for arguments in [
        &["store"] as &[&str],
        &["store", "ls"],
        &["store", "put", "x/one", "--volume", "a"],
        &["load", "x/one", "--archive", "y/one"],
        &["store", "put", "x/one", "No_Bucket/x", "--volume", "a"],
        &["store", "put", "x/one", "y/one", "bucket/", "--volume", "a"],
        &["store", "put", "-", "bucket/", "--volume", "a"],
        &["store", "put", "x/one", "bucket/", "--volume", "a,colour=red"],
        &["store", "put", "x/one", "bucket/", "--volume", "a,weight=heavy"],
        &[
            "store",
            "put",
            "x/one",
            "bucket/",
            "--volume",
            "a",
            "--config",
            "node.toml",
        ],
        &["store", "get", "bucket", "--volume", "a"],
        &["store", "ls", "--cluster", "cluster.toml"],
        &["store", "rm", "bucket/x", "--yes", "--volume", "a"],
        &["store", "scrub", "--rate", "fast", "--volume", "a"],
        &["store", "fixity", "--sha512", "--volume", "a"],
        &["store", "serve", "--volume", "a", "--s3", "127.0.0.1:0"],
        &["store", "serve", "--volume", "a", "--s3-keys", "keys"],
        &["serve", "--s3", "127.0.0.1:0"],
        &[
            "serve",
            "--volume",
            "a",
            "--s3",
            "127.0.0.1:0",
            "--s3-tls-cert",
            "cert.pem",
        ],
        &["serve", "--volume", "a", "--store-config", "node.toml"],
    ] {
        let run = place.run(arguments);
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (Some(2), ""),
            "{arguments:?}: {}",
            run.stderr
        );
        assert!(!run.stderr.is_empty(), "{arguments:?}");
    }
    assert!(!place.path("a").exists() && !place.path("weft-archive").exists());
    let run = place.run(&["store", "ls"]);
    assert!(
        run.stderr.contains("WEFT_STORE") && run.stderr.contains("--volume"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_store_is_not_begun_for_files_that_cannot_be_read() {
    let place = Workspace::new();
    place.write("folder/x", b"x");
    for file in ["none", "folder"] {
        let run = place.run(&["store", "put", file, "bucket/", "--volume", "a"]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{}", run.stderr);
        assert!(run.stderr.contains(&format!("read {file}")), "{}", run.stderr);
    }
    assert!(!place.path("a").exists());
}

/// A mistyped directory must not become a store.
#[test]
fn only_put_makes_a_store() {
    let place = Workspace::new();
    for command in [
        &["ls"] as &[&str],
        &["get", "b/x"],
        &["stat", "b/x"],
        &["rm", "b/x"],
        &["census"],
        &["scrub"],
        &["repair"],
        &["fixity"],
        &["status"],
        &["reindex"],
        &["layout", "show"],
    ] {
        let arguments: Vec<&str> = ["store"]
            .iter()
            .chain(command)
            .copied()
            .chain(["--volume", "typo"])
            .collect();
        let run = place.run(&arguments);
        assert_eq!(run.code, Some(1), "{command:?}: {}", run.stderr);
        assert!(run.stderr.contains("typo"), "{command:?}: {}", run.stderr);
        assert!(!place.path("typo").exists(), "{command:?} made a directory");
    }
}

#[test]
fn files_that_are_missing_or_wrong_are_named() {
    let place = Workspace::new();
    place.write("bad.toml", b"id = 7");
    for (arguments, said) in [
        (&["store", "ls", "--config", "none.toml"] as &[&str], "none.toml"),
        (&["store", "ls", "--config", "bad.toml"], "bad.toml"),
        (
            &["store", "ls", "--cluster", "none.toml", "--secret-file", "none"],
            "none",
        ),
        (&["store", "serve", "--config", "bad.toml"], "bad.toml"),
        (
            &["serve", "--listen", "127.0.0.1:0", "--store-config", "none.toml"],
            "none.toml",
        ),
    ] {
        let run = place.run(arguments);
        assert_eq!(run.code, Some(1), "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(said), "{arguments:?}: {}", run.stderr);
    }
}

#[test]
fn a_volume_is_a_directory() {
    let place = Workspace::new();
    place.write("file", b"not a disk");
    for command in [&["store", "ls"] as &[&str], &["store", "serve"], &["serve"]] {
        let run = place.run(&[command, &["--volume", "file"]].concat());
        assert_eq!(run.code, Some(2), "{command:?}: {}", run.stderr);
        assert!(
            run.stderr.contains("file is not a directory"),
            "{command:?}: {}",
            run.stderr
        );
    }
}

#[test]
fn placement_is_measured_without_a_store() {
    let place = Workspace::new();
    let figures = place.good(&["store", "layout", "figures"]);
    assert!(
        figures.contains("5 zones x 3 equal volumes") && !figures.contains("exceeded"),
        "{figures}"
    );
}
