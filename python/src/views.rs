//! The SQL definitions of the views at build time.

use pyo3::pyfunction;

/// Name and statement of every view in `views/`.
const VIEWS: [(&str, &str); 7] = [
    ("captures", include_str!("../../views/captures.sql")),
    ("domains", include_str!("../../views/domains.sql")),
    ("inlinks", include_str!("../../views/inlinks.sql")),
    ("links", include_str!("../../views/links.sql")),
    ("pages", include_str!("../../views/pages.sql")),
    ("top", include_str!("../../views/top.sql")),
    ("uris", include_str!("../../views/uris.sql")),
];

/// Returns the name and statement of every view.
#[pyfunction]
pub(crate) fn views() -> Vec<(&'static str, &'static str)> {
    VIEWS.to_vec()
}
