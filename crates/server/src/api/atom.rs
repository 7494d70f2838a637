//! The newest results of a search as an Atom feed (RFC 4287), for feed readers that poll it.
//!
//! Invariants:
//! - A version of a page has one permanent id, the same in every feed. The id is derived from its
//!   URL key and its first capture. A later capture of the same content makes the entry newer.
//! - Addresses are relative, because clients may reach the server under several names, and behind a
//!   proxy with another scheme.

use archive::question::{Answer, SearchBody, SearchHit, SearchOrder, SearchQuestion};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use quick_xml::events::{BytesDecl, Event};

use super::xml::{Xml, text};
use crate::archive_client::ArchiveClient;
use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::link;

/// Media type of the feed.
pub(super) const MEDIA_TYPE: &str = "application/atom+xml";

/// Default number of entries.
pub(super) const ENTRIES: usize = 50;

/// `updated` of a feed without entries.
const NEVER: &str = "1970-01-01T00:00:00Z";

/// Returns the feed of a query. `host` is the host name in the request.
pub(super) async fn feed(
    archive: &ArchiveClient,
    arguments: &Arguments,
    host: &str,
) -> Result<Response, Failure> {
    let query = arguments.required("q");
    let all_versions = arguments.flag("all_versions");
    let question = SearchQuestion {
        query: query.clone(),
        limit: arguments.limit("limit").unwrap_or(ENTRIES),
        order: SearchOrder::Newest,
        all_versions,
        ..SearchQuestion::default()
    };
    let Answer { body: mut found, .. } = archive.ask(question).await?;
    if found.has_few_alone() {
        // No page has enough of the words. A reader who waits for such a page must not get others.
        found.hits.clear();
    }
    let address = |path: &str| {
        let all_versions = all_versions.then_some("1");
        link::with(path, &[("q", Some(&query)), ("all_versions", all_versions)])
    };
    let addresses = FeedAddresses {
        id: id(&["feed", host, &address("")]),
        itself: address("/search.atom"),
        page: address("/search"),
    };
    let xml = written(&query, &found, &addresses).map_err(|error| {
        tracing::error!(%error, "cannot write an Atom feed");
        Failure::internal()
    })?;
    let headers = [
        (header::CONTENT_TYPE, "application/atom+xml; charset=utf-8"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    Ok((headers, xml).into_response())
}

/// Addresses of a feed.
struct FeedAddresses {
    id: String,
    itself: String,
    page: String,
}

fn written(query: &str, found: &SearchBody, addresses: &FeedAddresses) -> std::io::Result<Vec<u8>> {
    let mut xml = Xml::new(Vec::new());
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("utf-8"), None)))?;
    let feed = xml
        .create_element("feed")
        .with_attribute(("xmlns", "http://www.w3.org/2005/Atom"));
    feed.write_inner_content(|xml| {
        let newest = found.hits.first().map_or(NEVER, |hit| &hit.fetch_time);
        text(xml, "id", &addresses.id)?;
        text(xml, "title", &format!("{query} \u{b7} Weft"))?;
        text(xml, "updated", newest)?;
        address(xml, "self", MEDIA_TYPE, &addresses.itself)?;
        address(xml, "alternate", "text/html", &addresses.page)?;
        let author = xml.create_element("author");
        author.write_inner_content(|xml| text(xml, "name", "Weft"))?;
        found.hits.iter().try_for_each(|hit| entry(xml, hit, addresses))
    })?;
    Ok(xml.into_inner())
}

fn entry(xml: &mut Xml, hit: &SearchHit, addresses: &FeedAddresses) -> std::io::Result<()> {
    let entry = xml.create_element("entry");
    entry.write_inner_content(|xml| {
        let title = if hit.title.trim().is_empty() {
            &hit.url
        } else {
            &hit.title
        };
        text(xml, "id", &id(&["version", &hit.url_key, &hit.since]))?;
        text(xml, "title", title)?;
        text(xml, "published", &hit.since)?;
        text(xml, "updated", &hit.fetch_time)?;
        // An entry without content must have a link (section 4.1.2).
        let page = link::if_short(page(hit));
        address(
            xml,
            "alternate",
            "text/html",
            page.as_ref().unwrap_or(&addresses.page),
        )?;
        text(xml, "summary", &format!("{}\n{}", hit.url, hit.snippet.text()))
    })?;
    Ok(())
}

/// Returns the address of the archive's page about a result. For a past version it is the page at
/// that time.
fn page(hit: &SearchHit) -> String {
    match format::date::DateTime::of_text(&hit.fetch_time).filter(|_| hit.until.is_some()) {
        Some(moment) => link::page_at(&hit.url, &link::At::time(&moment.digits())),
        None => link::page(&hit.url),
    }
}

fn address(xml: &mut Xml, what: &str, media: &str, address: &str) -> std::io::Result<()> {
    let link = xml.create_element("link");
    let link = link.with_attributes([("rel", what), ("type", media), ("href", address)]);
    link.write_empty()?;
    Ok(())
}

/// Returns a unique name: a UUID (RFC 9562, version 8) of a SHA-256 digest.
fn id(parts: &[&str]) -> String {
    let mut digest = digests::Sha256::default();
    for part in parts {
        digest.update(&(part.len() as u64).to_le_bytes());
        digest.update(part.as_bytes());
    }
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest.finish()[..16]);
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = data_encoding::HEXLOWER.encode(&bytes);
    let cut = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    format!(
        "urn:uuid:{}-{}-{}-{}-{}",
        cut(0, 8),
        cut(8, 12),
        cut(12, 16),
        cut(16, 20),
        cut(20, 32)
    )
}

#[cfg(test)]
mod tests {
    use super::id;

    /// Ids must not change between versions of the program: feed readers identify entries by them.
    #[test]
    fn ids_stay() {
        let of_page = id(&["version", "org,example)/", "2014-01-26T20:06:24.000Z"]);
        assert_eq!(of_page, "urn:uuid:fae74420-058a-83d7-9a29-4cdb760cd79a");
        assert_ne!(id(&["a", "bc"]), id(&["ab", "c"]));
    }
}
