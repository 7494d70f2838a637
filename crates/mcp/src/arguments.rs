//! Parameters of tools: their description as a JSON schema, and the arguments of a call checked
//! against it.

use serde_json::{Map, Value, json};

/// A parameter of a tool.
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) is_required: bool,
    pub(crate) description: &'static str,
}

/// The values of a parameter.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Text,
    /// A date or its beginning.
    Time,
    /// A whole number.
    Number {
        default: u64,
        min: u64,
        max: u64,
    },
    Flag,
    Choice(&'static [&'static str]),
}

/// Why arguments are refused, for the model, which can correct them.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ArgumentError {
    #[error("the arguments must be an object")]
    NoObject,
    #[error("this tool has no parameter {0:?}; it has {1}")]
    Unknown(String, String),
    #[error("{0} is required")]
    Missing(&'static str),
    #[error("{name} must be {expected}, found {found}")]
    Wrong {
        name: &'static str,
        expected: String,
        found: String,
    },
}

/// Maximum number of characters of a wrong value that an error repeats.
const FOUND_CHARS_MAX: usize = 100;

impl Kind {
    fn schema(self) -> Value {
        match self {
            Kind::Text | Kind::Time => json!({ "type": "string" }),
            Kind::Number { default, min, max } => {
                json!({ "type": "integer", "minimum": min, "maximum": max, "default": default })
            }
            Kind::Flag => json!({ "type": "boolean", "default": false }),
            Kind::Choice(values) => json!({ "type": "string", "enum": values }),
        }
    }

    /// Returns the value that tools use: a time as digits, everything else unchanged.
    fn checked(self, value: &Value) -> Option<Value> {
        match (self, value) {
            (Kind::Text, Value::String(_)) | (Kind::Flag, Value::Bool(_)) => Some(value.clone()),
            (Kind::Time, Value::String(text)) => format::date::digits_of_text(text.trim()).map(Value::String),
            (Kind::Number { min, max, .. }, Value::Number(number)) => {
                let number = number.as_u64().filter(|number| (min..=max).contains(number));
                number.map(|number| json!(number))
            }
            (Kind::Choice(values), Value::String(text)) => {
                values.contains(&text.as_str()).then(|| value.clone())
            }
            _ => None,
        }
    }

    fn expected(self) -> String {
        match self {
            Kind::Text => "a string".into(),
            Kind::Time => "a date or its beginning: 2014, 2014-01, 2014-01-26 or 20140126200624".into(),
            Kind::Number { min, max, .. } => format!("a whole number from {min} to {max}"),
            Kind::Flag => "true or false".into(),
            Kind::Choice(values) => format!("one of {}", values.join(", ")),
        }
    }
}

/// Returns the JSON schema of the arguments.
pub(crate) fn schema(parameters: &[Parameter]) -> Value {
    let properties: Map<String, Value> = parameters
        .iter()
        .map(|parameter| {
            let mut schema = parameter.kind.schema();
            schema["description"] = json!(parameter.description);
            (parameter.name.to_owned(), schema)
        })
        .collect();
    let required: Vec<&str> = parameters
        .iter()
        .filter(|parameter| parameter.is_required)
        .map(|parameter| parameter.name)
        .collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// The arguments of a call.
#[derive(Debug)]
pub(crate) struct Arguments {
    values: Map<String, Value>,
}

impl Arguments {
    /// Checks the arguments. Models write null or an empty text for an argument that they leave
    /// out, so these count as absent.
    pub(crate) fn check(parameters: &[Parameter], given: Option<&Value>) -> Result<Arguments, ArgumentError> {
        let nothing = Map::new();
        let given = match given {
            None | Some(Value::Null) => &nothing,
            Some(Value::Object(given)) => given,
            Some(_) => return Err(ArgumentError::NoObject),
        };
        if let Some(name) = given
            .keys()
            .find(|name| parameters.iter().all(|parameter| parameter.name != *name))
        {
            let known: Vec<&str> = parameters.iter().map(|parameter| parameter.name).collect();
            return Err(ArgumentError::Unknown(shortened(name), known.join(", ")));
        }
        let mut values = Map::new();
        for parameter in parameters {
            if let Some(value) = value_of(parameter, given.get(parameter.name))? {
                values.insert(parameter.name.to_owned(), value);
            }
        }
        Ok(Arguments { values })
    }

    /// Returns a text, the digits of a time or a choice.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.values.get(name).and_then(Value::as_str).map(str::to_owned)
    }

    /// Returns a number; every number has a default.
    pub(crate) fn number(&self, name: &str) -> u64 {
        self.values.get(name).and_then(Value::as_u64).unwrap_or_default()
    }

    /// Returns a number of rows.
    pub(crate) fn rows(&self, name: &str) -> usize {
        usize::try_from(self.number(name)).unwrap_or(usize::MAX)
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.values.get(name).and_then(Value::as_bool).unwrap_or_default()
    }
}

