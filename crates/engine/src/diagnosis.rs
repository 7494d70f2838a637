//! Readable messages for errors of the table engine.
//!
//! The engine's own messages contain names of its types, such as `FjallError:
//! Storage(ChecksumMismatch { .. })`. The caller adds which file or table is affected, and what to
//! do about it.

use std::fmt::{self, Display, Formatter};

use fjall::{Error, LsmError};

/// An error of the engine, displayed as a readable message.
#[derive(Debug, Clone, Copy)]
pub struct ErrorMessage<'a>(pub &'a Error);

impl Display for ErrorMessage<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Error::Storage(error) => of_table(error, f),
            Error::Io(error) => error.fmt(f),
            Error::JournalRecovery(_) => {
                f.write_str("the journal (the .jnl files) cannot be read back: a batch in it is damaged")
            }
            Error::InvalidVersion(_) => f.write_str("the tables are of another version of the engine"),
            Error::Decompress(_) => f.write_str("a block of the journal cannot be unpacked"),
            Error::InvalidTrailer | Error::InvalidTag(_) => {
                f.write_str("an entry of the journal (the .jnl files) is damaged")
            }
            Error::Poisoned => f.write_str("an earlier write failed, and nothing is written after that"),
            Error::KeyspaceDeleted => f.write_str("a table has been removed"),
            Error::Locked => f.write_str("another process has it open"),
            Error::Unrecoverable => f.write_str("files are missing, or belong to different times"),
            // For variants of a newer engine version, until they have messages here. The engine is
            // compiled into this program.
            _ => f.write_str("the engine failed"),
        }
    }
}

fn of_table(error: &LsmError, f: &mut Formatter<'_>) -> fmt::Result {
    match error {
        LsmError::Io(error) => error.fmt(f),
        LsmError::Decompress(_) => f.write_str("a block of a table cannot be unpacked"),
        LsmError::InvalidVersion(found) => write!(f, "a table has version {found}, which is not known"),
        LsmError::Unrecoverable => f.write_str("files of a table are missing or cut off"),
        LsmError::ChecksumMismatch { .. } => {
            f.write_str("a block of a table is damaged: its checksum differs")
        }
        LsmError::InvalidTag((what, found)) => write!(f, "a block of a table has an unknown {what}: {found}"),
        LsmError::InvalidTrailer => f.write_str("a block of a table has no end"),
        LsmError::InvalidHeader(what) => write!(f, "the beginning of a block of a table is damaged: {what}"),
        LsmError::Utf8(_) => f.write_str("a name in a table is not UTF-8"),
        _ => f.write_str("the engine failed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_of_a_type_is_shown() {
        for error in [
            Error::Storage(LsmError::Unrecoverable),
            Error::Storage(LsmError::InvalidTrailer),
            Error::Storage(LsmError::InvalidTag(("BlockType", 9))),
            Error::Storage(LsmError::InvalidHeader("Block")),
            Error::Storage(LsmError::Io(std::io::Error::from_raw_os_error(2))),
            Error::Io(std::io::Error::from_raw_os_error(28)),
            Error::InvalidVersion(None),
            Error::InvalidTrailer,
            Error::Poisoned,
            Error::KeyspaceDeleted,
            Error::Locked,
            Error::Unrecoverable,
        ] {
            let text = ErrorMessage(&error).to_string();
            for part in [
                "Error",
                "Storage",
                "Invalid",
                "Some",
                "Os {",
                "Unrecoverable",
                "Poisoned",
            ] {
                assert!(!text.contains(part), "{text}");
            }
            assert!(text.len() > 10, "{text}");
        }
    }
}
