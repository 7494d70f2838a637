//! The definitions of the views: one statement over the facts per view.

use archive::question::View;

/// Joins the beginning that statements share, `views/current.sql`, to the rest of one.
macro_rules! statement {
    ($rest:literal) => {
        concat!(
            include_str!("../../../views/current.sql"),
            include_str!(concat!("../../../views/", $rest))
        )
    };
}

/// Returns the statement that defines a view over `captures` and `links` (`views/current.sql`, if it
/// is of current versions, and `views/<name>.sql`); `None` for views not derived from facts.
pub fn view_statement(view: View) -> Option<&'static str> {
    Some(match view {
        View::Captures => include_str!("../../../views/captures.sql"),
        View::Pages => statement!("pages.sql"),
        View::Links => statement!("links.sql"),
        View::Inlinks => statement!("inlinks.sql"),
        View::Uris => statement!("uris.sql"),
        View::Domains => statement!("domains.sql"),
        View::Top => statement!("top.sql"),
        View::Ledger | View::Quarantine => return None,
    })
}
