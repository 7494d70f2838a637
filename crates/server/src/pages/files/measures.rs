//! Bar charts as tables. Each row has a count and a size with a bar for each, so that readers who
//! cannot see the bars get the same information.

use maud::{Markup, html};
use ui::chart;

use super::parts;
use crate::present;

/// A row of the table.
pub(super) struct Measure<'a> {
    pub(super) name: &'a str,
    pub(super) count: u64,
    pub(super) size_bytes: u64,
}

/// Shows a table with bars. `what` names the rows, `counted` the items counted in them.
pub(super) fn measures(what: &str, counted: &str, rows: &[Measure<'_>]) -> Markup {
    let most = |value: fn(&Measure<'_>) -> u64| rows.iter().map(value).max().unwrap_or(0);
    let (count_max, size_max) = (most(|row| row.count), most(|row| row.size_bytes));
    html! {
        table.measures {
            caption.hidden { (counted) " and bytes by " (what.to_lowercase()) }
            thead { tr { th scope="col" { (what) } th.number scope="col" { (counted) } th.number scope="col" { "Bytes" } } }
            tbody {
                @for row in rows {
                    tr {
                        th scope="row" { (parts::text(row.name)) }
                        td.number { (present::count(row.count)) (chart::bar(row.count, count_max)) }
                        td.number { (present::size(row.size_bytes)) (chart::bar(row.size_bytes, size_max)) }
                    }
                }
            }
        }
    }
}
