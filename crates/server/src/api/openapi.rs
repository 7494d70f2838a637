//! The OpenAPI 3.1 document, made from the table of routes and a sample of every answer.

use serde_json::{Map, Value, json};

use archive::question::SearchNoteKind;

use super::store;
use super::table::{ENDPOINTS, Endpoint, Serves};
use crate::arguments::{Kind, LIMIT_MAX, Parameter, Place};
use crate::sample::samples;

/// The whole document.
pub(crate) fn document() -> Value {
    let mut paths = Map::new();
    for endpoint in ENDPOINTS {
        let path = paths.entry(endpoint.path).or_insert_with(|| json!({}));
        path[endpoint.method] = operation(endpoint);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Weft",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "A web archive, to search and to ask",
            "description": "Every JSON answer names the epoch it comes from. Lists are paged by key: give `next` of an \
                answer as `after` of the next request.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "paths": paths,
        "components": { "schemas": schemas() },
    })
}

fn operation(endpoint: &Endpoint) -> Value {
    let mut operation = json!({
        "summary": endpoint.summary,
        "operationId": operation_id(endpoint),
        "responses": {
            "200": success(&endpoint.serves),
            "default": {
                "description": "Why there is no answer",
                "content": { "application/json": { "schema": reference("Error") } },
            },
        },
    });
    if !endpoint.parameters.is_empty() {
        operation["parameters"] = endpoint.parameters.iter().map(parameter).collect();
    }
    if let Serves::Load = endpoint.serves {
        operation["requestBody"] = json!({
            "required": true,
            "content": { "application/json": { "schema": reference("LoadRequest") } },
        });
    }
    operation
}

/// `get /api/v1/jobs/{id}` becomes `get_jobs_id`. `/record` has a fixed name, so that it differs from the
/// API's path that ends alike.
fn operation_id(endpoint: &Endpoint) -> String {
    if let Serves::Record = endpoint.serves {
        return "get_record_file".to_owned();
    }
    let path = endpoint
        .path
        .trim_start_matches("/api/v1")
        .trim_start_matches('/');
    let words: String = path.chars().filter(|c| !"{}".contains(*c)).collect();
    format!("{}_{}", endpoint.method, words.replace('/', "_"))
}

fn success(serves: &Serves) -> Value {
    let text = json!({ "type": "string" });
    let record_media: Vec<&str> = warc::record_media_types().collect();
    let (description, media, schema) = match serves {
        Serves::Answer { answer, .. } => (
            "The answer",
            &["application/json"][..],
            reference(&schema_name(answer)),
        ),
        Serves::Store => ("The store", &["application/json"][..], reference("StoreAnswer")),
        Serves::Load | Serves::Cancel => ("The job", &["application/json"][..], reference("JobAnswer")),
        Serves::Cdx(_) => return captures(),
        // As its input is stored.
        Serves::Record => ("A file with one record", &record_media[..], text),
        Serves::Metrics => ("All metrics", &["text/plain"][..], text),
    };
    let content: Map<String, Value> = media
        .iter()
        .map(|media| ((*media).to_owned(), json!({ "schema": schema })))
        .collect();
    json!({ "description": description, "content": content })
}

/// Captures in each of their forms.
fn captures() -> Value {
    let content: Map<String, Value> = [
        "text/x-cdxj",
        "text/plain",
        "application/json",
        "application/x-ndjson",
    ]
    .into_iter()
    .map(|media| (media.to_owned(), json!({ "schema": {} })))
    .collect();
    json!({ "description": "One capture a line, by key, then time, or the number of pages", "content": content })
}

fn parameter(parameter: &Parameter) -> Value {
    let schema = match parameter.kind {
        Kind::Text if parameter.required => {
            // White space alone counts as absent.
            json!({ "type": "string", "pattern": "\\S", "minLength": 1 })
        }
        Kind::Text => json!({ "type": "string" }),
        Kind::Flag => {
            json!({ "type": "string", "enum": ["1", "true", "yes", "on", "0", "false", "no", "off"] })
        }
        Kind::Limit(default) => {
            json!({ "type": "integer", "minimum": 1, "maximum": LIMIT_MAX, "default": default })
        }
        Kind::Count(least) => json!({ "type": "integer", "minimum": least, "maximum": i64::MAX }),
        Kind::Many => json!({ "type": "array", "items": { "type": "string" } }),
        Kind::Time => json!({ "type": "string", "pattern": "^[0-9]{1,14}$" }),
        Kind::Moment => json!({ "type": "string", "pattern": "^[0-9]{1,17}$" }),
        Kind::OneOf(values) => json!({ "type": "string", "enum": values }),
        Kind::Number => json!({ "type": "integer", "minimum": 0, "maximum": u64::MAX }),
    };
    let mut described = json!({
        "name": parameter.name,
        "in": match parameter.place { Place::Query => "query", Place::Path => "path" },
        "required": parameter.required,
        "description": parameter.about,
        "schema": schema,
    });
    if parameter.place == Place::Query && !parameter.required {
        // An empty value counts as absent.
        described["allowEmptyValue"] = json!(true);
    }
    described
}

