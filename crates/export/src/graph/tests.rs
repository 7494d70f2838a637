use std::collections::{BTreeMap, BTreeSet};

use archive::question::{Answer, Body, GraphEdge, GraphPartBody, Question};
use proptest::prelude::*;

use super::*;

/// Builds a graph from parts as an archive returns them, one after the other.
fn build(parts: &[Vec<GraphEdge>], selection: GraphSelection) -> Graph {
    let dir = tempfile::tempdir().unwrap();
    let asked = std::cell::Cell::new(0);
    let ask = |question: Question| {
        let Question::GraphPart(question) = question else {
            panic!("{question:?}");
        };
        let number = asked.replace(asked.get() + 1);
        assert_eq!(question.after, (number > 0).then(|| number.to_string()));
        let body = Body::GraphPart(GraphPartBody {
            pages: parts[number].len() as u64,
            edges: parts[number].clone(),
            next: (number + 1 < parts.len()).then(|| (number + 1).to_string()),
        });
        Ok(Answer {
            epoch: 7 + number as u64,
            body,
        })
    };
    let mut builder = GraphBuilder::new(GraphPart::default(), dir.path());
    while builder.next(&ask).unwrap() {}
    assert!(builder.is_complete());
    builder.finish(selection).unwrap()
}

use archive::question::GraphPart;

fn nodes(graph: &mut Graph) -> Vec<Node> {
    let mut nodes = Vec::new();
    graph
        .for_each_node(&mut |node| {
            nodes.push(node.clone());
            Ok(())
        })
        .unwrap();
    nodes
}

fn edges(graph: &mut Graph) -> Vec<GraphEdge> {
    let mut edges = Vec::new();
    graph
        .for_each_edge(&mut |edge| {
            edges.push(edge.clone());
            Ok(())
        })
        .unwrap();
    edges
}

