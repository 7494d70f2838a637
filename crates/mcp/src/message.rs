//! Messages of JSON-RPC 2.0 (<https://www.jsonrpc.org/specification>), in the subset of the
//! protocol: parameters are objects, identifiers are strings or numbers, and there are no batches.

use serde_json::{Map, Value, json};

/// Maximum size of a message to the server in bytes. A call of a tool needs some hundred.
pub const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// Code of the error for a method that the server does not have.
const UNKNOWN_METHOD: i32 = -32601;

/// Code of the error for a revision of the protocol that the server does not have.
const UNSUPPORTED_VERSION: i32 = -32022;

/// A message from the client.
#[derive(Debug, PartialEq)]
pub(crate) enum Message {
    /// Must be replied to.
    Request(Request),
    /// Must not be replied to: a notification, or a reply to a request that was never sent.
    Other,
}

/// A request.
#[derive(Debug, PartialEq)]
pub(crate) struct Request {
    /// A string or a number, repeated in the reply.
    pub(crate) id: Value,
    pub(crate) method: String,
    pub(crate) params: Map<String, Value>,
}

/// An error at the level of the protocol.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RpcError {
    code: i32,
    message: String,
    data: Option<Value>,
}

impl RpcError {
    fn new(code: i32, message: impl Into<String>) -> RpcError {
        RpcError {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// The message is not JSON.
    fn not_json(message: impl Into<String>) -> RpcError {
        RpcError::new(-32700, message)
    }

    /// The message is JSON, but no request.
    fn invalid_request(message: impl Into<String>) -> RpcError {
        RpcError::new(-32600, message)
    }

    /// The server does not have the method.
    pub(crate) fn unknown_method(method: &str) -> RpcError {
        RpcError::new(UNKNOWN_METHOD, format!("this server has no method {method:?}"))
    }

    /// The parameters of the request are wrong.
    pub(crate) fn invalid_params(message: impl Into<String>) -> RpcError {
        RpcError::new(-32602, message)
    }

    /// A header of the HTTP request contradicts its body.
    pub(crate) fn header_mismatch(message: impl Into<String>) -> RpcError {
        RpcError::new(-32020, message)
    }

    pub(crate) fn is_unsupported_version(&self) -> bool {
        self.code == UNSUPPORTED_VERSION
    }

    /// Returns the status of the error over HTTP.
    pub(crate) fn http_status(&self) -> u16 {
        match self.code {
            UNKNOWN_METHOD => 404,
            _ => 400,
        }
    }

    /// The server does not have this revision of the protocol.
    pub(crate) fn unsupported_version(requested: &str, supported: &[&str]) -> RpcError {
        RpcError {
            data: Some(json!({ "requested": requested, "supported": supported })),
            ..RpcError::new(
                UNSUPPORTED_VERSION,
                format!("unsupported protocol version {requested:?}"),
            )
        }
    }
}

/// Parses a message. The error comes with the identifier to reply to.
pub(crate) fn parse(bytes: &[u8]) -> Result<Message, (Value, RpcError)> {
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|error| (Value::Null, RpcError::not_json(format!("not JSON: {error}"))))?;
    let refuse = |why: &str| Err((Value::Null, RpcError::invalid_request(why)));
    let Value::Object(mut message) = value else {
        return refuse("a message is one JSON object; batches are not supported");
    };
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return refuse("`jsonrpc` must be \"2.0\"");
    }
    // This server sends no requests, so it ignores replies.
    let is_reply = message.contains_key("result") || message.contains_key("error");
    if is_reply && !message.contains_key("method") {
        return Ok(Message::Other);
    }
    let Some(Value::String(method)) = message.remove("method") else {
        return refuse("`method` must be a string");
    };
    let id = match message.remove("id") {
        // A message without identifier is a notification (JSON-RPC 2.0, section 4.1).
        None => return Ok(Message::Other),
        Some(id) if id.is_string() || id.is_number() => id,
        Some(_) => return refuse("`id` must be a string or a number"),
    };
    let params = match message.remove("params") {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => return Err((id, RpcError::invalid_params("`params` must be an object"))),
    };
    Ok(Message::Request(Request { id, method, params }))
}

/// Returns the reply to a request, on one line.
pub(crate) fn reply(id: &Value, outcome: Result<Value, RpcError>) -> String {
    let reply = match outcome {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(RpcError { code, message, data }) => {
            let mut error = json!({ "code": code, "message": message });
            if let Some(data) = data {
                error["data"] = data;
            }
            json!({ "jsonrpc": "2.0", "id": id, "error": error })
        }
    };
    reply.to_string()
}

/// Returns the reply to a message above [`MESSAGE_BYTES_MAX`].
pub(crate) fn too_long() -> String {
    let why = format!("a message has at most {MESSAGE_BYTES_MAX} bytes");
    reply(&Value::Null, Err(RpcError::invalid_request(why)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(message: &str, id: Value, code: i32) {
        let (found, error) = parse(message.as_bytes()).unwrap_err();
        assert_eq!((found, error.code), (id, code), "{message}: {error:?}");
    }

    #[test]
    fn only_requests_are_replied_to() {
        for id in ["1", "\"a\"", "-7"] {
            let message = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            let Ok(Message::Request(request)) = parse(message.as_bytes()) else {
                panic!("{message}");
            };
            assert_eq!((request.method.as_str(), request.params.len()), ("ping", 0));
            assert_eq!(request.id.to_string(), id);
        }
        for other in [
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/unknown","params":7}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}"#,
        ] {
            assert_eq!(parse(other.as_bytes()), Ok(Message::Other), "{other}");
        }
    }

    #[test]
    fn wrong_messages_are_refused() {
        let deep = "[".repeat(100_000);
        for text in ["", "{", "\u{7f}", "nonsense", &deep] {
            refused(text, Value::Null, -32700);
        }
        assert_eq!(parse(b"\xff\xfe").unwrap_err().1.code, -32700);
        for message in [
            "7",
            "[]",
            "{}",
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
            r#"{"id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#,
        ] {
            refused(message, Value::Null, -32600);
        }
        let listed = r#"{"jsonrpc":"2.0","id":3,"method":"ping","params":[]}"#;
        refused(listed, json!(3), -32602);
    }

    #[test]
    fn replies_have_one_line() {
        let reply = reply(&json!("a\nb"), Ok(json!({ "text": "c\nd\u{2028}" })));
        assert!(!reply.contains('\n'), "{reply}");
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, text: String) {
            let _ = parse(&bytes);
            let message = json!({ "jsonrpc": "2.0", "id": text, "method": text, "params": { "name": text } });
            let _ = parse(message.to_string().as_bytes());
        }
    }
}
