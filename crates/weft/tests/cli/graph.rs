//! `weft graph`: links between domains or hosts, as read by other programs.

use std::process::Command;

use expect_test::expect;

use crate::fixture::small_web;
use crate::support::Workspace;

fn loaded() -> Workspace {
    let place = Workspace::new();
    place.write("web.warc", &small_web());
    place.good(&["load", "web.warc", "--collection", "web"]);
    place
}

#[test]
fn questions_without_an_answer_are_refused_or_noted() {
    let place = loaded();
    for command in [
        &["inlinks", "http://www.library.example/"][..],
        &["report"],
        &["graph", "-o", "never.csv"],
        &["cdx", "http://www.library.example/"],
    ] {
        let run = place.run(&[command, &["--from", "2024", "--to", "2023"]].concat());
        assert_eq!(run.code, Some(2), "{command:?}: {run:?}");
        assert!(run.stderr.contains("--from 2024 is after --to 2023"), "{run:?}");
    }
    assert!(!place.path("never.csv").exists());
    for (name, is_noted) in [("nosuch", true), ("web", false)] {
        for command in [&["report"][..], &["graph", "-o", "-", "--format", "csv"]] {
            let run = place.run(&[command, &["--collection", name]].concat());
            assert_eq!(run.code, Some(0), "{run:?}");
            let noted = run.stderr.contains("no input is in the collection");
            assert_eq!(noted, is_noted, "{command:?} {name}: {run:?}");
        }
    }
}

