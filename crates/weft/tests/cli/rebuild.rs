//! `weft rebuild`: restores a view that lost a row, and the search index.

use index::{Index, Settings};

use crate::addresses::dumps;
use crate::fixture;
use crate::serve::Served;
use crate::support::Workspace;

/// Returns an archive of the small web.
fn loaded() -> Workspace {
    let place = Workspace::new();
    place.write_old("web.warc", &fixture::small_web());
    place.good(&["load", "web.warc"]);
    place
}

/// Deletes a row of an index table, to simulate damage.
fn lose(place: &Workspace, table: &str) {
    let index = place.path("weft-archive/index");
    let index = Index::open(&index, None, Settings::default()).expect("the index");
    index.lose_row(table).expect("a row");
}

/// Returns search results without the time taken.
fn found(place: &Workspace) -> String {
    let said = place.good(&["search", "library"]);
    let (_, results) = said.split_once('\n').expect("a first line");
    results.to_owned()
}

#[test]
fn a_view_that_lost_a_row_is_as_before() {
    for (table, view) in [
        ("uris", "uris"),
        ("uris", "inlinks"),
        ("sources", "inlinks"),
        ("domains", "domains"),
        ("domains", "top"),
    ] {
        let place = loaded();
        let expected = dumps(&place, "weft-archive", "");
        let search = found(&place);
        lose(&place, table);
        assert_ne!(place.run(&["verify"]).code, Some(0), "{table}");
        let said = place.good(&["rebuild", view]);
        assert!(said.contains(&format!("{table:<10} ")), "{said}");
        assert!(said.contains(" 1 repaired in epoch "), "{table}: {said}");
        assert_eq!(dumps(&place, "weft-archive", ""), expected, "{table}");
        assert_eq!(found(&place), search, "{table}");
        place.good(&["verify"]);
        let again = place.good(&["rebuild", view]);
        assert!(again.ends_with("compared: nothing was wrong\n"), "{again}");
    }
}

/// After a kill at each durable step, the next command that opens the archive completes the
/// rebuild.
#[test]
fn a_rebuild_that_is_killed_goes_on_when_the_archive_is_opened() {
    for point in index::REBUILDING_CRASH_POINTS {
        let place = loaded();
        let expected = dumps(&place, "weft-archive", "");
        lose(&place, "uris");
        let killed = place
            .command(&["rebuild", "uris"])
            .env("WEFT_CRASH_POINT", point)
            .output()
            .expect("the program starts");
        assert_eq!(killed.status.code(), None, "{point}");
        // The command may report the resumption on standard error.
        assert_eq!(place.run(&["dump", "uris"]).stdout, expected["uris"], "{point}");
        assert_eq!(dumps(&place, "weft-archive", ""), expected, "{point}");
        place.good(&["verify"]);
        let again = place.good(&["rebuild", "uris"]);
        assert!(
            again.ends_with("compared: nothing was wrong\n"),
            "{point}: {again}"
        );
    }
}

#[test]
fn an_owner_rebuilds_while_it_serves() {
    let place = loaded();
    let expected = dumps(&place, "weft-archive", "");
    lose(&place, "domains");
    let mut served = Served::start(&place);
    let rebuilt = place.json(&["rebuild", "top", "search"]);
    let parts = rebuilt["parts"].as_array().expect("a list");
    let mended = |part: &str| {
        let found = parts.iter().find(|row| row["part"] == part).expect(part);
        found["mended"].as_u64()
    };
    assert_eq!((mended("domains"), mended("rankings")), (Some(1), Some(0)));
    assert!(mended("search") > Some(1), "{rebuilt}");
    assert_eq!(dumps(&place, "weft-archive", ""), expected);
    assert!(served.get("/search?q=library").contains("200 OK"));
    assert_eq!(served.stop(), Some(0));
    place.good(&["verify"]);
}

#[test]
fn search_is_made_anew_and_a_kill_leaves_what_was_there() {
    let place = loaded();
    let before = found(&place);
    for point in [
        "search.before_prepare",
        "search.before_commit",
        "search.after_commit",
    ] {
        let killed = place
            .command(&["rebuild", "search"])
            .env("WEFT_CRASH_POINT", point)
            .output()
            .expect("the program starts");
        assert_eq!(killed.status.code(), None, "{point}");
        assert_eq!(found(&place), before, "{point}");
        place.good(&["verify"]);
    }
    let said = place.good(&["rebuild", "search"]);
    assert!(
        said.starts_with("search ") && said.contains("documents rebuilt"),
        "{said}"
    );
    assert_eq!(found(&place), before);
    place.good(&["verify"]);
}

#[test]
fn what_others_are_made_from_is_refused_with_what_to_do() {
    let place = loaded();
    for view in ["captures", "pages", "links", "ledger", "quarantine"] {
        let run = place.run(&["rebuild", "top", view]);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(
            run.stderr
                .contains(&format!("view {view} is not derived from other tables"))
                && run.stderr.contains("load the inputs into a new archive"),
            "{run:?}"
        );
    }
    let run = place.run(&["rebuild", "tops"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("unknown view `tops`"), "{run:?}");
    assert_eq!(place.run(&["rebuild"]).code, Some(2));
    // Damage in a source table does not spread to views built from it.
    lose(&place, "links");
    let before = place.good(&["dump", "uris"]);
    let run = place.run(&["rebuild", "uris"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("table links itself is damaged"), "{run:?}");
    assert_eq!(place.good(&["dump", "uris"]), before);
}
