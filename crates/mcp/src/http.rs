//! Messages over HTTP, one in the body of each request (the transport "Streamable HTTP"). Replies
//! are JSON; the server opens no stream of events and keeps no session.

use serde_json::Value;

use crate::message::{self, Request, RpcError};
use crate::protocol;

/// Headers that repeat a part of the message, for programs between client and server.
#[derive(Debug, Clone, Default)]
pub struct RoutingHeaders {
    /// `MCP-Protocol-Version`
    pub protocol_version: Option<String>,
    /// `Mcp-Method`
    pub method: Option<String>,
    /// `Mcp-Name`: the tool of a call.
    pub name: Option<String>,
}

/// A reply over HTTP.
#[derive(Debug, PartialEq, Eq)]
pub struct HttpReply {
    /// Status of the response.
    pub status: u16,
    /// The reply as JSON on one line.
    pub text: String,
}

impl HttpReply {
    /// Clients of the revisions with a handshake expect status 200 also with an error, unless they
    /// named a revision that the server does not have.
    pub(crate) fn new(id: &Value, result: Result<Value, RpcError>, is_handshake: bool) -> HttpReply {
        let status = match &result {
            Err(error) if !is_handshake || error.is_unsupported_version() => error.http_status(),
            _ => 200,
        };
        HttpReply {
            status,
            text: message::reply(id, result),
        }
    }
}

impl RoutingHeaders {
    /// Checks the headers against the request. Without a handshake they are required.
    pub(crate) fn check(&self, request: &Request, is_stateless: bool) -> Result<(), RpcError> {
        if !is_stateless {
            return match self.protocol_version.as_deref() {
                Some(version) if !protocol::versions().contains(&version) => {
                    Err(RpcError::unsupported_version(version, &protocol::versions()))
                }
                _ => Ok(()),
            };
        }
        let tool = match request.method.as_str() {
            "tools/call" => request.params.get("name").and_then(Value::as_str),
            _ => None,
        };
        for (name, header, expected) in [
            (
                "MCP-Protocol-Version",
                &self.protocol_version,
                Some(protocol::STATELESS_VERSION),
            ),
            ("Mcp-Method", &self.method, Some(request.method.as_str())),
            ("Mcp-Name", &self.name, tool),
        ] {
            if expected.is_some() && header.as_deref() != expected {
                return Err(RpcError::header_mismatch(format!(
                    "the header {name} must repeat the value in the body"
                )));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use archive::AskError;
    use serde_json::json;

    use super::*;
    use crate::{answer_http, protocol::STATELESS_VERSION};

    /// Returns the status of a request, and the code of its error.
    fn ask(method: &str, params: Value, headers: [Option<&str>; 3]) -> (u16, Value) {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let [protocol_version, method, name] = headers.map(|header| header.map(str::to_owned));
        let headers = RoutingHeaders {
            protocol_version,
            method,
            name,
        };
        let nothing = |_| Err(AskError::unavailable("there is no archive"));
        let reply = answer_http(request.to_string().as_bytes(), &headers, &nothing).unwrap();
        let text: Value = serde_json::from_str(&reply.text).unwrap();
        (reply.status, text["error"]["code"].clone())
    }

    #[test]
    fn clients_with_a_handshake_need_no_headers() {
        assert_eq!(ask("ping", json!({}), [None; 3]), (200, Value::Null));
        let version = [Some("2025-06-18"), None, None];
        assert_eq!(ask("ping", json!({}), version), (200, Value::Null));
        assert_eq!(ask("prompts/list", json!({}), version), (200, json!(-32601)));
        let unknown = [Some("1999-01-01"), None, None];
        assert_eq!(ask("ping", json!({}), unknown), (400, json!(-32022)));
    }

    #[test]
    fn clients_without_one_repeat_the_message_in_headers() {
        let version = Some(STATELESS_VERSION);
        let meta = json!({ "io.modelcontextprotocol/protocolVersion": STATELESS_VERSION });
        let call = json!({ "name": "page", "_meta": meta });
        for (headers, expected) in [
            ([version, Some("tools/call"), Some("page")], (200, Value::Null)),
            ([None, Some("tools/call"), Some("page")], (400, json!(-32020))),
            ([version, Some("ping"), Some("page")], (400, json!(-32020))),
            ([version, Some("tools/call"), Some("diff")], (400, json!(-32020))),
            ([version, Some("tools/call"), None], (400, json!(-32020))),
        ] {
            assert_eq!(ask("tools/call", call.clone(), headers), expected, "{headers:?}");
        }
        let params = json!({ "_meta": meta });
        let headers = |method| [version, Some(method), None];
        assert_eq!(
            ask("tools/list", params.clone(), headers("tools/list")),
            (200, Value::Null)
        );
        assert_eq!(
            ask("prompts/list", params, headers("prompts/list")),
            (404, json!(-32601))
        );
        let other = json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "2030-01-01" } });
        assert_eq!(ask("ping", other, headers("ping")), (400, json!(-32022)));
    }
}
