//! The `Refresh` of the HTTP header.

use extract::{Extracted, LinkKind, LinkScope, Shortfall};

use crate::data;

#[test]
fn c04_a_refresh_of_the_header_is_a_link() {
    let Some(file) = data::file("field/c04-refresh-header.warc.gz") else {
        return;
    };
    let captures: Vec<_> = data::outcomes(&file, LinkScope::All)
        .into_iter()
        .filter_map(|outcome| match outcome {
            Extracted::Capture(capture) => Some(*capture),
            _ => None,
        })
        .collect();
    // The first page has no content.
    for (url, target) in [
        ("http://c04.example/", "https://c04.example/home"),
        ("http://c04b.example/", "http://c04b.example/next%20page"),
    ] {
        let capture = captures.iter().find(|capture| capture.url == url);
        let capture = capture.expect("a capture");
        assert_eq!(capture.shortfall, Shortfall::None, "{url}");
        let links = &capture.page.as_ref().expect("a page").links;
        let links: Vec<_> = links.iter().map(|link| (link.url.as_str(), link.kind)).collect();
        assert_eq!(links, [(target, LinkKind::Refresh)], "{url}");
    }
}
