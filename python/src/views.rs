//! The SQL definitions of the views at build time.

use pyo3::pyfunction;

/// Joins the beginning that statements share, `views/current.sql`, to the rest of one.
macro_rules! statement {
    ($rest:literal) => {
        concat!(
            include_str!("../../views/current.sql"),
            include_str!(concat!("../../views/", $rest))
        )
    };
}

/// Name and statement of every view in `views/`.
const VIEWS: [(&str, &str); 7] = [
    ("captures", include_str!("../../views/captures.sql")),
    ("domains", statement!("domains.sql")),
    ("inlinks", statement!("inlinks.sql")),
    ("links", statement!("links.sql")),
    ("pages", statement!("pages.sql")),
    ("top", statement!("top.sql")),
    ("uris", statement!("uris.sql")),
];

/// Returns the name and statement of every view.
#[pyfunction]
pub(crate) fn views() -> Vec<(&'static str, &'static str)> {
    VIEWS.to_vec()
}
