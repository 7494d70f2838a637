//! The feed of a search, parsed as by a feed reader (RFC 4287).

use archive::question::{Answer, Body, Question, SearchBody, SearchOrder};
use quick_xml::events::Event;
use quick_xml::{Reader, escape};

use crate::fake::{get, router, sample};

/// An element: its path, its attributes, its text.
#[derive(Debug, Default)]
struct Element {
    path: String,
    attributes: Vec<(String, String)>,
    text: String,
}

impl Element {
    fn attribute(&self, name: &str) -> &str {
        let found = self.attributes.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }
}

/// Returns all elements in order. Panics if the XML is not well-formed.
fn elements(xml: &str) -> Vec<Element> {
    let mut reader = Reader::from_str(xml);
    reader.config_mut().check_end_names = true;
    let (mut open, mut found) = (Vec::<usize>::new(), Vec::<Element>::new());
    loop {
        match reader.read_event().expect("well-formed") {
            event @ (Event::Start(_) | Event::Empty(_)) => {
                let (Event::Start(start) | Event::Empty(start)) = &event else {
                    unreachable!()
                };
                let above = open.last().map_or("", |&last| &*found[last].path);
                let name = String::from_utf8_lossy(start.name().as_ref()).into_owned();
                let attributes = start.attributes().map(|attribute| {
                    let attribute = attribute.expect("an attribute");
                    let value = attribute.unescape_value().expect("a value");
                    (
                        String::from_utf8_lossy(attribute.key.as_ref()).into_owned(),
                        value.into_owned(),
                    )
                });
                let element = Element {
                    path: format!("{above}/{name}"),
                    attributes: attributes.collect(),
                    text: String::new(),
                };
                if matches!(event, Event::Start(_)) {
                    open.push(found.len());
                }
                found.push(element);
            }
            Event::End(_) => drop(open.pop().expect("it was opened")),
            Event::Text(text) => {
                let text = text.decode().expect("UTF-8");
                if let Some(&last) = open.last() {
                    found[last]
                        .text
                        .push_str(&escape::unescape(&text).expect("no unknown entity"));
                }
            }
            Event::GeneralRef(name) => {
                let name = name.decode().expect("UTF-8");
                let text = escape::unescape(&format!("&{name};"))
                    .expect("an entity")
                    .into_owned();
                if let Some(&last) = open.last() {
                    found[last].text.push_str(&text);
                }
            }
            Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!(open, [0; 0], "all are closed");
    found
}

fn texts<'e>(elements: &'e [Element], path: &str) -> Vec<&'e str> {
    let of_path = elements.iter().filter(|element| element.path == path);
    of_path.map(|element| element.text.as_str()).collect()
}

#[tokio::test]
async fn a_feed_has_what_readers_need() {
    let router = router(|question| {
        // The page of results is requested as well, below.
        if let Question::Search(search) = question
            && !search.facets
        {
            assert_eq!((search.query.as_str(), search.limit), ("a <b> & c", 50));
            assert_eq!((search.order, search.all_versions), (SearchOrder::Newest, true));
        }
        let mut answer = sample(question)?;
        if let Body::Search(body) = &mut answer.body {
            body.hits[1].title = "<b> & \u{1}\u{ffff}]]>".into();
        }
        Ok(answer)
    });
    let path = "/search.atom?q=a+%3Cb%3E+%26+c&all_versions=1";
    let reply = get(&router, path).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(
        reply.header("content-type"),
        "application/atom+xml; charset=utf-8"
    );
    let all = elements(&reply.body);
    assert_eq!(all[0].attribute("xmlns"), "http://www.w3.org/2005/Atom");
    // Exactly one of each, as sections 4.1.1 and 4.1.2 require.
    for name in ["id", "title", "updated", "author/name"] {
        assert_eq!(texts(&all, &format!("/feed/{name}")).len(), 1, "{name}");
    }
    for name in ["id", "title", "updated", "published", "summary"] {
        assert_eq!(texts(&all, &format!("/feed/entry/{name}")).len(), 2, "{name}");
    }
    assert_eq!(texts(&all, "/feed/title"), ["a <b> & c \u{b7} Weft"]);
    assert_eq!(
        texts(&all, "/feed/entry/title"),
        ["As it was", "<b> & \u{fffd}]]>"]
    );
    assert_eq!(texts(&all, "/feed/entry/updated")[1], "2014-01-26T20:06:24.000Z");
    let links: Vec<(&str, &str)> = all
        .iter()
        .filter(|element| element.path.ends_with("/link"))
        .map(|link| (link.attribute("rel"), link.attribute("href")))
        .collect();
    assert_eq!(
        links,
        [
            ("self", "/search.atom?q=a+%3Cb%3E+%26+c&all_versions=1"),
            ("alternate", "/search?q=a+%3Cb%3E+%26+c&all_versions=1"),
            (
                "alternate",
                "/page?url=http%3A%2F%2Fexample.com%2Fold&at=20120503102030"
            ),
            ("alternate", "/page?url=http%3A%2F%2Fexample.com%2F"),
        ]
    );
    for address in &links {
        let reply = get(&router, address.1).await;
        assert_eq!(reply.status, 200, "{address:?}");
    }
    // The same feed again; other queries and entries have other ids.
    assert_eq!(get(&router, path).await.body, reply.body);
    let mut ids = texts(&all, "/feed/entry/id");
    ids.extend(texts(&all, "/feed/id"));
    assert!(
        ids.iter().all(|id| id.starts_with("urn:uuid:") && id.len() == 45),
        "{ids:?}"
    );
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 3);
}

#[tokio::test]
async fn a_feed_of_nothing_is_one_and_one_without_a_query_is_refused() {
    let router = router(|_| {
        Ok(Answer {
            epoch: 1,
            body: Body::Search(SearchBody::default()),
        })
    });
    let reply = get(&router, "/search.atom?q=x").await;
    let all = elements(&reply.body);
    assert_eq!(texts(&all, "/feed/updated"), ["1970-01-01T00:00:00Z"]);
    assert_eq!(texts(&all, "/feed/entry"), [""; 0]);
    let refused = get(&router, "/search.atom").await;
    assert_eq!(refused.status, 400);
    assert_eq!(refused.json()["error"]["code"], "bad_request");
}
