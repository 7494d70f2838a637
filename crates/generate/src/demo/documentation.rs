//! The documentation as a web site, `docs.weft.example`.
//!
//! The navigation of a page has only the pages of its part. A page of a part without changes is
//! therefore the same in the next edition, and the crawl has a revisit of it.

use super::article;
use super::book::{Page, Part};
use super::bundle::Edition;
use super::resource::Resource;

use crate::markdown::escaped;

/// Address of the start page.
pub(super) const START_URL: &str = "https://docs.weft.example/";

/// The edition from which on the site has its second style and picture.
const SECOND_STYLE: usize = 2;

/// Returns the address of a page of the book.
pub(super) fn url(file: &str) -> String {
    format!("{START_URL}{}", path(file))
}

/// Returns the path of a page, without the slash at its start.
fn path(file: &str) -> String {
    format!("{}.html", file.strip_suffix(".md").unwrap_or(file))
}

/// Returns all answers of the site. `earlier` is the edition before.
pub(super) fn resources(
    number: usize,
    edition: &Edition,
    earlier: Option<&Edition>,
    parts: &[Part],
) -> Vec<Resource> {
    let mut resources = vec![
        Resource::moved("https://weft.example/", START_URL),
        Resource::page(START_URL, start(number, earlier, parts)),
        Resource::moved(&url("index.md"), START_URL),
        Resource::page(&url("contents.md"), contents(parts)),
    ];
    for part in parts {
        for page in &part.pages {
            let html = page_of_book(number, edition, part, page, parts);
            resources.push(Resource::page(&url(&page.file), html));
        }
    }
    // A site of others links here.
    resources.push(Resource::missing(&url("tutorial.md"), missing()));
    resources.extend(files(number));
    resources
}

/// Returns styles, scripts and pictures.
fn files(number: usize) -> Vec<Resource> {
    let (style, picture) = if number < SECOND_STYLE {
        (
            include_str!("../../site/style-1.css"),
            ("threads.png", include_bytes!("../../site/threads.png").as_slice()),
        )
    } else {
        (
            include_str!("../../site/style-2.css"),
            ("results.png", include_bytes!("../../site/results.png").as_slice()),
        )
    };
    let file = |name: &str, content_type, body: &[u8]| {
        Resource::file(&format!("{START_URL}{name}"), content_type, body)
    };
    vec![
        file("style.css", "text/css", style.as_bytes()),
        file("site.js", "text/javascript", include_bytes!("../../site/site.js")),
        file("logo.svg", "image/svg+xml", include_bytes!("../../site/logo.svg")),
        file("icon.png", "image/png", include_bytes!("../../site/icon.png")),
        file(picture.0, "image/png", picture.1),
        file("robots.txt", "text/plain", b"User-agent: *\nAllow: /\n"),
    ]
}

/// Returns the picture of the start page, and from the second style on of the page about search.
fn figure(number: usize) -> &'static str {
    if number < SECOND_STYLE {
        "<figure><img src=\"/threads.png\" alt=\"Threads over and under each other\" width=\"480\" height=\"200\">\
         <figcaption>Pages and their links</figcaption></figure>\n"
    } else {
        "<figure><img src=\"/results.png\" alt=\"A list of search results\" width=\"720\" height=\"450\">\
         <figcaption>A search in a browser</figcaption></figure>\n"
    }
}

fn page_of_book(number: usize, edition: &Edition, part: &Part, page: &Page, parts: &[Part]) -> String {
    let text = edition.files.get(&page.file).map_or("", String::as_str);
    let article = article::html(text, |address| link(&page.file, address, parts));
    let article = if page.file == "search.md" && number >= SECOND_STYLE {
        article.replacen("</h1>\n", &format!("</h1>\n{}", figure(number)), 1)
    } else {
        article
    };
    frame(&format!("{} · Weft", page.title), Some((part, page)), &article)
}

/// Returns the new address of a link in a page of the book. Links to files that are not pages of
/// the site have none.
fn link(from: &str, address: &str, parts: &[Part]) -> Option<String> {
    if address.starts_with('#') || address.contains("://") {
        return Some(address.to_owned());
    }
    let (file, fragment) = match address.split_once('#') {
        Some((file, fragment)) => (file, format!("#{fragment}")),
        None => (address, String::new()),
    };
    // Folders are one level deep.
    let file = match (file.strip_prefix("../"), from.rsplit_once('/')) {
        (Some(file), Some(_)) => file.to_owned(),
        (None, Some((folder, _))) => format!("{folder}/{file}"),
        (_, None) => file.to_owned(),
    };
    let known = parts
        .iter()
        .flat_map(|part| &part.pages)
        .any(|page| page.file == file);
    known.then(|| format!("/{}{fragment}", path(&file)))
}

