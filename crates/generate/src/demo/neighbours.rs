//! The blog of the site, and the pages of others that link to the site.

use super::article;
use super::resource::Resource;

use crate::markdown::{self, escaped};

/// Address of the blog.
const BLOG_URL: &str = "https://blog.weft.example/";

/// Name of the style in the root of each host.
const STYLE: &str = "plain.css";

/// A post of the blog. Edition `n` of the site has the first `n + 1` posts.
struct Post {
    /// Name of the page.
    name: &'static str,
    /// Day of publication.
    day: &'static str,
    text: &'static str,
}

/// Posts, oldest first.
const POSTS: [Post; 3] = [
    Post {
        name: "search-while-loading.html",
        day: "2026-11-24",
        text: include_str!("../../site/blog/search-while-loading.md"),
    },
    Post {
        name: "pages-as-they-were.html",
        day: "2026-11-26",
        text: include_str!("../../site/blog/pages-as-they-were.md"),
    },
    Post {
        name: "compare-two-versions.html",
        day: "2026-11-27",
        text: include_str!("../../site/blog/compare-two-versions.md"),
    },
];

/// A page of another site.
struct Neighbour {
    /// Host without scheme.
    host: &'static str,
    /// Name of the site.
    site: &'static str,
    /// Path, with the slash at its start.
    path: &'static str,
    /// The edition that has this text first.
    first: usize,
    text: &'static str,
}

/// Pages of other sites. Of several with the same address, a later one replaces the earlier ones.
const NEIGHBOURS: [Neighbour; 8] = [
    Neighbour {
        host: "www.library.example",
        site: "The library",
        path: "/web-archive/",
        first: 0,
        text: include_str!("../../site/neighbours/library-1.md"),
    },
    Neighbour {
        host: "www.library.example",
        site: "The library",
        path: "/web-archive/",
        first: 2,
        text: include_str!("../../site/neighbours/library-2.md"),
    },
    Neighbour {
        host: "www.library.example",
        site: "The library",
        path: "/web-archive/takedown.html",
        first: 2,
        text: include_str!("../../site/neighbours/library-takedown.md"),
    },
    Neighbour {
        host: "crawling.example",
        site: "Notes on crawling",
        path: "/tools.html",
        first: 0,
        text: include_str!("../../site/neighbours/crawling-1.md"),
    },
    Neighbour {
        host: "crawling.example",
        site: "Notes on crawling",
        path: "/tools.html",
        first: 1,
        text: include_str!("../../site/neighbours/crawling-2.md"),
    },
    Neighbour {
        host: "courses.university.example",
        site: "Courses",
        path: "/web-archives/reading.html",
        first: 1,
        text: include_str!("../../site/neighbours/university.md"),
    },
    Neighbour {
        host: "wiki.example",
        site: "A wiki",
        path: "/Web_archive",
        first: 2,
        text: include_str!("../../site/neighbours/wiki.md"),
    },
    Neighbour {
        host: "www.newsroom.example",
        site: "The newsroom",
        path: "/methods/deleted-paragraphs.html",
        first: 2,
        text: include_str!("../../site/neighbours/newsroom.md"),
    },
];

/// Returns the answers of all hosts except the documentation's.
pub(super) fn resources(number: usize) -> Vec<Resource> {
    let mut resources = blog(&POSTS[..POSTS.len().min(number + 1)]);
    let mut hosts = vec!["blog.weft.example"];
    for (at, page) in NEIGHBOURS.iter().enumerate() {
        let is_replaced = NEIGHBOURS[at + 1..]
            .iter()
            .any(|later| (later.host, later.path) == (page.host, page.path) && later.first <= number);
        if page.first > number || is_replaced {
            continue;
        }
        let url = format!("https://{}{}", page.host, page.path);
        let html = frame(page.site, &article(page.text), page.text);
        resources.push(Resource::page(&url, html));
        if !hosts.contains(&page.host) {
            hosts.push(page.host);
        }
    }
    let style = include_str!("../../site/plain.css");
    resources.extend(
        hosts
            .iter()
            .map(|host| Resource::file(&format!("https://{host}/{STYLE}"), "text/css", style)),
    );
    resources
}

/// Returns the start page of the blog, its posts and its feed.
fn blog(posts: &[Post]) -> Vec<Resource> {
    let mut list = "<h1>News of Weft</h1>\n<ul>\n".to_owned();
    for post in posts.iter().rev() {
        list.push_str(&format!(
            "<li><a href=\"/{}\">{}</a>, {}</li>\n",
            post.name,
            escaped(&title(post.text)),
            post.day
        ));
    }
    list.push_str(
        "</ul>\n<p><a href=\"/feed.xml\">Feed</a>, \
                   <a href=\"https://docs.weft.example/\">documentation</a></p>\n",
    );
    let mut resources = vec![
        Resource::page(BLOG_URL, frame("Blog", &list, "# News of Weft")),
        Resource::file(
            &format!("{BLOG_URL}feed.xml"),
            "application/atom+xml",
            feed(posts),
        ),
    ];
    for post in posts {
        let html = frame("News of Weft", &article(post.text), post.text);
        resources.push(Resource::page(&format!("{BLOG_URL}{}", post.name), html));
    }
    resources
}

/// Returns the Atom feed of the blog.
fn feed(posts: &[Post]) -> String {
    let updated = posts.last().map_or("", |post| post.day);
    let mut feed = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n\
         <title>News of Weft</title>\n<id>{BLOG_URL}</id>\n<updated>{updated}T12:00:00Z</updated>\n\
         <author><name>Weft</name></author>\n"
    );
    for post in posts.iter().rev() {
        let (url, title) = (format!("{BLOG_URL}{}", post.name), escaped(&title(post.text)));
        feed.push_str(&format!(
            "<entry><title>{title}</title><id>{url}</id><link href=\"{url}\"/>\
             <updated>{}T12:00:00Z</updated><summary>{title}</summary></entry>\n",
            post.day
        ));
    }
    feed.push_str("</feed>\n");
    feed
}

/// Links in these texts are addresses already.
fn article(text: &str) -> String {
    article::html(text, |address| Some(address.to_owned()))
}

fn title(text: &str) -> String {
    markdown::title(text).unwrap_or_default()
}

fn frame(site: &str, article: &str, text: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <title>{}</title>\n<link rel=\"stylesheet\" href=\"/{STYLE}\">\n</head>\n<body>\n\
         <p class=\"site\">{}</p>\n{article}</body>\n</html>\n",
        escaped(&title(text)),
        escaped(site)
    )
}
