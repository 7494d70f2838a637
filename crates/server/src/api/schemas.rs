//! Schemas of the API's requests and answers, derived from the types themselves.
//!
//! An answer of each kind is one flat object, `<Kind>Answer`, as clients receive it: the epoch, the
//! name of the kind, and the fields of its body. Doc comments of fields and types become
//! descriptions, so they must make sense to people who know only the API.

use archive::question::{Answer, LoadRequest};
use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use super::cdx::collections::Collection;
use super::files::{FilesAnswer, FilesTreeAnswer};
use super::store::StoreAnswer;
use crate::failure::Failed;

/// Location of schemas in the document.
const PLACE: &str = "/components/schemas";

/// Returns the reference to a schema.
pub(super) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#{PLACE}/{name}") })
}

/// Returns the schema name of a kind of answer: `links` becomes `LinksAnswer`.
pub(super) fn answer_name(kind: &str) -> String {
    let mut letters = kind.chars();
    let first: String = letters.next().iter().flat_map(|c| c.to_uppercase()).collect();
    format!("{first}{}Answer", letters.as_str())
}

/// Returns every schema that `paths` refer to, directly or indirectly, by name.
pub(super) fn schemas(paths: &Value) -> Map<String, Value> {
    let mut known = known();
    let mut used = Map::new();
    let mut wanted = Vec::new();
    references(paths, &mut wanted);
    while let Some(name) = wanted.pop() {
        if let Some(mut schema) = known.remove(&name) {
            references(&schema, &mut wanted);
            describe(&mut schema);
            used.insert(name, schema);
        }
    }
    used
}

/// Returns the schemas of all answers, of the one request with a body, and of failures, with all
/// schemas that these refer to.
fn known() -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = PLACE.into();
        settings.meta_schema = None;
    });
    // A field that is optional in a request is always present in an answer.
    let mut asked = settings.clone().for_deserialize().into_generator();
    let mut sent = settings.for_serialize().into_generator();

    let load = schema::<LoadRequest>(&mut asked);
    let store = schema::<StoreAnswer<'_>>(&mut sent);
    let files = schema::<FilesAnswer<'_>>(&mut sent);
    let files_tree = schema::<FilesTreeAnswer<'_>>(&mut sent);
    let failed = schema::<Failed<'_>>(&mut sent);
    let collection = schema::<Collection>(&mut sent);
    let any = schema::<Answer>(&mut sent);
    let mut known = asked.take_definitions(false);
    known.extend(sent.take_definitions(false));
    for kind in any["oneOf"].as_array().into_iter().flatten() {
        if let Some(name) = kind["properties"]["answer"]["const"].as_str() {
            let answer = flat(&any, kind, &known);
            known.insert(answer_name(name), answer);
        }
    }
    known.insert(answer_name("store"), store);
    known.insert("FilesAnswer".to_owned(), files);
    known.insert("FilesTreeAnswer".to_owned(), files_tree);
    known.insert("Collection".to_owned(), collection);
    known.insert("LoadRequest".to_owned(), load);
    known.insert("Error".to_owned(), failed);
    known
}

fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    T::json_schema(generator).to_value()
}

/// Merges the fields of every answer (`any`), the name of the `kind`, and the fields of its body
/// into one object.
fn flat(any: &Value, kind: &Value, known: &Map<String, Value>) -> Value {
    let body = name_in(kind)
        .and_then(|name| known.get(name))
        .unwrap_or(&Value::Null);
    let parts = [any, kind, body];
    let properties: Map<String, Value> = parts
        .iter()
        .filter_map(|part| part["properties"].as_object())
        .flat_map(Clone::clone)
        .collect();
    let required: Vec<&Value> = parts
        .iter()
        .filter_map(|part| part["required"].as_array())
        .flatten()
        .collect();
    json!({
        "type": "object",
        "description": kind["description"],
        "properties": properties,
        "required": required,
    })
}

/// Returns the name that a schema refers to, if it is a reference.
fn name_in(schema: &Value) -> Option<&str> {
    schema["$ref"]
        .as_str()?
        .strip_prefix('#')?
        .strip_prefix(PLACE)?
        .strip_prefix('/')
}

/// Adds the names of all schemas that `value` refers to.
fn references(value: &Value, names: &mut Vec<String>) {
    names.extend(name_in(value).map(str::to_owned));
    match value {
        Value::Array(items) => items.iter().for_each(|item| references(item, names)),
        Value::Object(fields) => fields.values().for_each(|field| references(field, names)),
        _ => {}
    }
}

/// Removes Rust notation from all descriptions: links, their paths, and line ends.
fn describe(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(describe),
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(text) if name == "description" => {
                        *text = text
                            .replace("[`", "`")
                            .replace("`]", "`")
                            .replace("`crate::", "`")
                            .replace('\n', " ");
                    }
                    field => describe(field),
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> Map<String, Value> {
        schemas(&reference(name))
    }

    #[test]
    fn an_answer_is_one_flat_object() {
        let links = &of("LinksAnswer")["LinksAnswer"];
        assert_eq!(links["properties"]["answer"]["const"], "links");
        assert_eq!(links["properties"]["epoch"]["type"], "integer");
        assert_eq!(links["properties"]["rows"]["items"], reference("LinkRow"));
        assert_eq!(links["properties"]["next"]["type"], json!(["string", "null"]));
        assert_eq!(
            links["required"],
            json!(["epoch", "answer", "url_key", "rows", "total", "next"])
        );
        assert_eq!(links["description"], "Links to a URL, or links of a page.");
    }

    #[test]
    fn only_what_is_referred_to_is_there() {
        let names = |name| of(name).keys().cloned().collect::<Vec<_>>();
        assert_eq!(names("LinksAnswer"), ["LinkRow", "LinkVersion", "LinksAnswer"]);
        // A record may have another one as its original.
        assert_eq!(
            names("RecordAnswer"),
            ["CaptureKind", "CdxRow", "RecordAnswer", "RecordBody"]
        );
        assert_eq!(names("Error"), ["Code", "Error", "Reason"]);
    }

    #[test]
    fn a_request_may_leave_out_what_has_a_default() {
        let schemas = of("LoadRequest");
        assert_eq!(schemas["LoadRequest"].get("required"), None);
        assert_eq!(schemas["LoadInput"]["required"], json!(["name", "path"]));
        let stages = &schemas["LoadRequest"]["properties"]["stages_off"]["items"];
        assert_eq!(stages, &reference("OptionalStage"));
    }

    #[test]
    fn descriptions_are_of_one_line_and_without_links() {
        let mut schema = json!({
            "description": "Bytes, see\n[`crate::path_text`] and [`name`].",
            "properties": { "description": { "type": "string", "description": "a\nb" } },
        });
        describe(&mut schema);
        assert_eq!(schema["description"], "Bytes, see `path_text` and `name`.");
        assert_eq!(schema["properties"]["description"]["description"], "a b");
    }
}
