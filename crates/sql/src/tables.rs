//! The tables available to statements.

use std::sync::{Arc, LazyLock};

use archive::question::View;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};

/// A table with a short description.
#[derive(Debug, Clone, Copy)]
pub struct TableInfo {
    /// Its name.
    pub name: &'static str,
    /// The meaning of a row.
    pub row: &'static str,
}

/// All tables, in display order.
pub const TABLES: [TableInfo; 14] = [
    TableInfo {
        name: "captures",
        row: "every loaded capture (facts)",
    },
    TableInfo {
        name: "links",
        row: "every link of every capture (facts)",
    },
    TableInfo {
        name: "texts",
        row: "the text of every capture with text (facts, with --facts-text)",
    },
    TableInfo {
        name: "ccindex",
        row: "every loaded capture, with the columns of Common Crawl's index table (facts)",
    },
    TableInfo {
        name: "pages",
        row: "the current version of every page, with link counts (live)",
    },
    TableInfo {
        name: "inlinks",
        row: "every link of a current version, by target (live)",
    },
    TableInfo {
        name: "uris",
        row: "every captured or linked URL key (live)",
    },
    TableInfo {
        name: "domains",
        row: "every registered domain (live)",
    },
    TableInfo {
        name: "top",
        row: "every URI, by rank (live)",
    },
    TableInfo {
        name: "ledger",
        row: "every input and its loading progress (live)",
    },
    TableInfo {
        name: "quarantine",
        row: "every unusable record (live)",
    },
    TableInfo {
        name: "files",
        row: "every file on the disk, once, with what is known of its content (catalogue of files)",
    },
    TableInfo {
        name: "file_names",
        row: "every name of every file on the disk (catalogue of files)",
    },
    TableInfo {
        name: "file_usage",
        row: "sums over files by owner, group, type and format (catalogue of files)",
    },
];

/// A live view as a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveTable {
    /// The view that has its rows.
    pub view: View,
}

/// Names and types of columns.
type Columns = [(&'static str, Type)];

#[derive(Debug, Clone, Copy)]
enum Type {
    Text,
    Number,
    Time,
}

use Type::{Number, Text, Time};

const PAGES: [(&str, Type); 10] = [
    ("url_key", Text),
    ("url", Text),
    ("fetch_time", Time),
    ("status", Number),
    ("mime", Text),
    ("digest", Text),
    ("title", Text),
    ("links", Number),
    ("inlinks", Number),
    ("inlinks_external", Number),
];
const INLINKS: [(&str, Type); 4] = [
    ("target_key", Text),
    ("source_key", Text),
    ("anchor", Text),
    ("nofollow", Number),
];
const URIS: [(&str, Type); 4] = [
    ("url_key", Text),
    ("captured", Number),
    ("inlinks", Number),
    ("inlinks_external", Number),
];
const DOMAINS: [(&str, Type); 4] = [
    ("domain", Text),
    ("uris", Number),
    ("pages", Number),
    ("inlinks_external", Number),
];
const TOP: [(&str, Type); 3] = [
    ("inlinks_external", Number),
    ("inlinks", Number),
    ("url_key", Text),
];
const LEDGER: [(&str, Type); 8] = [
    ("input", Text),
    ("digest", Text),
    ("size", Number),
    ("state", Text),
    ("records", Number),
    ("captures", Number),
    ("quarantined", Number),
    ("bytes_done", Number),
];
const QUARANTINE: [(&str, Type); 4] = [
    ("input", Text),
    ("offset", Number),
    ("reason", Text),
    ("detail", Text),
];

fn columns(view: View) -> &'static Columns {
    match view {
        // These are facts.
        View::Captures | View::Links => &[],
        View::Pages => &PAGES,
        View::Inlinks => &INLINKS,
        View::Uris => &URIS,
        View::Domains => &DOMAINS,
        View::Top => &TOP,
        View::Ledger => &LEDGER,
        View::Quarantine => &QUARANTINE,
    }
}

/// The schema of each view, in the order of [`View::ALL`].
static SCHEMAS: LazyLock<Vec<SchemaRef>> = LazyLock::new(|| {
    let field = |&(name, r#type): &(&str, Type)| {
        let data_type = match r#type {
            Text => DataType::Utf8View,
            Number => DataType::Int64,
            Time => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        };
        Field::new(name, data_type, false)
    };
    let schema = |view| Arc::new(Schema::new(columns(view).iter().map(field).collect::<Vec<_>>()));
    View::ALL.map(schema).to_vec()
});

impl LiveTable {
    /// Returns the live table with this name. `captures` and `links` are facts, so they have none.
    pub fn named(name: &str) -> Option<LiveTable> {
        let view: View = name.parse().ok()?;
        (!matches!(view, View::Captures | View::Links)).then_some(LiveTable { view })
    }

    /// Returns its columns: those of the view, in dump order.
    pub fn schema(self) -> SchemaRef {
        SCHEMAS[self.view as usize].clone()
    }

    /// Returns the column by which a range can be read, if any.
    pub(crate) fn key_column(self) -> Option<&'static str> {
        match self.view {
            View::Pages | View::Uris => Some("url_key"),
            View::Domains => Some("domain"),
            View::Inlinks => Some("target_key"),
            View::Top | View::Ledger | View::Quarantine | View::Captures | View::Links => None,
        }
    }

    /// Returns the sort columns of its rows, and whether each is descending.
    pub(crate) fn order(self) -> &'static [(&'static str, bool)] {
        match self.view {
            View::Pages | View::Uris => &[("url_key", false)],
            View::Domains => &[("domain", false)],
            View::Inlinks => &[("target_key", false), ("source_key", false)],
            View::Top => &[("inlinks_external", true), ("inlinks", true), ("url_key", false)],
            View::Captures | View::Links | View::Ledger | View::Quarantine => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_view_but_captures_and_links_is_a_live_table() {
        for view in View::ALL {
            let live = LiveTable::named(view.name());
            assert_eq!(
                live.is_none(),
                matches!(view, View::Captures | View::Links),
                "{view:?}"
            );
            assert!(TABLES.iter().any(|table| table.name == view.name()), "{view:?}");
        }
        for table in facts::Table::ALL {
            assert!(TABLES.iter().any(|info| info.name == table.name()), "{table:?}");
        }
        assert_eq!(LiveTable::named("nothing"), None);
    }

    #[test]
    fn schemas_stand_where_their_views_do() {
        for (place, view) in View::ALL.into_iter().enumerate() {
            assert_eq!(place, view as usize);
            let live = LiveTable { view };
            let schema = live.schema();
            for (column, _) in live.order() {
                assert!(schema.field_with_name(column).is_ok(), "{view:?} {column}");
            }
        }
    }
}
