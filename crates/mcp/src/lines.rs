//! Messages on a stream, one per line.

use std::io::{self, BufRead, Read as _, Write};

use crate::message::{self, MESSAGE_BYTES_MAX};
use crate::{AskArchive, protocol};

/// A line that was read.
enum Line {
    /// Without its line end.
    Message(Vec<u8>),
    /// Longer than [`MESSAGE_BYTES_MAX`]; it was skipped.
    TooLong,
    End,
}

/// Replies to the messages in `input` until it ends. `output` gets replies only, one per line.
///
/// # Errors
/// `input` cannot be read or `output` cannot be written.
pub fn serve(mut input: impl BufRead, mut output: impl Write, ask: AskArchive<'_>) -> io::Result<()> {
    loop {
        let reply = match read_line(&mut input)? {
            Line::End => return Ok(()),
            Line::TooLong => Some(message::too_long()),
            Line::Message(line) if line.trim_ascii().is_empty() => None,
            Line::Message(line) => protocol::answer(&line, ask),
        };
        if let Some(mut reply) = reply {
            reply.push('\n');
            output.write_all(reply.as_bytes())?;
            // A client may wait for this reply before it sends its next message.
            output.flush()?;
        }
    }
}

fn read_line(input: &mut impl BufRead) -> io::Result<Line> {
    let mut line = Vec::new();
    // One more byte than a message may have, for the end of its line.
    let limit = MESSAGE_BYTES_MAX as u64 + 1;
    let read = input.by_ref().take(limit).read_until(b'\n', &mut line)?;
    if read == 0 {
        return Ok(Line::End);
    }
    if line.pop_if(|byte| *byte == b'\n').is_none() && line.len() > MESSAGE_BYTES_MAX {
        // Discards the rest without holding it in memory.
        input.skip_until(b'\n')?;
        return Ok(Line::TooLong);
    }
    Ok(Line::Message(line))
}

#[cfg(test)]
mod tests {
    use archive::AskError;
    use serde_json::{Value, json};

    use super::*;

    /// Returns the replies to the input, without an archive.
    fn replies(input: &[u8]) -> Vec<Value> {
        let mut output = Vec::new();
        let nothing = |_| Err(AskError::unavailable("there is no archive"));
        serve(input, &mut output, &nothing).unwrap();
        let lines = output.split_inclusive(|byte| *byte == b'\n');
        lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
    }

    const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

    fn pong() -> Value {
        json!({ "jsonrpc": "2.0", "id": 1, "result": {} })
    }

    #[test]
    fn each_line_is_a_message() {
        assert_eq!(replies(b""), Vec::<Value>::new());
        let found = replies(format!("{PING}\n\n \r\n{PING}\r\n{PING}").as_bytes());
        assert_eq!(found, [pong(), pong(), pong()]);
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped_and_reported() {
        let exact = format!("{PING}{}", " ".repeat(MESSAGE_BYTES_MAX - PING.len()));
        assert_eq!(replies(format!("{exact}\n{PING}\n").as_bytes()), [pong(), pong()]);
        let found = replies(format!("{exact} \n{PING}\n").as_bytes());
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0]["error"]["code"], json!(-32600));
        assert_eq!(found[1], pong());
        // The stream ends within the line.
        assert_eq!(replies("x".repeat(3 * MESSAGE_BYTES_MAX).as_bytes()).len(), 1);
    }
}
