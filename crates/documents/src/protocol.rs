//! The protocol between a worker and its caller: frames over a socket.
//!
//! | bytes | content |
//! |---|---|
//! | 4 | length of the rest, little-endian |
//! | n | request: the task (1) and the document; response: the answer as JSON |

use std::io::{self, Read, Write};

use extract::DocumentFormat;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Longest document that a worker accepts, in bytes: the limit of decoding in extraction.
pub(crate) const DOCUMENT_BYTES_MAX: usize = 16 << 20;

/// Longest accepted answer, in bytes: [`crate::bounded::RAW_BYTES_MAX`] of text, in which every
/// byte may be escaped (`\u0000`).
pub(crate) const ANSWER_BYTES_MAX: usize = 32 << 20;

/// A worker's answer for a document: the requested result, or why it cannot be read.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Answer<T>(pub(crate) Result<T, String>);

/// What a worker is asked to do with a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    /// Read its text.
    Text(DocumentFormat),
    /// Return size and hash of an image, and its EXIF data if it is asked for.
    Describe { exif: bool },
    /// Make a small copy of an image.
    Thumbnail,
}

const TASKS: [Task; 9] = [
    Task::Text(DocumentFormat::Pdf),
    Task::Text(DocumentFormat::Docx),
    Task::Text(DocumentFormat::Pptx),
    Task::Text(DocumentFormat::Xlsx),
    Task::Text(DocumentFormat::Odf),
    Task::Text(DocumentFormat::Epub),
    Task::Describe { exif: false },
    Task::Describe { exif: true },
    Task::Thumbnail,
];

/// Writes a document.
pub(crate) fn ask(out: &mut impl Write, task: Task, document: &[u8]) -> io::Result<()> {
    let code = TASKS.iter().position(|known| *known == task).unwrap_or_default();
    out.write_all(&length(document.len() + 1)?)?;
    out.write_all(&[u8::try_from(code).unwrap_or_default()])?;
    out.write_all(document)
}

/// Reads a document; `None` at the end.
pub(crate) fn asked(input: &mut impl Read) -> io::Result<Option<(Task, Vec<u8>)>> {
    let Some(mut frame) = read(input, DOCUMENT_BYTES_MAX + 1)? else {
        return Ok(None);
    };
    let task = frame.first().and_then(|code| TASKS.get(usize::from(*code)));
    let task = *task.ok_or_else(|| io::Error::other("a frame of no known task"))?;
    frame.remove(0);
    Ok(Some((task, frame)))
}

/// Writes an answer.
pub(crate) fn answer<T: Serialize>(out: &mut impl Write, answer: &Answer<T>) -> io::Result<()> {
    let json = serde_json::to_vec(answer)?;
    out.write_all(&length(json.len())?)?;
    out.write_all(&json)
}

/// Reads an answer; `None` at the end.
pub(crate) fn answered<T: DeserializeOwned>(input: &mut impl Read) -> io::Result<Option<Answer<T>>> {
    match read(input, ANSWER_BYTES_MAX)? {
        Some(json) => Ok(Some(serde_json::from_slice(&json)?)),
        None => Ok(None),
    }
}

fn length(bytes: usize) -> io::Result<[u8; 4]> {
    let bytes = u32::try_from(bytes).map_err(|_| io::Error::other("a frame beyond 4 GiB"))?;
    Ok(bytes.to_le_bytes())
}

/// Reads a frame of at most `bytes_max`; `None` at the end, also within a frame.
fn read(input: &mut impl Read, bytes_max: usize) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match input.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > bytes_max {
        return Err(io::Error::other(format!(
            "a frame of {length} bytes, expected at most {bytes_max}"
        )));
    }
    let mut frame = Vec::new();
    // The buffer grows with the received bytes, not with the announced length.
    input.take(length as u64).read_to_end(&mut frame)?;
    Ok((frame.len() == length).then_some(frame))
}

#[cfg(test)]
mod tests {
    use super::*;
    use extract::DocumentText;

    #[test]
    fn frames_come_back() {
        let mut wire = Vec::new();
        ask(&mut wire, Task::Text(DocumentFormat::Epub), b"PK").unwrap();
        ask(&mut wire, Task::Thumbnail, b"").unwrap();
        let found = Answer(Ok(DocumentText {
            title: "T".to_owned(),
            text: "a\nb\0".to_owned(),
            truncated: true,
            language: String::new(),
        }));
        answer(&mut wire, &found).unwrap();
        let mut wire = wire.as_slice();
        assert_eq!(
            asked(&mut wire).unwrap(),
            Some((Task::Text(DocumentFormat::Epub), b"PK".to_vec()))
        );
        assert_eq!(asked(&mut wire).unwrap(), Some((Task::Thumbnail, Vec::new())));
        let back = answered::<DocumentText>(&mut wire).unwrap().unwrap();
        assert_eq!(back.0, found.0);
        assert!(answered::<DocumentText>(&mut wire).unwrap().is_none());
        // A document may have compromised its worker, so answers are bounded and validated.
        let answered = |mut wire: &[u8]| answered::<DocumentText>(&mut wire);
        assert!(answered(b"\xff\xff\xff\xff").is_err());
        assert!(answered(b"\x02\0\0\0{]").is_err());
        assert!(answered(b"\x09\0\0\0{").unwrap().is_none());
        assert!(asked(&mut &b"\x01\0\0\0\x09"[..]).is_err());
    }
}
