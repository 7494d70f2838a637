//! Images that pages show, found by words or by similarity.

use archive::question::{Answer, ImageHit, ImagesBody, ImagesQuestion, ThumbnailQuestion};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use ui::{Frame, Section};

use super::html::{Context, Html, PageFailure, PageResult};
use super::parts;
use crate::api::search_order;
use crate::failure::Failure;
use crate::query::Query;
use crate::{link, present};

/// Number of images on a page.
const IMAGES: usize = 48;

/// Parameters of the address.
struct ImagesRequest {
    query: String,
    /// The perceptual hash to compare with, instead of the query.
    same: Option<String>,
    after: Option<String>,
    /// Whether each page that shows an image is a result.
    every_page: bool,
    sort: Option<String>,
}

impl ImagesRequest {
    fn link(&self, after: Option<&str>, every_page: bool) -> String {
        link::with(
            "/images",
            &[
                ("q", Some(&self.query)),
                ("same", self.same.as_deref()),
                ("every_page", every_page.then_some("1")),
                ("sort", self.sort.as_deref()),
                ("after", after),
            ],
        )
    }
}

/// Handles `/images`.
pub(super) async fn show(context: Context, query: Query) -> PageResult {
    let asked = ImagesRequest {
        query: query.text("q"),
        same: query.owned("same"),
        after: query.owned("after"),
        every_page: query.get("every_page").is_some_and(|value| value != "0"),
        sort: query.owned("sort"),
    };
    let (epoch, found) = if asked.query.is_empty() && asked.same.is_none() {
        (None, None)
    } else {
        let question = ImagesQuestion {
            query: asked.query.clone(),
            same: asked.same.clone(),
            limit: IMAGES,
            after: asked.after.clone(),
            order: search_order(asked.sort.as_deref()),
            every_page: asked.every_page,
        };
        let Answer { epoch, body } = context.archive.ask(question).await?;
        (Some(epoch), Some(body))
    };
    let frame = Frame {
        title: "Images",
        section: Section::Images,
        parts: context.parts(),
        viewer: context.viewer(),
        query: &asked.query,
        epoch,
    };
    Ok(Html::ok(frame.around(content(&asked, found.as_ref(), epoch))))
}

/// Handles `/images/thumbnail`: a small copy of the capture of `url` nearest to `at`.
pub(super) async fn thumbnail(context: Context, query: Query) -> Result<Response, PageFailure> {
    let question = ThumbnailQuestion {
        url: query.text("url"),
        at: query.moment("at")?,
    };
    let copy = context.archive.ask(question).await?.body;
    let data = data_encoding::BASE64
        .decode(copy.data.as_bytes())
        .map_err(|error| Failure::unavailable(format!("the thumbnail is damaged: {error}")))?;
    // A worker that a hostile image took over may name any type.
    let media = match copy.mime.as_str() {
        "image/png" => "image/png",
        "image/svg+xml" => "image/svg+xml",
        _ => "image/jpeg",
    };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(media)),
        (
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        ),
        // A drawing that is opened by itself runs no script and loads nothing.
        (
            header::CONTENT_SECURITY_POLICY,
            HeaderValue::from_static("sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"),
        ),
        // Rights are checked at each request.
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    Ok((headers, data).into_response())
}

fn content(asked: &ImagesRequest, found: Option<&ImagesBody>, epoch: Option<u64>) -> Markup {
    html! {
        h1 { "Images" }
        (form(asked))
        @match found {
            None => p.soft { "Images are found by the words that pages say of them: alternative text, title, caption, heading, the text near them, and their address." },
            Some(found) => (results(asked, found, epoch)),
        }
    }
}

fn form(asked: &ImagesRequest) -> Markup {
    html! {
        form.images-form action="/images" method="get" role="search" aria-label="Images" {
            label.hidden for="images-query" { "Words about an image" }
            input #images-query type="search" name="q" maxlength="2000" dir="auto" autocomplete="off"
                value=(present::clean(&asked.query)) placeholder="Words about an image";
            button type="submit" { "Find images" }
        }
    }
}

