//! Writes GraphML (<http://graphml.graphdrawing.org>). Links within a node are an attribute of it,
//! as in GEXF.

use std::io::Write;

use super::{Graph, GraphError, xml};

const HEAD: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="links_out" for="node" attr.name="links_out" attr.type="long"/>
<key id="links_in" for="node" attr.name="links_in" attr.type="long"/>
<key id="links_within" for="node" attr.name="links_within" attr.type="long"/>
<key id="weight" for="edge" attr.name="weight" attr.type="long"/>
<key id="pages" for="edge" attr.name="pages" attr.type="long"/>
<key id="first_seen" for="edge" attr.name="first_seen" attr.type="string"/>
<key id="last_seen" for="edge" attr.name="last_seen" attr.type="string"/>
<graph edgedefault="directed">
"#;

pub(super) fn write(graph: &mut Graph, out: &mut dyn Write) -> Result<(), GraphError> {
    out.write_all(HEAD.as_bytes()).map_err(GraphError::Output)?;
    graph.for_each_node(&mut |node| {
        writeln!(
            out,
            "<node id=\"{}\"><data key=\"links_out\">{}</data><data key=\"links_in\">{}</data>\
             <data key=\"links_within\">{}</data></node>",
            xml(&node.name),
            node.links_out,
            node.links_in,
            node.links_within
        )
        .map_err(GraphError::Output)
    })?;
    graph.for_each_edge(&mut |edge| {
        if edge.is_within() {
            return Ok(());
        }
        writeln!(
            out,
            "<edge source=\"{}\" target=\"{}\"><data key=\"weight\">{}</data><data key=\"pages\">{}</data>\
             <data key=\"first_seen\">{}</data><data key=\"last_seen\">{}</data></edge>",
            xml(&edge.source),
            xml(&edge.target),
            edge.links,
            edge.pages,
            format::date::iso(edge.first_ms),
            format::date::iso(edge.last_ms),
        )
        .map_err(GraphError::Output)
    })?;
    writeln!(out, "</graph>\n</graphml>").map_err(GraphError::Output)
}
