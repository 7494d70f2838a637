//! Creates the web page of a crate: the data of its manifest, its dependencies as links, its
//! README.

use pulldown_cmark::{CowStr, Event, LinkType, Options, Parser, Tag, html};

use super::sources::Crate;

/// URL of the style of all pages.
pub(super) const STYLE_URL: &str = "https://crates.io/demo/page.css";

/// URL of the picture on all pages.
pub(super) const PICTURE_URL: &str = "https://crates.io/demo/crate.svg";

/// The style of all pages.
pub(super) const STYLE: &str = "body{font:16px/1.6 Georgia,serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#23303a;background:#fdfcf8}\n\
    h1{color:#8a3b12;border-bottom:3px solid #e2c9a6;padding-bottom:.3rem}\n\
    .crate{float:right;background:url(crate.svg) center/contain no-repeat}\n\
    code,pre{background:#f3ece0;border-radius:4px;padding:.1rem .3rem}\n";

/// The picture on all pages: a crate.
pub(super) const PICTURE: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 64 64\"><rect x=\"6\" y=\"14\" width=\"52\" height=\"40\" rx=\"3\" \
    fill=\"#d9a566\" stroke=\"#8a3b12\" stroke-width=\"3\"/><path d=\"M6 27h52M6 41h52M18 14v40M46 14v40\" stroke=\"#8a3b12\" \
    stroke-width=\"3\" fill=\"none\"/></svg>";

/// Returns the URL of the page of a crate.
pub(super) fn url_of(name: &str) -> String {
    format!("https://crates.io/crates/{name}")
}

/// Returns the URL of the page of this version: the crate's URL, unless a newer version uses that.
pub(super) fn url(of: &Crate) -> String {
    if of.superseded {
        format!("{}/{}", url_of(&of.name), of.version)
    } else {
        url_of(&of.name)
    }
}

/// Returns the whole page.
pub(super) fn html(of: &Crate) -> String {
    let mut page = String::with_capacity(16 * 1024);
    page.push_str("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    let summary = of.description.split_whitespace().collect::<Vec<_>>().join(" ");
    let title = if summary.is_empty() {
        of.name.clone()
    } else {
        format!("{}: {summary}", of.name)
    };
    page.push_str(&format!("<title>{}</title>\n", escape(&title)));
    page.push_str(&format!(
        "<link rel=\"canonical\" href=\"{}\">\n",
        escape(&url(of))
    ));
    page.push_str(&format!("<link rel=\"stylesheet\" href=\"{STYLE_URL}\">\n"));
    // Links in a README are relative to the source of the crate.
    page.push_str(&format!(
        "<base href=\"https://docs.rs/crate/{}/{}/source/\">\n",
        of.name, of.version
    ));
    page.push_str("</head>\n<body>\n");
    page.push_str(&format!(
        "<img class=\"crate\" src=\"{PICTURE_URL}\" alt=\"\" width=\"64\" height=\"64\">\n<h1>{} {}</h1>\n<p>{}</p>\n",
        escape(&of.name),
        escape(&of.version),
        escape(&summary)
    ));
    push_facts(of, &mut page);
    push_dependencies(of, &mut page);
    push_readme(of, &mut page);
    page.push_str("</body>\n</html>\n");
    page
}

fn push_facts(of: &Crate, page: &mut String) {
    page.push_str("<ul>\n");
    if !of.license.is_empty() {
        page.push_str(&format!("<li>Licence: {}</li>\n", escape(&of.license)));
    }
    for (label, address) in &of.addresses {
        page.push_str(&format!("<li>{}</li>\n", link(address, label)));
    }
    for (path, words) in [("keywords", &of.keywords), ("categories", &of.categories)] {
        for word in words {
            page.push_str(&format!(
                "<li>{}</li>\n",
                link(&format!("https://crates.io/{path}/{word}"), word)
            ));
        }
    }
    page.push_str("</ul>\n");
}

fn push_dependencies(of: &Crate, page: &mut String) {
    if of.dependencies.is_empty() {
        return;
    }
    page.push_str("<h2>Dependencies</h2>\n<ul>\n");
    for dependency in &of.dependencies {
        let crate_link = link(&url_of(&dependency.name), &dependency.name);
        page.push_str(&format!(
            "<li>{crate_link} {}</li>\n",
            escape(&dependency.requirement)
        ));
    }
    page.push_str("</ul>\n");
}

fn push_readme(of: &Crate, page: &mut String) {
    match &of.readme {
        None => {}
        Some((text, false)) => page.push_str(&format!("<pre>{}</pre>\n", escape(text))),
        Some((text, true)) => {
            let own = url(of);
            let events = Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH)
                .map(|event| own_anchors(event, &own));
            page.push_str("<article>\n");
            html::push_html(page, events);
            page.push_str("</article>\n");
        }
    }
}

/// Keeps links within the README (`#usage`) on the page, because the base URL would lead them
/// elsewhere.
fn own_anchors<'a>(event: Event<'a>, own: &str) -> Event<'a> {
    match event {
        Event::Start(Tag::Link {
            link_type,
            dest_url,
            title,
            id,
        }) if dest_url.starts_with('#') && link_type != LinkType::Email => {
            let dest_url = CowStr::from(format!("{own}{dest_url}"));
            Event::Start(Tag::Link {
                link_type,
                dest_url,
                title,
                id,
            })
        }
        event => event,
    }
}

fn link(address: &str, text: &str) -> String {
    format!("<a href=\"{}\">{}</a>", escape(address), escape(text))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::super::sources::Dependency;
    use super::*;

    #[test]
    fn a_page_has_its_links() {
        let page = html(&Crate {
            name: "x".into(),
            version: "1.0.0".into(),
            description: "Does <x>\n& more".into(),
            dependencies: vec![Dependency {
                name: "y".into(),
                requirement: "^2".into(),
            }],
            readme: Some(("# X\n[usage](#usage) [licence](LICENSE)".into(), true)),
            ..Crate::default()
        });
        for part in [
            "<title>x: Does &lt;x&gt; &amp; more</title>",
            "<a href=\"https://crates.io/crates/y\">y</a> ^2",
            "<a href=\"https://crates.io/crates/x#usage\">usage</a>",
            "<a href=\"LICENSE\">licence</a>",
            "<base href=\"https://docs.rs/crate/x/1.0.0/source/\">",
        ] {
            assert!(page.contains(part), "{part} is not in\n{page}");
        }
    }
}
