//! Hostile text in any field adds no element, no attribute and no address to those that the same
//! page has with harmless text.

use std::collections::BTreeMap;
use std::sync::Arc;

use archive::question::{Answer, Question};
use html5gum::{Token, Tokenizer};
use proptest::prelude::*;
use serde_json::Value;
use server::storage::StoreReport;
use server::{ServerParts, ServerSettings};

use crate::fake::{FakeStore, get, sample, served};
use crate::pages::PAGES;

/// Returns elements by name with the names of their attributes, and how often each occurs in the
/// page. Only the beginnings of addresses are kept; scripts and styles are kept whole.
fn structure(html: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for token in Tokenizer::new(html) {
        let Ok(Token::StartTag(tag)) = token else { continue };
        let name = String::from_utf8_lossy(&tag.name).into_owned();
        // The highlights of snippets depend on the text, and so do the places where an address may
        // be broken.
        if matches!(name.as_str(), "mark" | "wbr") && tag.attributes.is_empty() {
            continue;
        }
        let mut described = name;
        for (attribute, value) in &tag.attributes {
            let attribute = String::from_utf8_lossy(attribute).into_owned();
            let value = String::from_utf8_lossy(value).into_owned();
            described.push(' ');
            described.push_str(&attribute);
            if matches!(attribute.as_str(), "href" | "src" | "action") {
                described.push('=');
                described.push_str(value.split('?').next().unwrap_or(""));
            }
        }
        *counts.entry(described).or_default() += 1;
    }
    counts
}

/// Returns the sample with `text` in place of every string except the tag of the answer.
fn filled(question: &Question, text: &str) -> Result<Answer, archive::AskError> {
    let mut value = serde_json::to_value(sample(question)?).expect("answers are JSON");
    let tag = value["answer"].take();
    fill(&mut value, text);
    value["answer"] = tag;
    Ok(serde_json::from_value(value).expect("still an answer"))
}

/// Returns the sample of a store with every string replaced by `text`.
fn filled_store(text: &str) -> StoreReport {
    let mut value = serde_json::to_value(crate::sample::store()).expect("reports are JSON");
    fill(&mut value, text);
    serde_json::from_value(value).expect("still a report")
}

fn fill(value: &mut Value, text: &str) {
    match value {
        Value::String(string) => *string = text.to_owned(),
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, text)),
        Value::Object(fields) => {
            let (is_input, is_worker) = (fields.contains_key("digest"), fields.contains_key("last_error"));
            let is_job = fields.contains_key("elapsed_ms");
            for (name, field) in fields {
                match name.as_str() {
                    // Fixed words, like the tag. Some are followed by a reason, which is arbitrary
                    // text.
                    "kind" | "links_scope" | "documents_scope" | "access" | "default" => {}
                    "stage" if is_job => {}
                    "state" if is_input => *field = format!("failed({text})").into(),
                    "state" if is_worker => *field = format!("failed: {text}").into(),
                    "state" => {}
                    _ => fill(field, text),
                }
            }
        }
        _ => {}
    }
}

/// Returns the structures of all pages with `text` in every field.
fn structures(text: &str) -> Vec<BTreeMap<String, usize>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let text = text.to_owned();
        let encoded: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
        let served = ServerParts {
            store: Some(Arc::new(FakeStore(filled_store(&text)))),
            sql: None,
            files: None,
            ..served(move |question| filled(question, &text))
        };
        let router = crate::fake::owned(server::router(served, ServerSettings::default()));
        let mut structures = Vec::new();
        for path in PAGES {
            let path = path
                .replace("example.com", &encoded)
                .replace("q=example", &format!("q={encoded}"));
            let reply = get(&router, &path).await;
            assert!(
                reply.status == 200 || reply.status == 400,
                "{path}: {}",
                reply.status
            );
            structures.push(structure(&reply.body));
        }
        structures
    })
}

/// Checks that `text` adds no element to those of harmless text. It may have fewer (such as a link
/// that is not http).
#[track_caller]
fn check(text: &str) {
    if text.trim().is_empty() {
        return; // An empty query has a separate page.
    }
    // The harmless text has the same lengths of lines and words, because the preview depends on
    // them.
    let letter = |c: char| match c {
        c if c.is_whitespace() || matches!(c, '。' | '！' | '？') => c,
        c if c.is_ascii() => 'x',
        _ => 'é',
    };
    let letters: String = text.chars().map(letter).collect();
    let harmless = structures(&letters);
    for ((path, expected), got) in PAGES.iter().zip(harmless).zip(structures(text)) {
        for (element, count) in &got {
            let most = expected.get(element).copied().unwrap_or(0);
            assert!(
                *count <= most,
                "{path} with {text:?}: {count} of <{element}>, {most} with harmless text"
            );
        }
    }
}

#[test]
fn known_tricks() {
    for text in [
        "</script><script>alert(1)</script>",
        "</title><img src=x onerror=alert(1)>",
        "\" onmouseover=\"alert(1)\" x=\"",
        "' onfocus='alert(1)' autofocus='",
        "javascript:alert(1)",
        "<mark onclick=alert(1)>x</mark><mark><b>",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "&lt;script&gt;",
        "&#60;script&#62;",
        "\u{0}<\u{0}script>",
        "</textarea></style></noscript><svg/onload=alert(1)>",
        "\u{202e}\u{2066}<b>\u{1b}[31m",
        "//evil.example/x?",
        "x\r\nSet-Cookie: a=b\r\n\r\n<script>",
    ] {
        check(text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_hostile_text(parts in proptest::collection::vec(prop_oneof![
        Just("<".to_owned()), Just(">".to_owned()), Just("\"".to_owned()), Just("'".to_owned()),
        Just("&".to_owned()), Just("</".to_owned()), Just("<script>".to_owned()), Just("</title>".to_owned()),
        Just("<mark>".to_owned()), Just("</mark>".to_owned()), Just("onerror=".to_owned()), Just("=".to_owned()),
        Just("\u{0}".to_owned()), Just("`".to_owned()), Just("<!--".to_owned()), Just("/".to_owned()), Just(" ".to_owned()),
        "[a-z]{1,4}", any::<char>().prop_map(String::from),
    ], 1..14)) {
        check(&parts.concat());
    }
}