fn schemas() -> Map<String, Value> {
    let mut schemas = Map::new();
    for (name, answer) in samples() {
        // A plain struct of strings, numbers and lists always has a JSON form.
        let sample = serde_json::to_value(&answer).unwrap_or_default();
        let mut schema = schema_of(&sample);
        named(&mut schema, name);
        if name == "search" {
            describe_notes(&mut schema);
        }
        schemas.insert(schema_name(name), schema);
    }
    let mut store =
        schema_of(&serde_json::to_value(store::answer_of(12, &crate::sample::store())).unwrap_or_default());
    named(&mut store, "store");
    schemas.insert(schema_name("store"), store);
    let load = archive::question::LoadRequest {
        inputs: vec![archive::question::LoadInput {
            name: "crawl.warc.gz".into(),
            path: "/data/crawl.warc.gz".into(),
        }],
        collection: Some("news".into()),
        links: Some(archive::question::LinkScope::All),
        rate_pages_per_s: Some(100.0),
        threads: Some(2),
        verify: true,
        epoch_bytes: Some(1 << 20),
        stages_off: vec![archive::question::OptionalStage::Search],
    };
    schemas.insert(
        "LoadRequest".into(),
        schema_of(&serde_json::to_value(&load).unwrap_or_default()),
    );
    schemas.insert(
        "Error".into(),
        schema_of(&json!({ "error": { "code": "not_found", "message": "no capture of this URL" } })),
    );
    schemas
}

/// Describes the fields that every answer has.
fn named(schema: &mut Value, answer: &str) {
    schema["properties"]["answer"] = json!({ "type": "string", "const": answer });
    schema["required"] = json!(["epoch", "answer"]);
}

/// Describes the notes that an answer to a search may have.
fn describe_notes(schema: &mut Value) {
    let notes = &mut schema["properties"]["notes"];
    notes["description"] = json!(
        "What of the query was not used, or was done instead: `kind` for programs, `part` of the query, `text` in words"
    );
    notes["items"]["properties"]["kind"] = json!({ "type": "string", "enum": SearchNoteKind::ALL });
    notes["items"]["required"] = json!(["kind", "part", "text"]);
}

/// `links` becomes `LinksAnswer`.
fn schema_name(answer: &str) -> String {
    let mut letters = answer.chars();
    let first: String = letters.next().iter().flat_map(|c| c.to_uppercase()).collect();
    format!("{first}{}Answer", letters.as_str())
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// A field of a struct may be absent as a whole.
fn nullable(mut schema: Value) -> Value {
    if schema["type"] == "object" {
        schema["type"] = json!(["object", "null"]);
    }
    schema
}

/// A schema that fits a sample value. The sample is its example if it says something. Strings may be null,
/// because an absent field is null.
fn schema_of(sample: &Value) -> Value {
    match sample {
        Value::Null => json!({}),
        Value::Bool(_) => json!({ "type": "boolean" }),
        Value::Number(number) if number.is_f64() => json!({ "type": ["number", "null"] }),
        Value::Number(_) => json!({ "type": ["integer", "null"] }),
        Value::String(text) if text.is_empty() => json!({ "type": ["string", "null"] }),
        Value::String(text) => json!({ "type": ["string", "null"], "examples": [text] }),
        Value::Array(items) => match items.first() {
            Some(item) => json!({ "type": "array", "items": schema_of(item) }),
            None => json!({ "type": "array" }),
        },
        Value::Object(fields) => {
            let properties: Map<String, Value> = fields
                .iter()
                .map(|(name, value)| (name.clone(), nullable(schema_of(value))))
                .collect();
            json!({ "type": "object", "properties": properties })
        }
    }
}
