//! Search by images: by the words of pages, and by similarity.

use std::sync::Arc;

use extract::{Image, ImageFacts};
use search::{Hit, Query, Results, TextRequest};

use super::basis::Basis;
use super::cursor;
use super::search::{damaged, found};
use super::visible_snapshot::VisibleSnapshot;
use crate::AskError;
use crate::feed::images;
use crate::question::{ImageCapture, ImageHit, ImagePage, ImagesBody, ImagesQuestion, SearchSummary};

/// Number of hexadecimal digits of a hash.
const HASH_DIGITS: usize = 16;

pub(super) fn images(basis: &Basis<'_>, question: &ImagesQuestion) -> Result<ImagesBody, AskError> {
    let visible = basis.visible();
    let query = Query {
        text: question.query.clone(),
        limit: question.limit,
        after: question.after.clone(),
        order: question.order,
        ..Query::default()
    };
    let (results, hit_of): (Results, HitOf) = match &question.same {
        Some(hash) => (found(basis, &visible, &looking_like(hash, query)?)?, image_file),
        None => {
            let near = !question.every_page;
            (
                matching(basis, &visible, &Query { near, ..query })?,
                image_on_page,
            )
        }
    };
    let summary = SearchSummary::of(&question.query, &results);
    let hits = results.hits.into_iter().map(|hit| hit_of(&visible, hit));
    Ok(ImagesBody {
        summary,
        hits: hits.collect::<Result<_, _>>()?,
        next: results.next,
    })
}

/// Makes the result of a hit.
type HitOf = fn(&VisibleSnapshot<'_>, Hit) -> Result<ImageHit, AskError>;

/// Returns the query for all versions of images that look like the one with this hash.
fn looking_like(hash: &str, query: Query) -> Result<Query, AskError> {
    if hash.len() != HASH_DIGITS || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(AskError::bad_request(format!(
            "{hash:?} is not the hash of an image: expected {HASH_DIGITS} hexadecimal digits"
        )));
    }
    Ok(Query {
        text: format!("like:{} type:image", hash.to_ascii_lowercase()),
        all_versions: true,
        ..query
    })
}

/// Runs a query on the index of images.
fn matching(basis: &Basis<'_>, visible: &VisibleSnapshot<'_>, query: &Query) -> Result<Results, AskError> {
    let (open, filter) = (basis.open, &basis.filter);
    let is_cursor = query.after.as_deref().is_none_or(search::is_cursor);
    if !is_cursor {
        return Err(AskError::bad_request(cursor::NO_CURSOR));
    }
    open.freshen_search().map_err(AskError::internal)?;
    let words_of = |sought: &TextRequest<'_>| {
        let number = images::number_of(sought.past??);
        let shown = visible.images(sought.url_key).ok()?;
        shown
            .get(number)
            .map(|image| -> Arc<str> { Arc::from(images::words(image)) })
    };
    let found = open.images.search(query, filter, &words_of);
    found.map_err(|error| damaged(&open.images_folder(), &error))
}

/// Returns the result for an image on a page.
fn image_on_page(visible: &VisibleSnapshot<'_>, hit: Hit) -> Result<ImageHit, AskError> {
    let page = visible.version(&hit.url_key)?;
    let (page_url, page_title) = page.map(|page| (page.url, page.title)).unwrap_or_default();
    let number = usize::try_from(hit.version.since_ms).unwrap_or(usize::MAX);
    let shown = visible.images(&hit.url_key)?.into_iter().nth(number);
    // The index of images may be some epochs behind, and the page may have other images now.
    let image = shown
        .filter(|image| image.url == hit.url)
        .unwrap_or_else(|| Image {
            url: hit.url.clone(),
            alt: hit.title.clone(),
            ..Image::default()
        });
    let (capture, facts) = file_of(visible, &image)?.unzip();
    let facts = facts.flatten();
    Ok(ImageHit {
        width: facts.map(|facts| facts.width).or(image.width),
        height: facts.map(|facts| facts.height).or(image.height),
        page: Some(ImagePage {
            url: page_url,
            title: page_title,
            url_key: hit.url_key,
            fetch_time: format::date::iso(hit.fetch_time_ms),
            language: hit.language,
            collection: hit.collection,
        }),
        capture,
        pages: hit.group.map(|group| group.of_near),
        like: hit.group.and_then(|group| group.like()),
        url: image.url,
        alt: image.alt,
        title: image.title,
        caption: image.caption,
        snippet: hit.snippet,
        score: hit.score,
    })
}

/// Returns the newest file of an image: the file at its address, or else at another address that
/// the page names.
fn file_of(
    visible: &VisibleSnapshot<'_>,
    image: &Image,
) -> Result<Option<(ImageCapture, Option<ImageFacts>)>, AskError> {
    for url in std::iter::once(&image.url).chain(&image.sources) {
        let Ok(url_key) = urlkey::url_key(url) else {
            continue;
        };
        let version = visible.version(&url_key)?;
        let Some(version) = version.filter(|version| version.mime.starts_with("image/")) else {
            continue;
        };
        let facts = visible.text(&url_key)?.as_deref().and_then(ImageFacts::parse);
        let capture = ImageCapture {
            url: version.url,
            fetch_time: format::date::iso(version.fetch_time_ms),
            mime: version.mime,
            ..described(facts)
        };
        return Ok(Some((capture, facts)));
    }
    Ok(None)
}

/// Returns the result for a version of an image.
fn image_file(visible: &VisibleSnapshot<'_>, hit: Hit) -> Result<ImageHit, AskError> {
    let text = match (hit.version.until_ms, hit.version.text) {
        (None, _) => visible.text(&hit.url_key)?,
        (Some(_), Some(name)) => visible.past_text(&hit.url_key, name)?,
        (Some(_), None) => None,
    };
    let facts = text.as_deref().and_then(ImageFacts::parse);
    let version = visible.version_shown(&hit.url_key, hit.version)?;
    Ok(ImageHit {
        width: facts.map(|facts| facts.width),
        height: facts.map(|facts| facts.height),
        capture: Some(ImageCapture {
            url: hit.url.clone(),
            fetch_time: format::date::iso(hit.fetch_time_ms),
            since: Some(format::date::iso(version.since_ms)),
            until: version.ended_ms().map(format::date::iso),
            mime: hit.mime,
            ..described(facts)
        }),
        url: hit.url,
        score: hit.score,
        ..ImageHit::default()
    })
}

/// Returns what is known of a file from its bytes.
fn described(facts: Option<ImageFacts>) -> ImageCapture {
    let exif = facts.and_then(|facts| facts.exif);
    ImageCapture {
        hash: facts
            .and_then(|facts| facts.hash)
            .map(|hash| format!("{hash:016x}")),
        exif_time: exif.and_then(|exif| exif.time_text()),
        exif_location: exif.and_then(|exif| exif.location_text()),
        ..ImageCapture::default()
    }
}
