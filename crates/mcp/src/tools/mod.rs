//! The tools: their names, parameters and functions.
//!
//! A tool answers with text. What the archive refuses, and wrong arguments, are answers too, marked
//! as errors, so that the model can correct its call.

mod captures;
mod diff;
mod inlinks;
mod page;
mod search;
mod versions;

use archive::AskError;
use archive::question::{Answer, Ask};
use format::terminal::clean;
use serde_json::{Map, Value, json};

use crate::AskArchive;
use crate::arguments::{self, ArgumentError, Arguments, Kind, Parameter};
use crate::message::RpcError;
use crate::text::{ANSWER_CHARS_MAX, AnswerText};

/// A tool.
struct Tool {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    parameters: &'static [Parameter],
    call: fn(&Arguments, AskArchive<'_>) -> Result<AnswerText, AskError>,
}

/// All tools, in the order in which they are listed.
const TOOLS: [&Tool; 6] = [
    &search::TOOL,
    &page::TOOL,
    &inlinks::TOOL,
    &versions::TOOL,
    &diff::TOOL,
    &captures::TOOL,
];

/// Why a call has no answer.
#[derive(Debug, thiserror::Error)]
enum CallError {
    #[error("{0}")]
    Arguments(#[from] ArgumentError),
    #[error("{}: {}", .0.code.name(), .0)]
    Archive(#[from] AskError),
}

/// The parameter of all tools about one URL.
const URL: Parameter = Parameter {
    name: "url",
    kind: Kind::Text,
    is_required: true,
    description: "URL, such as http://www.iana.org/domains. The scheme may be left out; http and https, \
        and www. and none, are the same",
};

/// The parameter of all lists that continue at a cursor.
const AFTER: Parameter = Parameter {
    name: "after",
    kind: Kind::Text,
    is_required: false,
    description: "Cursor from the previous answer, to get the rows after it",
};

/// Returns the parameter that says where a part of a text starts.
const fn start(description: &'static str) -> Parameter {
    Parameter {
        name: "start",
        kind: Kind::Number {
            default: 0,
            min: 0,
            max: u32::MAX as u64,
        },
        is_required: false,
        description,
    }
}

/// Returns the parameter that limits the length of a part of a text.
const fn chars(description: &'static str) -> Parameter {
    Parameter {
        name: "chars",
        kind: Kind::Number {
            default: 10_000,
            min: 1,
            // With its quotation marks it still fits into [`ANSWER_CHARS_MAX`], unless its lines
            // are very short.
            max: 30_000,
        },
        is_required: false,
        description,
    }
}

/// Returns the descriptions of all tools.
pub(crate) fn list() -> Value {
    TOOLS.iter().map(|tool| describe(tool)).collect()
}

fn describe(tool: &Tool) -> Value {
    json!({
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": arguments::schema(tool.parameters),
        "annotations": { "readOnlyHint": true, "idempotentHint": true, "openWorldHint": false },
    })
}

/// Calls the tool that the parameters name.
pub(crate) fn call(params: &Map<String, Value>, ask: AskArchive<'_>) -> Result<Value, RpcError> {
    let Some(name) = params.get("name").and_then(Value::as_str) else {
        return Err(RpcError::invalid_params("`name` must be the name of a tool"));
    };
    let Some(tool) = TOOLS.iter().find(|tool| tool.name == name) else {
        // The specification counts an unknown tool as an error of the protocol.
        return Err(RpcError::invalid_params(format!("unknown tool: {name}")));
    };
    let (text, is_error) = match call_tool(tool, params.get("arguments"), ask) {
        Ok(text) => (text, false),
        Err(error) => (clean(&error.to_string()), true),
    };
    Ok(json!({ "content": [{ "type": "text", "text": text }], "isError": is_error }))
}

fn call_tool(tool: &Tool, given: Option<&Value>, ask: AskArchive<'_>) -> Result<String, CallError> {
    let arguments = Arguments::check(tool.parameters, given)?;
    Ok((tool.call)(&arguments, ask)?.end())
}

/// Asks a question whose type of answer is known.
fn ask_typed<Q: Ask>(ask: AskArchive<'_>, question: Q) -> Result<Answer<Q::Answer>, AskError> {
    ask(question.into())?.to::<Q>()
}

/// Says how to get the rows after those in the answer. `is_cut` if there are fewer rows than the
/// client allows, because more would be too long.
fn end_of_list(text: &mut AnswerText, tool: &str, next: Option<&str>, is_cut: bool) {
    let Some(next) = next else { return };
    let why = if is_cut {
        format!("fewer rows, because an answer has at most {ANSWER_CHARS_MAX} characters; ")
    } else {
        String::new()
    };
    text.gap();
    text.line(&format!(
        "more: {why}call {tool} again with the same arguments and after = {next}"
    ));
}

#[cfg(test)]
mod tests;
