//! `weft synth` and `weft pack`: their files can be loaded.

use crate::support::Workspace;

#[test]
fn synth_is_deterministic_and_loads_without_loss() {
    for format in ["warc", "wat"] {
        let place = Workspace::new();
        // The file contains its own name, so both files have the same one.
        for name in ["a/web.gz", "b/web.gz"] {
            place.write(name, b"");
            place.good(&["synth", "--pages", "60", "--seed", "5", "--format", format, name]);
        }
        let read = |name: &str| std::fs::read(place.path(name)).expect("a file");
        assert!(
            read("a/web.gz") == read("b/web.gz"),
            "{format}: the same seed, other bytes"
        );
        place.good(&["inspect", "a/web.gz"]);
        place.good(&["load", "a/web.gz"]);
        assert_eq!(place.json(&["status"])["captures"].as_u64(), Some(60), "{format}");
    }
}

#[test]
fn synth_out_of_bounds_is_wrong_use() {
    let run = Workspace::new().run(&["synth", "--pages", "0", "x.warc.gz"]);
    assert_eq!(run.code, Some(2), "{run:?}");
}

#[test]
fn an_empty_folder_is_not_packed_silently() {
    let place = Workspace::new();
    std::fs::create_dir(place.path("empty")).expect("a folder");
    let run = place.run(&["pack", "empty", "--url-prefix", "https://x.example/", "x.warc.gz"]);
    assert_eq!(run.code, Some(1), "{}", run.stdout);
    assert!(
        run.stderr.contains("empty contains no file that can be packed"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_packed_folder_can_be_searched() {
    let place = Workspace::new();
    place.write(
        "site/index.html",
        b"<title>Home</title><a href='notes.md'>notes</a>",
    );
    place.write(
        "site/notes.md",
        b"# Notes\n\nAbout [home](index.html) and *weaving*.\n",
    );
    place.write("site/plain.txt", b"Plain text.\n");
    place.good(&[
        "pack",
        "site",
        "--url-prefix",
        "http://site.example/",
        "site.warc.gz",
    ]);
    place.good(&["inspect", "site.warc.gz"]);
    place.good(&["load", "site.warc.gz"]);
    let hits = place.json(&["search", "weaving"]);
    assert_eq!(hits["hits"][0]["url"], "http://site.example/notes.md", "{hits}");
    let run = place.run(&[
        "pack",
        "missing",
        "--url-prefix",
        "http://site.example/",
        "x.warc.gz",
    ]);
    assert_eq!(run.code, Some(1), "{run:?}");
}
