//! The OpenAPI 3.1 document, generated from the table of routes and the types of the answers.

use serde_json::{Map, Value, json};

use super::schemas::{answer_name, reference, schemas};
use super::statements;
use super::table::{ENDPOINTS, Endpoint, Serves};
use crate::arguments::{Kind, LIMIT_MAX, Parameter, ParameterLocation};

/// Returns the whole document.
pub(crate) fn document() -> Value {
    let mut paths = json!({});
    for endpoint in ENDPOINTS {
        // OpenAPI cannot express a parameter that contains slashes. Its description says so.
        let path = endpoint.path.replace("{*", "{");
        paths[&path][endpoint.method] = operation(endpoint);
    }
    let schemas = schemas(&paths);
    statements::add_to(&mut paths);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Weft",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "Search and query a web archive",
            "description": "Every JSON response names the epoch it comes from. Lists are paged by key: pass \
                `next` of a response as `after` of the next request.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "paths": paths,
        "components": { "schemas": schemas },
    })
}

fn operation(endpoint: &Endpoint) -> Value {
    let mut operation = json!({
        "summary": endpoint.summary,
        "operationId": operation_id(endpoint),
        "responses": {
            "200": success(&endpoint.serves),
            "default": {
                "description": "Why the request failed",
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
    if let Serves::Upload = endpoint.serves {
        operation["requestBody"] = json!({
            "required": true,
            "content": { "application/octet-stream": { "schema": { "type": "string" } } },
        });
    }
    if let Serves::Post(_) = endpoint.serves {
        operation["requestBody"] = json!({
            "required": true,
            "content": { "text/plain": { "schema": { "type": "string" } } },
        });
    }
    operation
}

/// Returns the id of an operation: `get /api/v1/jobs/{id}` becomes `get_jobs_id`. `/record`, the
/// paths below it and the second path of `/cdx` have fixed names, so that they differ from paths
/// with the same ending.
fn operation_id(endpoint: &Endpoint) -> String {
    if let Serves::Record = endpoint.serves {
        return "get_record_file".to_owned();
    }
    if let Serves::Stored = endpoint.serves {
        return "get_stored_bytes".to_owned();
    }
    if endpoint.path == "/api/v1/cdx" {
        return "get_cdx_of_api".to_owned();
    }
    let path = endpoint
        .path
        .trim_start_matches("/api/v1")
        .trim_start_matches('/');
    let words: String = path.chars().filter(|c| !"{*}".contains(*c)).collect();
    format!("{}_{}", endpoint.method, words.replace(['/', '.', '-'], "_"))
}

fn success(serves: &Serves) -> Value {
    let text = json!({ "type": "string" });
    let record_media: Vec<&str> = warc::record_media_types().collect();
    let (description, media, schema) = match serves {
        Serves::Answer { answer, .. } => (
            "The response",
            &["application/json"][..],
            reference(&answer_name(answer)),
        ),
        Serves::Store => ("The store", &["application/json"][..], reference("StoreAnswer")),
        Serves::Files => (
            "The catalogue of files",
            &["application/json"][..],
            reference("FilesAnswer"),
        ),
        Serves::FilesTree => (
            "The directory",
            &["application/json"][..],
            reference("FilesTreeAnswer"),
        ),
        Serves::Load | Serves::Upload | Serves::Cancel => {
            ("The job", &["application/json"][..], reference("JobAnswer"))
        }
        Serves::Cdx(_) => return captures(),
        Serves::Collections => (
            "The collections",
            &["application/json"][..],
            json!({ "type": "array", "items": reference("Collection") }),
        ),
        // In the stored format of its input.
        Serves::Record => ("A file with one record", &record_media[..], text),
        Serves::Stored => ("The bytes", &record_media[..], text),
        Serves::Atom => ("An Atom feed (RFC 4287)", &[super::atom::MEDIA_TYPE][..], text),
        Serves::Export => (
            "All results",
            &[
                "application/jsonl",
                "text/csv",
                "application/vnd.apache.parquet",
                "text/x-cdxj",
            ][..],
            text,
        ),
        Serves::Post(_) => ("What was added, deleted or skipped", &["text/plain"][..], text),
        Serves::Metrics => ("All metrics", &["text/plain"][..], text),
    };
    let content: Map<String, Value> = media
        .iter()
        .map(|media| ((*media).to_owned(), json!({ "schema": schema })))
        .collect();
    json!({ "description": description, "content": content })
}

/// Describes captures in each of their formats.
fn captures() -> Value {
    let content: Map<String, Value> = [
        "text/x-cdxj",
        "text/plain",
        "application/json",
        "application/x-ndjson",
        "application/link-format",
        "application/xml",
    ]
    .into_iter()
    .map(|media| (media.to_owned(), json!({ "schema": {} })))
    .collect();
    json!({ "description": "One capture per line, by key, then time; or the number of pages", "content": content })
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
        // No pattern says which days a month has.
        Kind::Time => json!({ "type": "string", "examples": ["2014", "2014-01-26", "20140126200624"] }),
        Kind::Moment => json!({ "type": "string", "examples": ["2014", "2014-01-26", "20140126200624123"] }),
        Kind::TimeDigits => json!({ "type": "string", "pattern": "^[0-9]{1,14}$" }),
        Kind::OneOf(values) => json!({ "type": "string", "enum": values }),
        Kind::Number => json!({ "type": "integer", "minimum": 0, "maximum": u64::MAX }),
    };
    let mut described = json!({
        "name": parameter.name,
        "in": match parameter.place { ParameterLocation::Query => "query", ParameterLocation::Path => "path" },
        "required": parameter.required,
        "description": parameter.about,
        "schema": schema,
    });
    if parameter.place == ParameterLocation::Query && !parameter.required {
        // An empty value counts as absent.
        described["allowEmptyValue"] = json!(true);
    }
    described
}
