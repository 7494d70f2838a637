//! Responses of routes agree with the schemas of the OpenAPI document in every field.

use archive::question::{Body, Question, SearchNoteKind};
use serde_json::{Value, json};

use crate::api::{address, schema};
use crate::fake::{get, router, sample};
use crate::files::Scanned;
use crate::loaded::load;

/// Compares values with schemas. Supports only the keywords that our document uses.
struct Checker<'a> {
    document: &'a Value,
    differences: Vec<String>,
}

impl Checker<'_> {
    fn differ(&mut self, place: &str, what: impl std::fmt::Display) {
        self.differences.push(format!("{place}: {what}"));
    }

    fn agrees(&self, schema: &Value, value: &Value) -> bool {
        differences(self.document, schema, value).is_empty()
    }

    fn check(&mut self, place: &str, schema: &Value, value: &Value) {
        let Value::Object(keywords) = schema else {
            assert_eq!(schema, true, "{place}: no schema");
            return;
        };
        for (keyword, wanted) in keywords {
            match keyword.as_str() {
                "description" | "examples" | "default" | "format" => {}
                "$ref" => {
                    let name = wanted.as_str().expect("a reference");
                    let found = self.document.pointer(name.trim_start_matches('#'));
                    self.check(place, found.unwrap_or_else(|| panic!("no {name}")), value);
                }
                "anyOf" | "oneOf" => {
                    let forms = list(wanted);
                    let fitting = forms.iter().filter(|form| self.agrees(form, value)).count();
                    if fitting == 0 || keyword == "oneOf" && fitting > 1 {
                        self.differ(place, format_args!("{value} has {fitting} of the forms {wanted}"));
                    }
                }
                "type" => {
                    let types = match wanted {
                        Value::Array(types) => types.as_slice(),
                        one => std::slice::from_ref(one),
                    };
                    if !types.iter().any(|name| is_a(name, value)) {
                        self.differ(place, format_args!("{value} is no {wanted}"));
                    }
                }
                "const" if value != wanted => self.differ(place, format_args!("{value} is not {wanted}")),
                "enum" if !list(wanted).contains(value) => {
                    self.differ(place, format_args!("{value} is none of {wanted}"));
                }
                "minimum" if value.as_f64().is_some_and(|n| Some(n) < wanted.as_f64()) => {
                    self.differ(place, format_args!("{value} is below {wanted}"));
                }
                "maximum" if value.as_f64().is_some_and(|n| Some(n) > wanted.as_f64()) => {
                    self.differ(place, format_args!("{value} is above {wanted}"));
                }
                "minItems" if value.as_array().is_some_and(|v| (v.len() as u64) < count(wanted)) => {
                    self.differ(place, "too few items");
                }
                "maxItems" if value.as_array().is_some_and(|v| (v.len() as u64) > count(wanted)) => {
                    self.differ(place, "too many items");
                }
                // Content written by other programs is passed on unchanged.
                "additionalProperties" if wanted == true => {}
                "const" | "enum" | "minimum" | "maximum" | "minItems" | "maxItems" => {}
                "items" => {
                    for (n, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(&format!("{place}[{n}]"), wanted, item);
                    }
                }
                "prefixItems" => {
                    for (schema, item) in list(wanted).iter().zip(value.as_array().into_iter().flatten()) {
                        self.check(place, schema, item);
                    }
                }
                "properties" => {
                    for (name, field) in value.as_object().into_iter().flatten() {
                        match wanted.get(name) {
                            Some(schema) => self.check(&format!("{place}.{name}"), schema, field),
                            None => self.differ(place, format_args!("{name} is not described")),
                        }
                    }
                }
                "required" => {
                    for name in list(wanted) {
                        if value.is_object() && value.get(name.as_str().expect("a name")).is_none() {
                            self.differ(place, format_args!("{name} is missing"));
                        }
                    }
                }
                unknown => panic!("{place}: keyword {unknown} is not checked"),
            }
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn count(value: &Value) -> u64 {
    value.as_u64().expect("a count")
}

fn is_a(name: &Value, value: &Value) -> bool {
    match name.as_str().expect("a type") {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no type {other}"),
    }
}

/// Returns where `value` differs from `schema`.
pub(crate) fn differences(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let differences = Vec::new();
    let mut checker = Checker {
        document,
        differences,
    };
    checker.check("answer", schema, value);
    checker.differences
}

/// Requests every documented `GET` route of the API and compares responses with their schemas.
/// `arguments` adds the parameters that a path needs.
async fn ask_all(router: &axum::Router, arguments: impl Fn(&str, &Value) -> String) -> Vec<(String, Value)> {
    let document = get(router, "/api/v1/openapi.json").await.json();
    let mut answers = Vec::new();
    for (path, operations) in document["paths"].as_object().expect("paths") {
        let operation = &operations["get"];
        let Some(schema) = schema(&document, operation) else {
            continue;
        };
        let address = arguments(path, operation);
        let reply = get(router, &address).await;
        assert_eq!(reply.status, 200, "{address}: {}", reply.body);
        let answer = reply.json();
        let differences = differences(&document, schema, &answer);
        assert!(differences.is_empty(), "{address}: {differences:#?}");
        answers.push((path.clone(), answer));
    }
    answers
}

#[tokio::test]
async fn complete_answers_have_their_schema() {
    let scanned = Scanned::sample();
    let answers = ask_all(&scanned.router(), address).await;
    assert!(answers.len() >= 16, "{} routes", answers.len());
}

#[tokio::test]
async fn answers_of_a_real_archive_have_their_schema() {
    let Some(folder) = test_env::shared_data() else {
        return;
    };
    let loaded = load(&[folder.join("crawls/iana.warc.gz")], Some("news"));
    let scanned = Scanned::sample();
    let served = server::ServerParts {
        archive: std::sync::Arc::new(loaded.archive.clone()),
        files: Some(scanned.place()),
        ..crate::fake::served(sample)
    };
    let router = crate::fake::owned(server::router(served, server::ServerSettings::default()));
    let answers = ask_all(&router, |path, operation| match path {
        "/api/v1/search" => "/api/v1/search?q=%22domain+names&explain=1&facets=1".to_owned(),
        "/api/v1/captures" => "/api/v1/captures?url=*.iana.org".to_owned(),
        // It was captured once, so there is no earlier version.
        "/api/v1/diff" => "/api/v1/diff?url=iana.org&from=2030".to_owned(),
        _ => address(path, operation).replace("example.com", "iana.org"),
    })
    .await;
    for list in [
        "/api/v1/captures",
        "/api/v1/top",
        "/api/v1/domains",
        "/api/v1/ledger",
    ] {
        let answer = answers.iter().find(|(path, _)| path == list);
        let rows = &answer.expect("an answer").1["rows"];
        assert!(rows.as_array().is_some_and(|rows| !rows.is_empty()), "{list}");
    }
}

/// Nullable fields are null in an answer without values.
#[tokio::test]
async fn answers_with_nothing_in_them_have_their_schema() {
    let scanned = Scanned::of(&[]);
    let answers = |question: &Question| {
        let mut answer = sample(question)?;
        match &mut answer.body {
            Body::Status(body) => *body = Default::default(),
            Body::Page(body) => *body = Default::default(),
            Body::Search(body) => body.hits = vec![Default::default()],
            Body::Images(body) => body.hits = vec![Default::default()],
            Body::Cdx(body) => *body = Default::default(),
            Body::Record(body) => body.original = None,
            Body::Job(body) => *body = Default::default(),
            _ => {}
        }
        Ok(answer)
    };
    let served = server::ServerParts {
        files: Some(scanned.place()),
        ..crate::fake::served(answers)
    };
    let router = crate::fake::owned(server::router(served, server::ServerSettings::default()));
    ask_all(&router, address).await;
}

#[tokio::test]
async fn failures_have_their_schema() {
    let router = router(sample);
    let document = get(&router, "/api/v1/openapi.json").await.json();
    let schema = &document["components"]["schemas"]["Error"];
    for path in ["/api/v1/page", "/api/v1/nothing", "/api/v1/jobs/one"] {
        let answer = get(&router, path).await.json();
        assert_eq!(differences(&document, schema, &answer), [""; 0], "{path}");
    }
}

#[tokio::test]
async fn requests_for_a_load_have_their_schema() {
    let document = get(&router(sample), "/api/v1/openapi.json").await.json();
    let schema = &document["components"]["schemas"]["LoadRequest"];
    let load = archive::question::LoadRequest {
        inputs: vec![inputs::LoadInput {
            name: "crawl.warc.gz".into(),
            path: "/data/crawl.warc.gz".into(),
        }],
        // Not available over HTTP.
        allow_elsewhere: Vec::new(),
        collection: Some("news".into()),
        links: Some(archive::question::LinkScope::All),
        documents: Some(archive::question::DocumentScope::All),
        facts: Some(archive::question::FactsPlace::At("/data/facts".into())),
        facts_text: true,
        rate_pages_per_s: Some(100.0),
        threads: Some(2),
        verify: true,
        epoch_bytes: Some(1 << 20),
        stages_off: vec![archive::question::OptionalStage::Search],
    };
    let least = json!({ "inputs": [{ "name": "a", "path": "/a" }] });
    for request in [serde_json::to_value(load).expect("JSON"), least] {
        assert_eq!(differences(&document, schema, &request), [""; 0]);
    }
    let unknown = json!({ "input": [] });
    assert_eq!(
        differences(&document, schema, &unknown),
        ["answer: input is not described"]
    );
}

#[tokio::test]
async fn kinds_of_notes_are_documented() {
    let document = get(&router(sample), "/api/v1/openapi.json").await.json();
    let schemas = &document["components"]["schemas"];
    let notes = &schemas["SearchAnswer"]["properties"]["notes"];
    assert!(notes["description"].is_string(), "{notes}");
    let note = document.pointer(
        notes["items"]["$ref"]
            .as_str()
            .expect("a reference")
            .trim_start_matches('#'),
    );
    let note = note.expect("the schema of notes");
    assert_eq!(note["required"], json!(["kind", "part", "text"]));
    let kind = &note["properties"]["kind"];
    for known in SearchNoteKind::ALL {
        let name = serde_json::to_value(known).expect("a name");
        assert_eq!(differences(&document, kind, &name), [""; 0]);
    }
    assert!(!differences(&document, kind, &json!("no_such_kind")).is_empty());
}

#[test]
fn differences_are_found() {
    let document = json!({ "s": { "type": "string", "enum": ["a", "b"] } });
    let schema = json!({
        "type": "object",
        "properties": {
            "s": { "$ref": "#/s" },
            "n": { "type": ["integer", "null"], "minimum": 0, "maximum": 9 },
            "either": { "anyOf": [{ "$ref": "#/s" }, { "type": "null" }] },
            "pair": { "type": "array", "prefixItems": [{ "const": 1 }, true], "minItems": 2, "maxItems": 2 },
            "list": { "type": "array", "items": { "type": "boolean" } },
        },
        "required": ["s"],
    });
    let good = json!({ "s": "a", "n": 9, "either": null, "pair": [1, "x"], "list": [true] });
    assert_eq!(differences(&document, &schema, &good), [""; 0]);
    for (name, bad) in [
        ("s", json!("c")),
        ("s", json!(null)),
        ("n", json!(-1)),
        ("n", json!(10)),
        ("n", json!(0.5)),
        ("either", json!("c")),
        ("pair", json!([1])),
        ("pair", json!([1, 2, 3])),
        ("pair", json!([2, 2])),
        ("list", json!([1])),
        ("other", json!(1)),
    ] {
        let mut value = good.clone();
        value[name] = bad;
        assert_ne!(differences(&document, &schema, &value), [""; 0], "{value}");
    }
    assert_eq!(
        differences(&document, &schema, &json!({})),
        ["answer: \"s\" is missing"]
    );
}
