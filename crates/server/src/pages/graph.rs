//! The largest domains or hosts, and the links between them, as a picture and as lists.
//!
//! A node leads to its neighbourhood (`around`): the node, and the nodes at the other ends of its
//! heaviest edges. That shows details of a large graph without a script.

use std::time::Duration;

use archive::AskError;
use archive::question::{GraphBy, GraphEdge, GraphPart};
use export::{Graph, GraphBuilder, GraphError, GraphSelection, GraphTotals, Node};
use maud::{Markup, html};
use ui::network::{self, Line, NODES_MAX};
use ui::{Frame, Section};

use super::html::{Context, Html, PageResult};
use super::parts::{self, Align, Column};
use crate::answers::Answers;
use crate::failure::Failure;
use crate::query::Query;
use crate::{link, present};

/// Default number of nodes.
const NODES: usize = 40;

/// Time limit for reading links for a page. For a larger archive the page shows a part and says so.
const TIME_MAX: Duration = Duration::from_secs(4);

/// Number of rows of the list of edges.
const ROWS: usize = 25;

/// Values of the form.
struct Form {
    by: GraphBy,
    from: Option<String>,
    to: Option<String>,
    collection: Option<String>,
    /// Name of the node whose neighbourhood is shown.
    around: Option<String>,
    links_min: u64,
    nodes: usize,
}

impl Form {
    fn of(query: &Query) -> Form {
        let number = |name| query.get(name).and_then(|text| text.parse::<u64>().ok());
        Form {
            by: query.get("by").and_then(|by| by.parse().ok()).unwrap_or_default(),
            from: query.owned("from"),
            to: query.owned("to"),
            collection: query.owned("collection"),
            around: query.owned("around"),
            links_min: number("min").unwrap_or(1).max(1),
            nodes: number("nodes").map_or(NODES, |nodes| (nodes as usize).clamp(2, NODES_MAX)),
        }
    }

    fn question(&self) -> GraphPart {
        GraphPart {
            by: self.by,
            from: self.from.clone(),
            to: self.to.clone(),
            collection: self.collection.clone(),
            after: None,
        }
    }

    /// Returns the address of the neighbourhood of a node, or of the largest nodes.
    fn link(&self, around: Option<&str>) -> String {
        let links_min = (self.links_min > 1).then(|| self.links_min.to_string());
        let nodes = (self.nodes != NODES).then(|| self.nodes.to_string());
        link::with(
            "/graph",
            &[
                ("by", Some(self.by.name())),
                ("from", self.from.as_deref()),
                ("to", self.to.as_deref()),
                ("collection", self.collection.as_deref()),
                ("min", links_min.as_deref()),
                ("nodes", nodes.as_deref()),
                ("around", around),
            ],
        )
    }
}

/// The part of a graph that a page shows.
struct Drawn {
    totals: GraphTotals,
    /// Whether all links were read.
    is_complete: bool,
    /// Nodes, largest first; in a neighbourhood, its centre before all others.
    nodes: Vec<Node>,
    /// Edges between different nodes, heaviest first.
    edges: Vec<GraphEdge>,
}

pub(super) async fn show(context: Context, query: Query) -> PageResult {
    let form = Form::of(&query);
    let (question, selection) = (form.question(), Selection::of(&form));
    let made = context
        .archive
        .blocking(move |source| make(source, question, &selection))
        .await?;
    let (content, epoch) = match made {
        Ok(drawn) => (content(&form, &drawn), Some(drawn.totals.epoch_last)),
        Err(GraphError::Ask(error)) if error.code == archive::ErrorCode::BadRequest => {
            let refused = html! { (head(&form)) p.failure role="alert" { (present::clean(&error.message)) } };
            (refused, None)
        }
        Err(error) => return Err(failure(error).into()),
    };
    let frame = Frame {
        title: "Graph",
        section: Section::Graph,
        parts: context.parts(),
        viewer: context.viewer(),
        query: "",
        epoch,
    };
    Ok(Html::ok(frame.around(content)))
}

fn failure(error: GraphError) -> Failure {
    match error {
        GraphError::Ask(error) => error.into(),
        error => {
            tracing::error!(%error, "cannot compute the graph");
            AskError::unavailable("the graph cannot be computed: there is no space for temporary files")
                .into()
        }
    }
}

/// The nodes to show.
struct Selection {
    links_min: u64,
    nodes_max: usize,
    around: Option<String>,
}

impl Selection {
    fn of(form: &Form) -> Selection {
        Selection {
            links_min: form.links_min,
            nodes_max: form.nodes,
            around: form.around.clone(),
        }
    }