fn value_of(parameter: &Parameter, given: Option<&Value>) -> Result<Option<Value>, ArgumentError> {
    let is_empty = |value: &&Value| match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        _ => false,
    };
    match given.filter(|value| !is_empty(value)) {
        None if parameter.is_required => Err(ArgumentError::Missing(parameter.name)),
        None => Ok(match parameter.kind {
            Kind::Number { default, .. } => Some(json!(default)),
            _ => None,
        }),
        Some(value) => match parameter.kind.checked(value) {
            Some(value) => Ok(Some(value)),
            None => Err(ArgumentError::Wrong {
                name: parameter.name,
                expected: parameter.kind.expected(),
                found: shortened(&value.to_string()),
            }),
        },
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(FOUND_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMETERS: &[Parameter] = &[
        Parameter {
            name: "url",
            kind: Kind::Text,
            is_required: true,
            description: "a URL",
        },
        Parameter {
            name: "at",
            kind: Kind::Time,
            is_required: false,
            description: "a time",
        },
        Parameter {
            name: "limit",
            kind: Kind::Number {
                default: 10,
                min: 1,
                max: 20,
            },
            is_required: false,
            description: "a number",
        },
        Parameter {
            name: "match",
            kind: Kind::Choice(&["exact", "host"]),
            is_required: false,
            description: "a choice",
        },
        Parameter {
            name: "ever",
            kind: Kind::Flag,
            is_required: false,
            description: "a flag",
        },
    ];

    #[test]
    fn what_is_left_out_has_its_default() {
        let given = json!({ "url": "a.org", "at": null, "match": " " });
        let found = Arguments::check(PARAMETERS, Some(&given)).unwrap();
        assert_eq!(found.text("url").as_deref(), Some("a.org"));
        assert_eq!((found.text("at"), found.text("match")), (None, None));
        assert_eq!((found.number("limit"), found.flag("ever")), (10, false));
        let given = json!({ "url": "a.org", "at": "2014-01-26T20:06:24.000Z" });
        let found = Arguments::check(PARAMETERS, Some(&given)).unwrap();
        assert_eq!(found.text("at").as_deref(), Some("20140126200624"));
        let given = json!({ "url": "a.org", "at": "2014-01", "limit": 20, "match": "host", "ever": true });
        let found = Arguments::check(PARAMETERS, Some(&given)).unwrap();
        assert_eq!(found.text("at").as_deref(), Some("201401"));
        assert_eq!((found.rows("limit"), found.flag("ever")), (20, true));
    }

    #[test]
    fn wrong_arguments_are_named() {
        for (given, expected) in [
            (json!([]), "an object"),
            (json!({}), "url is required"),
            (json!({ "url": "" }), "url is required"),
            (json!({ "url": 7 }), "url must be a string, found 7"),
            (
                json!({ "url": "a", "uri": "b" }),
                "no parameter \"uri\"; it has url, at, limit, match, ever",
            ),
            (json!({ "url": "a", "at": "soon" }), "at must be a date"),
            (json!({ "url": "a", "limit": 0 }), "from 1 to 20, found 0"),
            (json!({ "url": "a", "limit": 21 }), "from 1 to 20, found 21"),
            (json!({ "url": "a", "limit": -1 }), "found -1"),
            (json!({ "url": "a", "limit": "5" }), "found \"5\""),
            (json!({ "url": "a", "match": "all" }), "one of exact, host"),
            (json!({ "url": "a", "ever": "yes" }), "true or false"),
            (json!({ "url": "a", "at": "x".repeat(1000) }), "xxx"),
        ] {
            let error = Arguments::check(PARAMETERS, Some(&given))
                .unwrap_err()
                .to_string();
            assert!(error.contains(expected), "{given}: {error}");
            assert!(error.len() < 300, "{error}");
        }
        assert!(Arguments::check(PARAMETERS, None).is_err());
    }

    #[test]
    fn the_schema_names_what_is_required() {
        let schema = schema(PARAMETERS);
        assert_eq!(schema["required"], json!(["url"]));
        assert_eq!(schema["properties"]["limit"]["maximum"], json!(20));
        assert_eq!(schema["properties"]["match"]["enum"], json!(["exact", "host"]));
    }
}
