//! Returns a part of the text of one version of a page or document.

use format::TextPart;

use super::basis::Basis;
use super::{key, page_version};
use crate::AskError;
use crate::question::{PageText, PageTextBody};

/// Characters of an answer if the question asks for 0.
const LIMIT_DEFAULT: usize = 10_000;

/// Maximum number of characters in an answer.
const LIMIT_MAX: usize = 100_000;

pub(super) fn page_text(basis: &Basis<'_>, question: &PageText) -> Result<PageTextBody, AskError> {
    let visible = basis.visible();
    let url_key = key::url_key(&question.url)?;
    let versions = page_version::versions(&visible, &url_key, &question.url)?;
    let found = match &question.at {
        Some(at) => page_version::find(&versions, at, &question.url)?,
        None => versions.len() - 1,
    };
    let version = &versions[found];
    let limit = match question.limit {
        0 => LIMIT_DEFAULT,
        limit => limit.min(LIMIT_MAX),
    };
    let part = TextPart::of(&version.text(&visible, &url_key)?, question.start, limit);
    Ok(PageTextBody {
        url: version.url.clone(),
        since: format::date::iso(version.since_ms),
        fetch_time: format::date::iso(version.fetch_time_ms),
        until: version.until_ms.map(format::date::iso),
        title: version.title.clone(),
        mime: version.mime.clone(),
        language: version.language.clone(),
        digest: version.digest.clone(),
        text: part.text,
        start: part.start,
        chars: part.chars,
        next: part.next,
        url_key,
    })
}
