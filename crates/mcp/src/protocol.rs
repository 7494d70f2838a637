//! The methods of the protocol, and its revisions.
//!
//! Up to the revision 2025-11-25 a client calls `initialize` first. From 2026-07-28 on there is no
//! such call: each request names its revision in `_meta`, and `server/discover` describes the
//! server. This server keeps no state, so it answers both kinds on one connection.

use serde_json::{Map, Value, json};

use crate::http::{HttpReply, RoutingHeaders};
use crate::message::{self, Message, Request, RpcError};
use crate::text::NOTICE;
use crate::{AskArchive, tools};

/// Revisions with `initialize`, the newest last.
const HANDSHAKE_VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", LAST_HANDSHAKE_VERSION];
const LAST_HANDSHAKE_VERSION: &str = "2025-11-25";

/// The revision in which each request names its revision.
pub(crate) const STATELESS_VERSION: &str = "2026-07-28";

/// The key in `_meta` with the revision of a request.
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// How long a client may keep the description of the server and the list of tools, in milliseconds.
/// Only another version of the program changes them.
const DESCRIPTION_TTL_MS: u64 = 3_600_000;

const INSTRUCTIONS: &str = "Tools to search and read a web archive: pages as they were captured at \
    different times. `search` finds pages, `page` reads one, `versions` and `diff` show how it changed, \
    `inlinks` lists pages that link to a URL, `captures` lists everything captured. Cite the URL and the \
    date of capture. Times are in UTC; a time may be the beginning of a date, such as 2014 or 2014-01.";

/// A revision's way to answer a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Era {
    Handshake,
    Stateless,
}

/// Returns the reply to a message as JSON on one line; `None` if the message gets no reply.
pub fn answer(message: &[u8], ask: AskArchive<'_>) -> Option<String> {
    reply(message, None, ask).map(|reply| reply.text)
}

/// Returns the reply to a message that came over HTTP; `None` if the message gets no reply.
pub fn answer_http(message: &[u8], headers: &RoutingHeaders, ask: AskArchive<'_>) -> Option<HttpReply> {
    reply(message, Some(headers), ask)
}

fn reply(message: &[u8], headers: Option<&RoutingHeaders>, ask: AskArchive<'_>) -> Option<HttpReply> {
    match message::parse(message) {
        Ok(Message::Other) => None,
        Ok(Message::Request(request)) => {
            let era = era(&request);
            let result = era.clone().and_then(|era| {
                headers.map_or(Ok(()), |headers| headers.check(&request, era == Era::Stateless))?;
                result(&request, era, ask)
            });
            let is_handshake = era == Ok(Era::Handshake);
            Some(HttpReply::new(&request.id, result, is_handshake))
        }
        Err((id, error)) => Some(HttpReply::new(&id, Err(error), false)),
    }
}

fn result(request: &Request, era: Era, ask: AskArchive<'_>) -> Result<Value, RpcError> {
    let (mut result, is_description) = match request.method.as_str() {
        "initialize" => return Ok(initialize(&request.params)),
        "server/discover" => (discover(), true),
        "ping" => (json!({}), false),
        "tools/list" => (json!({ "tools": tools::list() }), true),
        "tools/call" => (tools::call(&request.params, ask)?, false),
        method => return Err(RpcError::unknown_method(method)),
    };
    // The revisions with a handshake do not have these fields.
    if era == Era::Stateless {
        result["resultType"] = json!("complete");
        if is_description {
            result["ttlMs"] = json!(DESCRIPTION_TTL_MS);
            result["cacheScope"] = json!("public");
        }
    }
    Ok(result)
}

fn era(request: &Request) -> Result<Era, RpcError> {
    let version = request.params.get("_meta").and_then(|meta| meta.get(VERSION_KEY));
    match version.map(|version| version.as_str().unwrap_or_default()) {
        // Some clients call `initialize` with the revision that they would like to have.
        _ if request.method == "initialize" => Ok(Era::Handshake),
        Some(STATELESS_VERSION) => Ok(Era::Stateless),
        Some(other) => Err(RpcError::unsupported_version(other, &versions())),
        None if request.method == "server/discover" => Ok(Era::Stateless),
        None => Ok(Era::Handshake),
    }
}

