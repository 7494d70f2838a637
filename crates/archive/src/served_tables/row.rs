//! Rows of the tables as answers show them.

use extract::CaptureKind;
use facts::serving::{Group, ServingTable};
use index::{CaptureRow, DomainRow, InputId, LinkRow, PageRow, PastVersion, SnapshotError, TopRow, UriRow};

use super::{ServedTables, failed};

/// Reads the values of one row. All columns that are read exist, because reading a row group checks
/// it; a value of an impossible size is an error.
struct Reader<'g> {
    table: ServingTable,
    group: &'g Group,
    row: usize,
}

impl Reader<'_> {
    fn text(&self, column: &str) -> String {
        self.text_if_any(column).unwrap_or_default()
    }

    fn text_if_any(&self, column: &str) -> Option<String> {
        self.group.text(column, self.row).map(str::to_owned)
    }

    fn time(&self, column: &str) -> i64 {
        self.group.number(column, self.row).unwrap_or_default()
    }

    fn bool(&self, column: &str) -> bool {
        self.group.bool(column, self.row).unwrap_or_default()
    }

    fn number<N: TryFrom<i64>>(&self, column: &str) -> Result<N, SnapshotError> {
        let number = self.group.number(column, self.row).unwrap_or_default();
        N::try_from(number).map_err(|_| failed(self.table, format!("{column} is {number}")))
    }

    fn kind(&self) -> Result<CaptureKind, SnapshotError> {
        let name = self.text("kind");
        CaptureKind::named(&name).ok_or_else(|| failed(self.table, format!("unknown kind {name:?}")))
    }
}

impl ServedTables {
    pub(super) fn capture_row(&self, group: &Group, row: usize) -> Result<CaptureRow, SnapshotError> {
        let reader = Reader {
            table: ServingTable::Captures,
            group,
            row,
        };
        let number = reader.number("input_number")?;
        let input = self.input(number)?;
        let index_only = reader.bool("index_only");
        let (offset, input_name) = if index_only {
            (reader.number("record_offset")?, reader.text("filename"))
        } else {
            (reader.number("offset")?, input.name.clone())
        };
        Ok(CaptureRow {
            url_key: reader.text("url_key"),
            fetch_time_ms: reader.time("fetch_time"),
            url: reader.text("url"),
            mime: reader.text("mime"),
            status: reader.number("status")?,
            method: reader.text("method"),
            digest: reader.text("digest"),
            length: reader.number("length")?,
            offset,
            input: InputId(number),
            input_name,
            location: input.location.clone(),
            collection: input.collection.clone(),
            kind: reader.kind()?,
            index_only,
            is_damaged: reader.bool("is_damaged"),
        })
    }

    pub(super) fn attachment_row(&self, group: &Group, row: usize) -> Result<CaptureRow, SnapshotError> {
        let reader = Reader {
            table: ServingTable::Attachments,
            group,
            row,
        };
        let number = reader.number("input_number")?;
        let input = self.input(number)?;
        Ok(CaptureRow {
            url_key: reader.text("url_key"),
            fetch_time_ms: reader.time("fetch_time"),
            url: reader.text("url"),
            mime: reader.text("mime"),
            status: reader.number("status")?,
            method: String::new(),
            digest: reader.text("digest"),
            length: reader.number("length")?,
            offset: reader.number("offset")?,
            input: InputId(number),
            input_name: input.name.clone(),
            location: input.location.clone(),
            collection: input.collection.clone(),
            // As in the index.
            kind: CaptureKind::Conversion,
            index_only: false,
            is_damaged: false,
        })
    }

    pub(super) fn page_row(&self, group: &Group, row: usize) -> Result<PageRow, SnapshotError> {
        let reader = Reader {
            table: ServingTable::Versions,
            group,
            row,
        };
        let number = reader.number("input_number")?;
        Ok(PageRow {
            url_key: reader.text("url_key"),
            url: reader.text("url"),
            fetch_time_ms: reader.time("fetch_time"),
            last_seen_ms: reader.time("last_seen"),
            kind: reader.kind()?,
            status: reader.number("status")?,
            mime: reader.text("mime"),
            digest: reader.text("digest"),
            is_page: reader.bool("is_page"),
            is_document: reader.bool("is_document"),
            title: reader.text("title"),
            language: reader.text("language"),
            canonical: reader.text_if_any("canonical"),
            robots: reader.text_if_any("robots"),
            links: reader.number("links")?,
            links_dropped: reader.number("links_dropped")?,
            text_truncated: group.bool("text_truncated", row),
            // Only access rules test these two, and tables have no rules.
            text_capture: None,
            original: None,
            input: InputId(number),
            collection: self.input(number)?.collection.clone(),
            offset: reader.number("offset")?,
        })
    }
}

pub(super) fn past_version(group: &Group, row: usize) -> PastVersion {
    let reader = Reader {
        table: ServingTable::PastVersions,
        group,
        row,
    };
    let name = reader.text_if_any("text_name");
    let name = name.and_then(|name| u128::from_str_radix(&name, 16).ok());
    PastVersion {
        since_ms: reader.time("since"),
        until_ms: group.number("until", row).unwrap_or(i64::MAX),
        fetch_time_ms: reader.time("fetch_time"),
        url: reader.text("url"),
        title: reader.text("title"),
        mime: reader.text("mime"),
        language: reader.text("language"),
        digest: reader.text("digest"),
        collection: reader.text("collection"),
        text: name.map(u128::to_be_bytes),
        // Only access rules test these two, and tables have no rules.
        text_capture: None,
        original: None,
        page: reader.text_if_any("page"),
    }
}

/// Returns a row of `inlinks` or `outlinks`.
pub(super) fn link_row(table: ServingTable, group: &Group, row: usize) -> LinkRow {
    let reader = Reader { table, group, row };
    let (source_key, target_key) = (reader.text("source_key"), reader.text("target_key"));
    LinkRow {
        external: !urlkey::same_domain(&source_key, &target_key),
        source_key,
        target_key,
        target_url: reader.text("target_url"),
        anchor: reader.text("anchor"),
        nofollow: reader.bool("nofollow"),
    }
}

pub(super) fn uri_row(group: &Group, row: usize) -> Result<UriRow, SnapshotError> {
    let reader = Reader {
        table: ServingTable::Uris,
        group,
        row,
    };
    Ok(UriRow {
        url_key: reader.text("url_key"),
        captured: reader.bool("captured"),
        is_page: reader.bool("is_page"),
        inlinks: reader.number("inlinks")?,
        inlinks_external: reader.number("inlinks_external")?,
    })
}

pub(super) fn domain_row(group: &Group, row: usize) -> Result<DomainRow, SnapshotError> {
    let reader = Reader {
        table: ServingTable::Domains,
        group,
        row,
    };
    Ok(DomainRow {
        domain: reader.text("domain"),
        uris: reader.number("uris")?,
        pages: reader.number("pages")?,
        inlinks_external: reader.number("inlinks_external")?,
    })
}

pub(super) fn top_row(group: &Group, row: usize) -> Result<TopRow, SnapshotError> {
    let reader = Reader {
        table: ServingTable::Top,
        group,
        row,
    };
    Ok(TopRow {
        url_key: reader.text("url_key"),
        inlinks: reader.number("inlinks")?,
        inlinks_external: reader.number("inlinks_external")?,
    })
}