fn start(number: usize, earlier: Option<&Edition>, parts: &[Part]) -> String {
    let mut html = article::html(include_str!("../../site/start.md"), |_| None);
    html.push_str(figure(number));
    html.push_str("<h2>Begin here</h2>\n<ul>\n");
    parts
        .iter()
        .filter_map(|part| part.pages.first())
        .for_each(|page| push_item(page, &mut html));
    html.push_str("</ul>\n");
    if let Some(earlier) = earlier {
        html.push_str("<h2>New pages</h2>\n<ul>\n");
        parts
            .iter()
            .flat_map(|part| &part.pages)
            .filter(|page| !earlier.files.contains_key(&page.file))
            .for_each(|page| push_item(page, &mut html));
        html.push_str("</ul>\n");
    }
    frame("Weft: a searchable web from web-archive files", None, &html)
}

fn contents(parts: &[Part]) -> String {
    let mut html = "<h1>Contents</h1>\n<div id=\"contents\">\n".to_owned();
    for part in parts {
        html.push_str(&format!("<section>\n<h2>{}</h2>\n<ul>\n", escaped(&part.title)));
        part.pages.iter().for_each(|page| push_item(page, &mut html));
        html.push_str("</ul>\n</section>\n");
    }
    html.push_str("</div>\n");
    frame("Contents · Weft", None, &html)
}

fn missing() -> String {
    let html = "<h1>This page does not exist</h1>\n<p>Perhaps it was renamed: look into the \
                <a href=\"/contents.html\">contents</a>.</p>\n";
    frame("This page does not exist · Weft", None, html)
}

fn push_item(page: &Page, html: &mut String) {
    html.push_str(&format!(
        "<li><a href=\"/{}\">{}</a></li>\n",
        escaped(&path(&page.file)),
        escaped(&page.title)
    ));
}

/// Returns a whole page: head, header, the navigation of its part, the article, footer.
fn frame(title: &str, place: Option<(&Part, &Page)>, article: &str) -> String {
    let title = escaped(title);
    let navigation = place.map_or_else(String::new, |(part, page)| navigation(part, page));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<link rel=\"icon\" href=\"/icon.png\">\n\
         <link rel=\"stylesheet\" href=\"/style.css\">\n<script src=\"/site.js\" defer></script>\n\
         </head>\n<body>\n<header>\n<a class=\"brand\" href=\"/\">\
         <img src=\"/logo.svg\" alt=\"\" width=\"30\" height=\"30\"> Weft</a>\n\
         <a href=\"/contents.html\">Contents</a>\n<a href=\"https://blog.weft.example/\">Blog</a>\n</header>\n\
         <div class=\"book\">\n{navigation}<main>\n{article}</main>\n</div>\n\
         <footer>The documentation of Weft, under the Apache License 2.0</footer>\n</body>\n</html>\n"
    )
}

fn navigation(part: &Part, page: &Page) -> String {
    let mut html = format!("<nav class=\"part\">\n<p>{}</p>\n<ul>\n", escaped(&part.title));
    for other in &part.pages {
        let current = if other.file == page.file {
            " aria-current=\"page\""
        } else {
            ""
        };
        html.push_str(&format!(
            "<li><a href=\"/{}\"{current}>{}</a></li>\n",
            escaped(&path(&other.file)),
            escaped(&other.title)
        ));
    }
    html.push_str("</ul>\n</nav>\n");
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_sources_lead_to_pages() {
        let page = |file: &str| Page {
            file: file.into(),
            title: file.into(),
        };
        let parts = [Part {
            title: "All".into(),
            pages: vec![page("a.md"), page("tasks/b.md")],
        }];
        for (from, address, to) in [
            ("a.md", "#x", Some("#x")),
            ("a.md", "https://example.org/", Some("https://example.org/")),
            ("a.md", "tasks/b.md#y", Some("/tasks/b.html#y")),
            ("tasks/b.md", "../a.md", Some("/a.html")),
            ("tasks/b.md", "b.md", Some("/tasks/b.html")),
            ("a.md", "../README.md", None),
            ("a.md", "policies.toml", None),
        ] {
            assert_eq!(link(from, address, &parts).as_deref(), to, "{from} {address}");
        }
    }
}