#[test]
fn links_between_domains_are_counted() {
    let place = loaded();
    place.check(
        &["graph", "-o", "links.csv"],
        &expect![[r#"
        exit code 0
        3 domains and 3 edges from 7 links of 4 pages and redirects written to links.csv
    "#]],
    );
    let table = std::fs::read_to_string(place.path("links.csv")).unwrap();
    expect![[r#"
        source,target,links,pages,first_seen,last_seen
        library.example,library.example,2,2,2014-01-26T20:06:25.000Z,2016-01-01T00:00:00.000Z
        library.example,museum.example,1,1,2014-01-26T20:06:25.000Z,2014-01-26T20:06:25.000Z
        museum.example,gone.example,1,1,2015-03-01T08:00:01.000Z,2015-03-01T08:00:01.000Z
        museum.example,library.example,2,2,2015-03-01T08:00:00.000Z,2015-03-01T08:00:01.000Z
        museum.example,museum.example,1,1,2015-03-01T08:00:00.000Z,2015-03-01T08:00:00.000Z
    "#]]
    .assert_eq(&table.replace("\r\n", "\n"));
    // The totals cover all links.
    let links = place.good(&["dump", "links"]).lines().count();
    let told = place.json(&["graph", "-o", "all.gexf"]);
    assert_eq!(told["links"], links);
    assert_eq!((&told["format"], &told["by"]), (&"gexf".into(), &"domain".into()));
    assert_eq!(
        told["links_between"].as_u64().unwrap() + told["links_within"].as_u64().unwrap(),
        links as u64
    );
}

#[test]
fn a_graph_has_a_time_a_collection_and_a_size() {
    let place = loaded();
    let sizes = |name: &str, flags: &[&str]| {
        let arguments = [&["graph", "-o", name], flags].concat();
        let told = place.json(&arguments);
        [&told["pages"], &told["nodes"], &told["edges"], &told["links"]]
            .map(|number| number.as_u64().unwrap())
    };
    assert_eq!(sizes("a.csv", &[]), [4, 3, 3, 7]);
    assert_eq!(
        sizes("b.csv", &["--from", "2015", "--to", "2015-03"]),
        [2, 3, 2, 4]
    );
    assert_eq!(sizes("c.csv", &["--collection", "other"]), [0, 0, 0, 0]);
    assert_eq!(sizes("d.csv", &["--min-links", "2"]), [4, 2, 1, 7]);
    assert_eq!(sizes("e.csv", &["--top", "2", "--by", "host"]), [4, 2, 2, 7]);
}

#[test]
fn a_file_named_by_a_hyphen_is_standard_output() {
    let place = loaded();
    let csv = place.good(&["graph", "-o", "-", "--format", "csv"]);
    assert!(csv.starts_with("source,target,links"), "{csv}");
    let html = place.good(&["report", "--html", "-o", "-"]);
    assert!(html.contains("</html>"), "{html}");
    let found = place.good(&["search", "reading", "--export", "csv", "-o", "-"]);
    assert_eq!(found, place.good(&["search", "reading", "--export", "csv"]));
    assert!(!place.path("-").exists());
    let run = place.run(&["graph", "-o", "-", "--format", "csv", "--json"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
}

#[test]
fn wrong_use_writes_nothing() {
    let place = loaded();
    place.write("there.csv", b"mine");
    for (arguments, said) in [
        (vec!["graph", "-o", "there.csv"], "not overwritten"),
        (vec!["graph", "-o", "x.txt"], ".gexf, .graphml, .parquet or .csv"),
        (
            vec!["graph", "-o", "x.csv", "--from", "2012-13"],
            "--from takes a date",
        ),
        (vec!["graph", "-o", "x.csv", "--by", "page"], "domain"),
        (vec!["graph"], "--output"),
    ] {
        let run = place.run(&arguments);
        assert_eq!(run.code, Some(2), "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(said), "{arguments:?}: {}", run.stderr);
    }
    assert_eq!(std::fs::read(place.path("there.csv")).unwrap(), b"mine");
    assert!(!place.path("x.csv").exists());
}

/// Reads the files with NetworkX and compares their content.
#[test]
fn networkx_reads_what_is_written() {
    let Some(python) = test_env::python(&["networkx"]) else {
        eprintln!("skipped: no Python with networkx (make need-field)");
        return;
    };
    let place = loaded();
    for name in ["g.gexf", "g.graphml", "g.csv"] {
        place.good(&["graph", "-o", name]);
    }
    let script = "
import csv, networkx
rows = list(csv.DictReader(open('g.csv', newline='')))
expected = sorted((r['source'], r['target'], int(r['links'])) for r in rows if r['source'] != r['target'])
loops = {r['source']: int(r['links']) for r in rows if r['source'] == r['target']}
for graph in (networkx.read_gexf('g.gexf', version='1.3' if '1.3' in networkx.readwrite.gexf.GEXF.versions else '1.2draft'), networkx.read_graphml('g.graphml')):
    assert graph.is_directed()
    found = sorted((a, b, int(d['weight'])) for a, b, d in graph.edges(data=True))
    assert found == expected, (found, expected)
    for name, data in graph.nodes(data=True):
        assert data['links_within'] == loops.get(name, 0), (name, data)
        assert data['links_in'] == sum(n for _, target, n in expected if target == name)
        assert data['links_out'] == sum(n for source, _, n in expected if source == name)
print('same', len(expected))
";
    let said = Command::new(python)
        .args(["-c", script])
        .current_dir(place.path(""))
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&said.stdout),
        "same 3\n",
        "{}",
        String::from_utf8_lossy(&said.stderr)
    );
}

#[test]
fn duckdb_and_pyarrow_read_the_table() {
    let Some(python) = test_env::python(&["duckdb", "pyarrow"]) else {
        eprintln!("skipped: no Python with duckdb and pyarrow (make need-readers)");
        return;
    };
    let place = loaded();
    place.good(&["graph", "-o", "g.parquet"]);
    let links = place.good(&["dump", "links"]).lines().count();
    let script = "
import duckdb, pyarrow.parquet
print(duckdb.sql(\"select sum(links)::int, count(*), min(first_seen)::text from 'g.parquet'\").fetchall())
print(pyarrow.parquet.read_table('g.parquet').column_names)
";
    let said = Command::new(python)
        .args(["-c", script])
        .current_dir(place.path(""))
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&said.stdout).into_owned();
    let failed = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(
        out.starts_with(&format!("[({links}, 5, '2014-01-26 20:06:25")),
        "{out}{failed}"
    );
    assert!(
        out.contains("['source', 'target', 'links', 'pages', 'first_seen', 'last_seen']"),
        "{out}{failed}"
    );
}