fn results(asked: &ImagesRequest, found: &ImagesBody, epoch: Option<u64>) -> Markup {
    let next = found.next.as_deref();
    html! {
        p.summary role="status" {
            strong { (present::counted(found.summary.shown_total, "image", "images")) }
            @if found.summary.shown_total < found.summary.total { span.soft { " in " (present::counted(found.summary.total, "place", "places")) } }
            @if let Some(hash) = &asked.same { span.soft { " that look like " code { (present::clean(hash)) } } }
        }
        @if epoch.is_some_and(|epoch| found.summary.search_epoch < epoch) {
            p.soft { "The index of images covers epoch " (found.summary.search_epoch) ": the newest images cannot be found yet." }
        }
        @if asked.same.is_none() {
            nav.choices aria-label="Number of results" {
                span.choice {
                    @for (name, every_page) in [("Each image once", false), ("Every page", true)] {
                        a href=(asked.link(None, every_page)) rel="nofollow" aria-current=[(asked.every_page == every_page).then_some("true")] { (name) }
                    }
                }
            }
        }
        @if !found.summary.notes.is_empty() {
            ul.notes { @for note in &found.summary.notes { li { (parts::text(&note.text)) } } }
        }
        @if found.hits.is_empty() {
            (parts::nothing("No images", html! { p { "No image of a current page is described by these words. Other words, or fewer, may find some." } }))
        } @else {
            ol.images { @for hit in captured_first(&found.hits) { li { (image(hit)) } } }
            (parts::pager(
                asked.after.as_ref().map(|_| asked.link(None, asked.every_page)),
                next.map(|next| asked.link(Some(next), asked.every_page)),
            ))
        }
    }
}

/// Returns the images of one page of results. Those without a file have nothing to see, so they
/// follow the others.
fn captured_first(hits: &[ImageHit]) -> impl Iterator<Item = &ImageHit> {
    let (captured, absent): (Vec<_>, Vec<_>) = hits.iter().partition(|hit| hit.capture.is_some());
    captured.into_iter().chain(absent)
}

fn image(hit: &ImageHit) -> Markup {
    let hash = hit.capture.as_ref().and_then(|capture| capture.hash.as_deref());
    html! {
        div.picture { (picture(hit)) }
        div.about {
            @if let Some(page) = &hit.page {
                p.words { (parts::text(label(hit))) }
                p.where { "on " (parts::dated_link(&page.url, &page.fetch_time, &page.title)) }
            } @else {
                p.where { (parts::url_link(&hit.url)) }
            }
            (parts::facts(&facts(hit)))
            p.more {
                @if let (Some(pages), Some(like)) = (hit.pages.filter(|pages| *pages > 1), &hit.like) {
                    a href=(link::with("/images", &[("q", Some(like)), ("every_page", Some("1"))])) rel="nofollow" { (present::counted(pages, "page", "pages")) } " "
                }
                @if let Some(hash) = hash {
                    a href=(link::with("/images", &[("same", Some(hash))])) rel="nofollow" { "The same picture elsewhere" }
                }
            }
        }
    }
}

/// Returns what the page calls the image: the first text that is not empty.
fn label(hit: &ImageHit) -> &str {
    let texts = [&hit.alt, &hit.caption, &hit.title];
    let found = texts.into_iter().find(|text| !text.trim().is_empty());
    found.map_or("(no description)", String::as_str)
}

/// Shows the picture, as a link to its captures.
fn picture(hit: &ImageHit) -> Markup {
    html! {
        @match &hit.capture {
            Some(capture) => {
                @let moment = format::date::DateTime::of_text(&capture.fetch_time).map(|moment| moment.digits());
                @let source = link::with("/images/thumbnail", &[("url", Some(&capture.url)), ("at", moment.as_deref())]);
                @match (link::if_short(link::page(&capture.url)), link::if_short(source)) {
                    (Some(page), Some(source)) => a href=(page) { img src=(source) alt=(present::clean(label(hit))) loading="lazy"; },
                    _ => span.soft { "(address too long for a link)" },
                }
            },
            None => span.soft { "not captured" },
        }
    }
}

fn facts(hit: &ImageHit) -> Vec<Markup> {
    let mut facts = Vec::new();
    if let (Some(width), Some(height)) = (hit.width, hit.height) {
        facts.push(html! { (width) " \u{d7} " (height) });
    }
    if let Some(capture) = &hit.capture {
        facts.push(parts::media(&capture.mime));
        facts.push(match (&capture.since, &capture.until) {
            (Some(since), Some(until)) => html! { (parts::date(since)) " to " (parts::date(until)) },
            (Some(since), None) => html! { "since " (parts::date(since)) },
            (None, _) => parts::date(&capture.fetch_time),
        });
        let exif = [("taken", &capture.exif_time), ("at", &capture.exif_location)];
        for (name, value) in exif {
            if let Some(value) = value {
                facts.push(html! { (name) " " (value) });
            }
        }
    }
    facts
}

#[cfg(test)]
mod tests {
    use archive::question::ImageCapture;

    use super::*;

    #[test]
    fn images_with_a_file_come_first_in_their_order() {
        let hit = |url: &str, capture: Option<ImageCapture>| ImageHit {
            url: url.into(),
            capture,
            ..ImageHit::default()
        };
        let captured = || Some(ImageCapture::default());
        let hits = [
            hit("a", None),
            hit("b", captured()),
            hit("c", None),
            hit("d", captured()),
        ];
        let order: Vec<&str> = captured_first(&hits).map(|hit| hit.url.as_str()).collect();
        assert_eq!(order, ["b", "d", "a", "c"]);
    }
}
