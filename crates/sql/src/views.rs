//! The definitions of the views: one statement over the facts per view.

use archive::question::View;

/// Returns the statement that defines a view over `captures` and `links` (`views/<name>.sql`);
/// `None` for views not derived from facts.
pub fn view_statement(view: View) -> Option<&'static str> {
    Some(match view {
        View::Captures => include_str!("../../../views/captures.sql"),
        View::Pages => include_str!("../../../views/pages.sql"),
        View::Links => include_str!("../../../views/links.sql"),
        View::Inlinks => include_str!("../../../views/inlinks.sql"),
        View::Uris => include_str!("../../../views/uris.sql"),
        View::Domains => include_str!("../../../views/domains.sql"),
        View::Top => include_str!("../../../views/top.sql"),
        View::Ledger | View::Quarantine => return None,
    })
}
