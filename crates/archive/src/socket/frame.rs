//! Frames on a stream.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | `M` message (JSON), `D` data |
//! | 4 | length of the content, big-endian, at most 64 MiB |
//! | n | content |

use std::io::{self, ErrorKind, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Limit of the length of the content: far more than any answer needs, but small enough for memory.
const LENGTH_MAX: u32 = 64 << 20;

/// A frame read from the stream.
pub(super) enum Frame {
    Message(Vec<u8>),
    Data(Vec<u8>),
}

impl Frame {
    /// Parses the message in the frame. Fails for data.
    pub(super) fn message<T: DeserializeOwned>(self) -> io::Result<T> {
        match self {
            Frame::Message(content) => Ok(serde_json::from_slice(&content)?),
            Frame::Data(_) => Err(io::Error::new(
                ErrorKind::InvalidData,
                "found data, expected a message",
            )),
        }
    }
}

pub(super) fn write_message(out: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    write_frame(out, b'M', &serde_json::to_vec(message)?)
}

pub(super) fn write_data(out: &mut impl Write, data: &[u8]) -> io::Result<()> {
    write_frame(out, b'D', data)
}

fn write_frame(out: &mut impl Write, kind: u8, content: &[u8]) -> io::Result<()> {
    let length = u32::try_from(content.len())
        .ok()
        .filter(|length| *length <= LENGTH_MAX);
    let Some(length) = length else {
        return Err(io::Error::new(
            ErrorKind::InvalidInput,
            format!("a frame of {} bytes is too long", content.len()),
        ));
    };
    let mut head = [kind, 0, 0, 0, 0];
    head[1..].copy_from_slice(&length.to_be_bytes());
    out.write_all(&head)?;
    out.write_all(content)?;
    out.flush()
}

/// Reads the next frame. Returns `None` at the end of the stream.
pub(super) fn read_frame(input: &mut impl Read) -> io::Result<Option<Frame>> {
    let mut kind = [0];
    if input.read(&mut kind)? == 0 {
        return Ok(None);
    }
    let mut length = [0; 4];
    input.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length);
    if length > LENGTH_MAX {
        return Err(io::Error::new(
            ErrorKind::InvalidData,
            format!("a frame of {length} bytes is too long"),
        ));
    }
    let mut content = Vec::new();
    // The buffer grows with the bytes that arrive, not with the declared length.
    input.take(u64::from(length)).read_to_end(&mut content)?;
    if content.len() != length as usize {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    match kind[0] {
        b'M' => Ok(Some(Frame::Message(content))),
        b'D' => Ok(Some(Frame::Data(content))),
        other => Err(io::Error::new(
            ErrorKind::InvalidData,
            format!("unknown kind of frame: {other}"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_as_they_were() {
        let mut wire = Vec::new();
        write_message(&mut wire, &"hello").unwrap();
        write_data(&mut wire, &[0, 255, 10]).unwrap();
        let mut input = wire.as_slice();
        let first: String = read_frame(&mut input).unwrap().unwrap().message().unwrap();
        assert_eq!(first, "hello");
        assert!(matches!(read_frame(&mut input).unwrap(), Some(Frame::Data(data)) if data == [0, 255, 10]));
        assert!(read_frame(&mut input).unwrap().is_none());
    }

    #[test]
    fn garbage_is_an_error() {
        for wire in [
            &b"M\xff\xff\xff\xff"[..],
            b"X\0\0\0\0",
            b"M\0\0",
            b"M\0\0\0\x05abc",
        ] {
            assert!(read_frame(&mut &wire[..]).is_err(), "{wire:?}");
        }
    }
}