    fn graph(&self, builder: GraphBuilder) -> Result<Graph, GraphError> {
        let mut graph = builder.finish(GraphSelection {
            links_min: self.links_min,
            nodes_max: self.around.is_none().then_some(self.nodes_max),
        })?;
        if let Some(around) = &self.around {
            graph.keep_around(around, self.nodes_max)?;
        }
        Ok(graph)
    }
}

/// Reads all links, or as many as the time limit allows.
fn make(source: &dyn Answers, question: GraphPart, selection: &Selection) -> Result<Drawn, GraphError> {
    let begun = system::now();
    let mut builder = GraphBuilder::new(question, &std::env::temp_dir());
    while system::since(begun) < TIME_MAX && builder.next(&|question| source.ask(&question))? {}
    let is_complete = builder.is_complete();
    let mut graph = selection.graph(builder)?;
    let (mut nodes, edges) = (nodes(&mut graph)?, edges(&mut graph)?);
    // A stable sort: the others stay in order of size.
    nodes.sort_by_key(|node| selection.around.as_ref() != Some(&node.name));
    Ok(Drawn {
        totals: graph.totals(),
        is_complete,
        nodes,
        edges,
    })
}

fn nodes(graph: &mut Graph) -> Result<Vec<Node>, GraphError> {
    let mut nodes = Vec::new();
    graph.for_each_node(&mut |node| {
        nodes.push(node.clone());
        Ok(())
    })?;
    nodes.sort_by(|a, b| (b.links(), &a.name).cmp(&(a.links(), &b.name)));
    Ok(nodes)
}

fn edges(graph: &mut Graph) -> Result<Vec<GraphEdge>, GraphError> {
    let mut edges = Vec::new();
    graph.for_each_edge(&mut |edge| {
        if !edge.is_within() {
            edges.push(edge.clone());
        }
        Ok(())
    })?;
    edges.sort_by(|a, b| {
        b.links
            .cmp(&a.links)
            .then_with(|| (&a.source, &a.target).cmp(&(&b.source, &b.target)))
    });
    Ok(edges)
}

