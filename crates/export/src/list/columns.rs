//! The columns of lists as tables, and where each value is in the JSON of a row.

use archive::AskError;
use archive::question::LinkGrouping;
use facts::{Field, Kind, RowStream};
use serde_json::Value;

use crate::csv_text::csv_text;
use crate::results::ExportError;

/// Columns of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Columns {
    /// Names and types.
    pub(crate) fields: &'static [Field],
    /// JSON pointers (RFC 6901) of each value in a row. The first that leads to a value other than
    /// an empty text is used.
    pointers: &'static [&'static [&'static str]],
}

macro_rules! columns {
    ($($name:ident: $kind:ident = $($pointer:literal)|+),* $(,)?) => {
        Columns {
            fields: &[$(Field::new(stringify!($name), Kind::$kind).nullable()),*],
            pointers: &[$(&[$($pointer),+]),*],
        }
    };
}

pub(super) const LINKS: Columns = columns![
    source_url: Text = "/source_url" | "/source_key",
    source_title: Text = "/source_title",
    target_url: Text = "/target_url" | "/target_key",
    anchor: Text = "/anchor",
    external: Bool = "/external",
    nofollow: Bool = "/nofollow",
    fetch_time: TimeMs = "/source_fetch_time",
];

pub(super) const VERSION_LINKS: Columns = columns![
    source_url: Text = "/source_url" | "/source_key",
    source_title: Text = "/source_title",
    target_url: Text = "/target_url" | "/target_key",
    anchor: Text = "/anchor",
    external: Bool = "/external",
    nofollow: Bool = "/nofollow",
    first_seen: TimeMs = "/version/first_seen",
    fetch_time: TimeMs = "/version/fetch_time",
    is_current: Bool = "/version/is_current",
];

/// The columns of counts of links. The first has the name of what the links are counted by.
macro_rules! link_counts {
    ($name:ident) => {
        columns![
            $name: Text = "/value",
            links: Long = "/links",
            links_external: Long = "/links_external",
            first: TimeMs = "/first",
            last: TimeMs = "/last",
        ]
    };
}

const LINKS_BY_ANCHOR: Columns = link_counts!(anchor);
const LINKS_BY_DOMAIN: Columns = link_counts!(domain);
const LINKS_BY_PAGE: Columns = link_counts!(page);
const LINKS_BY_TARGET: Columns = link_counts!(target);
const LINKS_BY_MONTH: Columns = link_counts!(month);

pub(super) fn link_counts(by: LinkGrouping) -> Columns {
    match by {
        LinkGrouping::Anchor => LINKS_BY_ANCHOR,
        LinkGrouping::Domain => LINKS_BY_DOMAIN,
        LinkGrouping::Page => LINKS_BY_PAGE,
        LinkGrouping::Target => LINKS_BY_TARGET,
        LinkGrouping::Month => LINKS_BY_MONTH,
    }
}

pub(super) const RANKING: Columns = columns![
    rank: Long = "/rank",
    url: Text = "/url" | "/url_key",
    title: Text = "/title",
    captured: Bool = "/captured",
    inlinks: Long = "/inlinks",
    inlinks_external: Long = "/inlinks_external",
];

pub(super) const DOMAINS: Columns = columns![
    domain: Text = "/domain",
    uris: Long = "/uris",
    pages: Long = "/pages",
    inlinks_external: Long = "/inlinks_external",
];

pub(super) const CAPTURES: Columns = columns![
    url: Text = "/url",
    fetch_time: TimeMs = "/fetch_time",
    mime: Text = "/mime",
    status: Long = "/status",
    method: Text = "/method",
    digest: Text = "/digest",
    kind: Text = "/kind",
    collection: Text = "/collection",
    filename: Text = "/filename",
    offset: Long = "/offset",
    length: Long = "/length",
    url_key: Text = "/url_key",
];

pub(super) const LISTED_PAGES: Columns = columns![
    url: Text = "/url",
    fetch_time: TimeMs = "/fetch_time",
    title: Text = "/title",
    seed: Bool = "/seed",
    id: Text = "/id",
    capture_time: TimeMs = "/capture/fetch_time",
    package: Text = "/package",
    list: Text = "/list",
    line: Long = "/line",
];

pub(super) const IMAGES: Columns = columns![
    url: Text = "/url",
    alt: Text = "/alt",
    title: Text = "/title",
    caption: Text = "/caption",
    width: Long = "/width",
    height: Long = "/height",
    page_url: Text = "/page/url",
    page_title: Text = "/page/title",
    page_fetch_time: TimeMs = "/page/fetch_time",
    language: Text = "/page/language",
    collection: Text = "/page/collection",
    pages: Long = "/pages",
    capture_url: Text = "/capture/url",
    fetch_time: TimeMs = "/capture/fetch_time",
    since: TimeMs = "/capture/since",
    until: TimeMs = "/capture/until",
    mime: Text = "/capture/mime",
    hash: Text = "/capture/hash",
    exif_time: Text = "/capture/exif_time",
    exif_location: Text = "/capture/exif_location",
];

pub(super) const TRENDS: Columns = columns![
    query: Text = "/query",
    year: Long = "/year",
    matches: Long = "/matches",
    versions: Long = "/versions",
];

impl Columns {
    /// Returns the names.
    pub(super) fn names(self) -> impl Iterator<Item = &'static str> {
        self.fields.iter().map(|field| field.name)
    }

    /// Returns the values of a row, in the order of the columns. A value that the row does not have
    /// is null.
    fn values(self, row: &Value) -> impl Iterator<Item = (&'static Field, &Value)> {
        let value = |pointers: &[&str]| {
            let mut values = pointers.iter().filter_map(|pointer| row.pointer(pointer));
            values
                .find(|value| value.as_str() != Some(""))
                .unwrap_or(&Value::Null)
        };
        self.fields
            .iter()
            .zip(self.pointers.iter().map(move |pointers| value(pointers)))
    }

    /// Returns the values of a row as CSV has them.
    pub(super) fn texts(self, row: &Value) -> impl Iterator<Item = String> {
        self.values(row).map(|(_, value)| match value {
            Value::String(text) => csv_text(text).into_owned(),
            Value::Null => String::new(),
            value => value.to_string(),
        })
    }

    /// Adds a row to a Parquet file.
    pub(super) fn put(self, row: &Value, stream: &mut RowStream) -> Result<(), ExportError> {
        let mut put = stream.row()?;
        for (field, value) in self.values(row) {
            match (field.kind, value) {
                (_, Value::Null) => put.none(),
                (Kind::Text, Value::String(text)) => put.text(text),
                (Kind::Bool, Value::Bool(value)) => put.bool(*value),
                (Kind::TimeMs, Value::String(text)) => put.optional_long(format::date::ms_of_iso(text)),
                (Kind::Long, Value::Number(number)) => put.optional_long(number.as_i64()),
                (kind, value) => {
                    let wrong = format!("column {} is a {kind:?}, and its value is {value}", field.name);
                    return Err(AskError::internal(wrong).into());
                }
            };
        }
        put.end();
        Ok(())
    }
}