/// Returns all revisions that this server has, the newest last.
pub(crate) fn versions() -> Vec<&'static str> {
    HANDSHAKE_VERSIONS
        .into_iter()
        .chain([STATELESS_VERSION])
        .collect()
}

/// Agrees on a revision: that of the client, or else the newest.
fn initialize(params: &Map<String, Value>) -> Value {
    let wanted = params.get("protocolVersion").and_then(Value::as_str);
    let version = HANDSHAKE_VERSIONS
        .into_iter()
        .find(|version| wanted == Some(*version));
    let mut result = description();
    result["protocolVersion"] = json!(version.unwrap_or(LAST_HANDSHAKE_VERSION));
    result["serverInfo"] = server_info();
    result
}

fn discover() -> Value {
    let mut result = description();
    result["supportedVersions"] = json!(versions());
    result["_meta"] = json!({ "io.modelcontextprotocol/serverInfo": server_info() });
    result
}

fn description() -> Value {
    json!({ "capabilities": { "tools": {} }, "instructions": format!("{INSTRUCTIONS} {NOTICE}") })
}

fn server_info() -> Value {
    json!({ "name": "weft", "title": "Weft web archive", "version": archive::VERSION })
}

#[cfg(test)]
mod tests {
    use archive::AskError;

    use super::*;

    fn ask(method: &str, params: Value) -> Value {
        let request = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        let nothing = |_| Err(AskError::unavailable("there is no archive"));
        let reply = answer(request.to_string().as_bytes(), &nothing).unwrap();
        let reply: Value = serde_json::from_str(&reply).unwrap();
        assert_eq!(reply["id"], json!(7));
        reply
    }

    #[test]
    fn the_client_gets_the_revision_it_wants_or_the_newest() {
        for (wanted, expected) in [
            (json!("2024-11-05"), "2024-11-05"),
            (json!("2025-06-18"), "2025-06-18"),
            (json!("2026-07-28"), "2025-11-25"),
            (json!("1999-01-01"), "2025-11-25"),
            (json!(7), "2025-11-25"),
        ] {
            let reply = ask("initialize", json!({ "protocolVersion": wanted }));
            assert_eq!(reply["result"]["protocolVersion"], json!(expected), "{wanted}");
            assert_eq!(reply["result"]["capabilities"], json!({ "tools": {} }));
            assert_eq!(reply["result"]["resultType"], Value::Null);
        }
    }

    #[test]
    fn requests_that_name_their_revision_are_answered_by_its_rules() {
        let meta = |version: &str| json!({ "_meta": { VERSION_KEY: version } });
        let found = ask("server/discover", meta(STATELESS_VERSION));
        let supported = &found["result"]["supportedVersions"];
        assert!(supported.as_array().unwrap().contains(&json!(STATELESS_VERSION)));
        for method in ["server/discover", "tools/list"] {
            let result = &ask(method, meta(STATELESS_VERSION))["result"];
            assert_eq!(result["resultType"], json!("complete"), "{method}");
            assert_eq!(result["cacheScope"], json!("public"), "{method}");
        }
        let refused = ask("tools/list", meta("2030-01-01"));
        assert_eq!(refused["error"]["code"], json!(-32022));
        assert_eq!(refused["error"]["data"]["requested"], json!("2030-01-01"));
        assert_eq!(ask("tools/list", json!({}))["result"]["resultType"], Value::Null);
    }

    #[test]
    fn an_unknown_method_is_an_error() {
        for method in ["resources/list", "prompts/get", "", "subscriptions/listen"] {
            assert_eq!(ask(method, json!({}))["error"]["code"], json!(-32601), "{method}");
        }
    }
}