fn head(form: &Form) -> Markup {
    let text = |text: &Option<String>| {
        text.as_deref()
            .map(|text| present::clean(text).into_owned())
            .unwrap_or_default()
    };
    html! {
        header.page-head {
            h1 { "Who links to whom" }
            @match &form.around {
                None => p.soft { "Links between the largest " (many(form.by)) ", from the current versions of pages." },
                Some(around) => {
                    p.soft { "Links around " (parts::url_text(around)) ", from the current versions of pages." }
                    p.actions {
                        a.button.quiet href=(form.link(None)) { "All " (many(form.by)) }
                        @if let Some(about) = link::if_short(node_link(form, around)) { " " a.button.quiet href=(about) { (about_words(form.by)) } }
                    }
                },
            }
        }
        form.fields action="/graph" method="get" {
            div.short { label for="by" { "By" } select #by name="by" {
                @for by in GraphBy::ALL { option value=(by.name()) selected[by == form.by] { (by.name()) } }
            } }
            div.short { label for="from" { "Captured from" } input #from name="from" value=(text(&form.from)) placeholder="2012" maxlength="20" autocomplete="off"; }
            div.short { label for="to" { "Captured until" } input #to name="to" value=(text(&form.to)) placeholder="2014-06" maxlength="20" autocomplete="off"; }
            div.short { label for="min" { "Minimum links" } input #min type="number" name="min" min="1" value=(form.links_min); }
            div.short { label for="nodes" { "Maximum nodes" } input #nodes type="number" name="nodes" min="2" max=(NODES_MAX) value=(form.nodes); }
            @if form.collection.is_some() { input type="hidden" name="collection" value=(text(&form.collection)); }
            @if form.around.is_some() { input type="hidden" name="around" value=(text(&form.around)); }
            button type="submit" { "Draw" }
        }
    }
}

fn many(by: GraphBy) -> &'static str {
    match by {
        GraphBy::Domain => "domains",
        GraphBy::Host => "hosts",
    }
}

fn content(form: &Form, drawn: &Drawn) -> Markup {
    let Drawn { totals, nodes, .. } = drawn;
    html! {
        (head(form))
        @if let Some(collection) = &form.collection {
            p.soft { "Only pages of the collection " (parts::text(collection)) "." }
        }
        @if !drawn.is_complete {
            p.notes role="status" {
                "Partial result: " (present::counted(totals.pages, "page", "pages"))
                " were read in the time available for a web page, in URL order. "
                code { "weft graph" } " reads all pages."
            }
        }
        @if nodes.is_empty() {
            (parts::nothing("No links", html! { p { "No links match these settings. Lower the smallest number of links, or leave the other fields empty." } }))
        } @else {
            div.graph {
                div {
                    (network::network(&label(form, totals), &shown_nodes(form, nodes), &lines(drawn)))
                    p.legend { "The size of a circle shows the number of links to and from others, the width of a line the number of links between two. A circle leads to its neighbours." }
                    p.legend hidden data-with-script { "Two fingers, or the wheel with Ctrl, enlarge the drawing. Dragging moves it, a double click shows all of it." }
                }
                section aria-labelledby="nodes-list" { h2 #nodes-list { (list_name(form)) } (node_table(form, nodes)) }
            }
            (parts::facts(&[
                html! { (present::counted(totals.links, "link", "links")) " on " (present::counted(totals.pages, "page", "pages")) },
                html! { (present::counted(totals.edges, "line", "lines")) " between " (present::count(totals.nodes)) " " (many(form.by)) " shown" },
                html! { (present::counted(totals.links_within, "link", "links")) " within them" },
            ]))
            section aria-labelledby="edges-list" { h2 #edges-list { "Strongest connections" } (edge_table(form, &drawn.edges)) }
        }
    }
}

fn list_name(form: &Form) -> &'static str {
    match form.around {
        Some(_) => "Neighbours",
        None => "Largest nodes",
    }
}

fn about_words(by: GraphBy) -> &'static str {
    match by {
        GraphBy::Domain => "About this domain",
        GraphBy::Host => "Captures of this host",
    }
}

fn label(form: &Form, totals: &GraphTotals) -> String {
    format!(
        "{} {} and the links between them; the tables have the figures",
        present::count(totals.nodes),
        many(form.by)
    )
}

/// Returns the address of the archive's page about a node.
fn node_link(form: &Form, name: &str) -> String {
    match form.by {
        GraphBy::Domain => link::domain(name),
        GraphBy::Host => link::with("/captures", &[("url", Some(name)), ("match", Some("host"))]),
    }
}

fn shown_nodes(form: &Form, nodes: &[Node]) -> Vec<network::Node> {
    let node = |node: &Node| network::Node {
        name: node.name.clone(),
        weight: node.links() as f64,
        title: format!(
            "{}: {} from others, {} to others, {} within",
            node.name,
            present::counted(node.links_in, "link", "links"),
            present::count(node.links_out),
            present::count(node.links_within)
        ),
        link: link::if_short(form.link(Some(&node.name))),
    };
    nodes.iter().map(node).collect()
}

fn lines(drawn: &Drawn) -> Vec<Line> {
    let place = |name: &str| drawn.nodes.iter().position(|node| node.name == name);
    let line = |edge: &GraphEdge| {
        Some(Line {
            from: place(&edge.source)?,
            to: place(&edge.target)?,
            weight: edge.links as f64,
        })
    };
    drawn.edges.iter().filter_map(line).collect()
}

fn name(form: &Form, name: &str) -> Markup {
    html! {
        @match link::if_short(node_link(form, name)) {
            Some(address) => a href=(address) { (parts::url_text(name)) },
            None => { (parts::url_text(name)) },
        }
    }
}

/// Shows all nodes of the drawing. Each leads to its neighbourhood, as in the drawing.
fn node_table(form: &Form, nodes: &[Node]) -> Markup {
    html! {
        table.measures {
            caption.hidden { (list_name(form)) " with the numbers of links from and to others" }
            thead { tr { th scope="col" { "Name" } th.number scope="col" { "Links in" } th.number scope="col" { "Links out" } } }
            tbody {
                @for node in nodes {
                    tr {
                        th scope="row" {
                            @match link::if_short(form.link(Some(&node.name))) {
                                Some(address) => a href=(address) { (parts::url_text(&node.name)) },
                                None => (parts::url_text(&node.name)),
                            }
                        }
                        td.number { (present::count(node.links_in)) }
                        td.number { (present::count(node.links_out)) }
                    }
                }
            }
        }
    }
}

fn edge_table(form: &Form, edges: &[GraphEdge]) -> Markup {
    let columns = [
        Column("From", Align::Text),
        Column("To", Align::Text),
        Column("Links", Align::Number),
        Column("Pages", Align::Number),
        Column("Captured", Align::Text),
    ];
    let rows = edges.iter().take(ROWS).map(|edge| {
        let (first, last) = (format::date::iso(edge.first_ms), format::date::iso(edge.last_ms));
        vec![
            name(form, &edge.source),
            name(form, &edge.target),
            html! { (present::count(edge.links)) },
            html! { (present::count(edge.pages)) },
            html! { (parts::date(&first)) @if first[..10] != last[..10] { " to " (parts::date(&last)) } },
        ]
    });
    html! {
        @if edges.is_empty() { p.soft { "No links between the nodes shown." } } @else {
            (parts::table("Strongest connections", &columns, rows.collect()))
        }
    }
}
