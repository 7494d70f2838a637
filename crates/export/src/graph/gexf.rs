//! Writes GEXF 1.3 (<https://gexf.net>). Edges have the days of their earliest and latest pages as
//! `start` and `end`, so that Gephi's timeline shows them when they existed; days, because networkx
//! does not read times in this format. Links within a node are an attribute of it: drawn as loops
//! they would hide the others.

use std::io::Write;

use super::{Graph, GraphError, xml};

const HEAD: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<gexf xmlns="http://gexf.net/1.3" version="1.3">
<meta><creator>Weft</creator><description>"#;

/// Declarations of the attributes of nodes and edges.
const ATTRIBUTES: &str = r#"</description></meta>
<graph defaultedgetype="directed" mode="dynamic" timeformat="date">
<attributes class="node" mode="static">
<attribute id="links_out" title="links_out" type="long"/>
<attribute id="links_in" title="links_in" type="long"/>
<attribute id="links_within" title="links_within" type="long"/>
</attributes>
<attributes class="edge" mode="static">
<attribute id="links" title="links" type="long"/>
<attribute id="pages" title="pages" type="long"/>
</attributes>
<nodes>
"#;

pub(super) fn write(graph: &mut Graph, out: &mut dyn Write) -> Result<(), GraphError> {
    let by = graph.by;
    write!(out, "{HEAD}Links between the {by}s of a web archive{ATTRIBUTES}").map_err(GraphError::Output)?;
    graph.for_each_node(&mut |node| {
        let name = xml(&node.name);
        writeln!(
            out,
            "<node id=\"{name}\" label=\"{name}\"><attvalues>\
             <attvalue for=\"links_out\" value=\"{}\"/><attvalue for=\"links_in\" value=\"{}\"/>\
             <attvalue for=\"links_within\" value=\"{}\"/></attvalues></node>",
            node.links_out, node.links_in, node.links_within
        )
        .map_err(GraphError::Output)
    })?;
    writeln!(out, "</nodes>\n<edges>").map_err(GraphError::Output)?;
    let mut number = 0_u64;
    graph.for_each_edge(&mut |edge| {
        if edge.is_within() {
            return Ok(());
        }
        number += 1;
        writeln!(
            out,
            "<edge id=\"{number}\" source=\"{}\" target=\"{}\" weight=\"{links}\" start=\"{}\" end=\"{}\"><attvalues>\
             <attvalue for=\"links\" value=\"{links}\"/><attvalue for=\"pages\" value=\"{}\"/></attvalues></edge>",
            xml(&edge.source),
            xml(&edge.target),
            day(edge.first_ms),
            day(edge.last_ms),
            edge.pages,
            links = edge.links,
        )
        .map_err(GraphError::Output)
    })?;
    writeln!(out, "</edges>\n</graph>\n</gexf>").map_err(GraphError::Output)
}

/// Returns a day such as `2014-01-26`.
fn day(time_ms: i64) -> String {
    let time = format::date::iso(time_ms);
    time.split_once('T').map_or("", |(day, _)| day).to_owned()
}