fn text(graph: &mut Graph, format: GraphFormat) -> String {
    let mut out = Vec::new();
    graph.write(format, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn edge(source: &str, target: &str, links: u64) -> GraphEdge {
    GraphEdge {
        source: source.into(),
        target: target.into(),
        links,
        pages: 1,
        first_ms: 1_390_766_784_000,
        last_ms: 1_390_766_785_000,
    }
}

/// Compares a graph with a map of the same edges.
fn check(parts: &[Vec<GraphEdge>], selection: GraphSelection) {
    let mut graph = build(parts, selection);
    let mut sums: BTreeMap<(String, String), GraphEdge> = BTreeMap::new();
    for edge in parts.iter().flatten() {
        let key = (edge.source.clone(), edge.target.clone());
        let sum = sums.entry(key).or_insert_with(|| GraphEdge {
            source: edge.source.clone(),
            target: edge.target.clone(),
            first_ms: i64::MAX,
            last_ms: i64::MIN,
            ..GraphEdge::default()
        });
        sum.links += edge.links;
        sum.pages += edge.pages;
        sum.first_ms = sum.first_ms.min(edge.first_ms);
        sum.last_ms = sum.last_ms.max(edge.last_ms);
    }
    let all: u64 = sums.values().map(|edge| edge.links).sum();
    sums.retain(|_, edge| edge.links >= selection.links_min);
    let mut counts: BTreeMap<String, Node> = BTreeMap::new();
    for edge in sums.values() {
        for name in [&edge.source, &edge.target] {
            counts.entry(name.clone()).or_insert_with(|| Node {
                name: name.clone(),
                ..Node::default()
            });
        }
        if edge.source == edge.target {
            counts.get_mut(&edge.source).unwrap().links_within += edge.links
        } else {
            counts.get_mut(&edge.source).unwrap().links_out += edge.links;
            counts.get_mut(&edge.target).unwrap().links_in += edge.links;
        }
    }
    let mut largest: Vec<&Node> = counts.values().collect();
    largest.sort_by(|a, b| (b.links(), &a.name).cmp(&(a.links(), &b.name)));
    largest.truncate(selection.nodes_max.unwrap_or(usize::MAX));
    let names: BTreeSet<&str> = largest.iter().map(|node| node.name.as_str()).collect();
    sums.retain(|(source, target), _| names.contains(source.as_str()) && names.contains(target.as_str()));

    let expected: Vec<Node> = counts
        .values()
        .filter(|node| names.contains(node.name.as_str()))
        .cloned()
        .collect();
    assert_eq!(nodes(&mut graph), expected);
    assert_eq!(edges(&mut graph), sums.values().cloned().collect::<Vec<_>>());
    let totals = graph.totals();
    assert_eq!((totals.links, totals.nodes), (all, expected.len() as u64));
    let between = |edge: &&GraphEdge| edge.source != edge.target;
    assert_eq!(totals.edges, sums.values().filter(between).count() as u64);
    assert_eq!(
        totals.links_between,
        sums.values().filter(between).map(|edge| edge.links).sum::<u64>()
    );
    assert_eq!(
        totals.links_between + totals.links_within,
        sums.values().map(|edge| edge.links).sum::<u64>()
    );
    if selection == GraphSelection::default() {
        assert_eq!(totals.links, totals.links_between + totals.links_within);
    }
}

fn any_edge() -> impl Strategy<Value = GraphEdge> {
    let name = prop_oneof!["[ab]{1,2}", Just("a.b".to_owned()), Just("a-b".to_owned())];
    (name.clone(), name, 1u64..5, 0i64..100, 0i64..100).prop_map(|(source, target, links, first, more)| {
        GraphEdge {
            source,
            target,
            links,
            pages: 1,
            first_ms: first,
            last_ms: first + more,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn graphs_are_what_a_map_makes_of_their_parts(
        parts in proptest::collection::vec(proptest::collection::vec(any_edge(), 0..20), 1..5),
        links_min in 0u64..6,
        nodes_max in proptest::option::of(1usize..6),
    ) {
        check(&parts, GraphSelection { links_min, nodes_max });
    }
}

#[test]
fn around_a_node_are_the_ends_of_its_heaviest_edges() {
    let edges_of_all = vec![
        edge("a.org", "b.org", 1),
        edge("b.org", "a.org", 5),
        edge("a.org", "c.org", 3),
        edge("d.org", "a.org", 2),
        edge("a.org", "a.org", 9),
        edge("b.org", "c.org", 7),
        edge("d.org", "e.org", 8),
    ];
    for (name, nodes_max, expected) in [
        ("a.org", 1, "a.org"),
        ("a.org", 2, "a.org b.org"),
        ("a.org", 3, "a.org b.org c.org"),
        ("a.org", 9, "a.org b.org c.org d.org"),
        ("e.org", 9, "d.org e.org"),
        ("x.org", 9, ""),
    ] {
        let mut graph = build(std::slice::from_ref(&edges_of_all), GraphSelection::default());
        graph.keep_around(name, nodes_max).unwrap();
        let names: Vec<String> = nodes(&mut graph).into_iter().map(|node| node.name).collect();
        assert_eq!(names.join(" "), expected, "{name} {nodes_max}");
        let (between, totals) = (edges(&mut graph), graph.totals());
        assert_eq!(totals.nodes, names.len() as u64);
        let between = between.iter().filter(|edge| !edge.is_within()).count();
        assert_eq!(totals.edges, between as u64);
    }
}

#[test]
fn names_of_strangers_are_safe_in_every_format() {
    let odd = "a\"<&>\u{1}\0.org";
    let mut graph = build(&[vec![edge(odd, "=b.org", 2)]], GraphSelection::default());
    for format in [GraphFormat::Gexf, GraphFormat::Graphml] {
        let text = text(&mut graph, format);
        assert!(
            text.contains("a&quot;&lt;&amp;&gt;\u{fffd}\u{fffd}.org"),
            "{text}"
        );
    }
    assert!(text(&mut graph, GraphFormat::Csv).contains("'=b.org,2,1,2014-01-26T20:06:24.000Z,"));
}

#[test]
fn loops_are_rows_of_tables_and_attributes_of_nodes() {
    let mut graph = build(
        &[vec![edge("a.org", "a.org", 3), edge("a.org", "b.org", 1)]],
        GraphSelection::default(),
    );
    let gexf = text(&mut graph, GraphFormat::Gexf);
    assert!(
        gexf.contains(r#"<attvalue for="links_within" value="3"/>"#),
        "{gexf}"
    );
    assert_eq!(gexf.matches("<edge id=").count(), 1);
    let csv = text(&mut graph, GraphFormat::Csv);
    assert_eq!(
        csv.lines().next(),
        Some("source,target,links,pages,first_seen,last_seen")
    );
    assert!(csv.contains("\na.org,a.org,3,1,"), "{csv}");
}

#[test]
fn an_empty_graph_is_a_whole_file() {
    let mut graph = build(&[vec![]], GraphSelection::default());
    assert!(text(&mut graph, GraphFormat::Gexf).ends_with("</gexf>\n"));
    assert!(text(&mut graph, GraphFormat::Graphml).ends_with("</graphml>\n"));
    assert_eq!(text(&mut graph, GraphFormat::Csv).lines().count(), 1);
}
