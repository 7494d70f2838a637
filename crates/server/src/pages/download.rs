//! The links that download a whole list.

use maud::{Markup, html};

use crate::link;

/// Formats, with the names that people know.
const FORMATS: [(&str, &str); 3] = [("csv", "CSV"), ("jsonl", "JSON lines"), ("parquet", "Parquet")];

/// Returns links that download all rows of a list of the API, asked for with these parameters.
pub(super) fn links(path: &str, parameters: &[(&str, Option<&str>)]) -> Markup {
    let address = |format: &'static str| {
        let mut parameters = parameters.to_vec();
        parameters.push(("format", Some(format)));
        link::with(path, &parameters)
    };
    html! {
        p.soft.download {
            "Download all rows: "
            @for (i, (format, name)) in FORMATS.into_iter().enumerate() {
                @if i > 0 { ", " }
                a href=(address(format)) rel="nofollow" download { (name) }
            }
        }
    }
}
