//! The file of access rules: `rights.toml` in an archive's directory, written by users and by `weft
//! rights`.
//!
//! ```toml
//! default = "allow"             # or "deny": what holds for captures that no rule matches
//! strict = true                 # scores and their order tell nothing of what is hidden either
//!
//! [[rule]]
//! access = "deny"
//! prefix = "com,example)/secret"
//! except = ["staff"]
//! note = "asked for by the owner of the site"
//! ```
//!
//! Invariants:
//! - the file is checked for changes at every read, so a change applies to the next question;
//! - it is replaced atomically under a lock, so concurrent changes and reads are safe;
//! - comments and layout of users are kept (`edit`);
//! - an invalid file, even in one rule only, is an error and gives no rules.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::groups::Groups;
use crate::rule::RuleError;
use crate::rules::AccessRules;
use crate::watched_file::{WatchedFile, WatchedFileError};
use read::{Spans, line_of, spans};

mod edit;
mod read;

/// Why the rules cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The disk failed.
    #[error("{action} {path}: {source}")]
    Io {
        /// The attempted action.
        action: &'static str,
        /// The file.
        path: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The file is not TOML, or has unknown keys.
    #[error(
        "{path}:{line}: cannot parse the access rules, so the archive is hidden from everybody but its owner until this \
         is fixed: {message}"
    )]
    Form {
        /// The file.
        path: String,
        /// Number of the line, counted from 1.
        line: usize,
        /// Position and reason.
        message: String,
    },
    /// A rule is invalid.
    #[error(
        "{path}:{line}: rule {number} is invalid, so the archive is hidden from everybody but its owner until this is \
         fixed: {why}"
    )]
    Rule {
        /// The file.
        path: String,
        /// Line at which the rule begins, counted from 1.
        line: usize,
        /// Number of the rule, counted from 1.
        number: usize,
        /// The reason.
        why: RuleError,
    },
}

/// The file, for use from any number of threads.
#[derive(Debug)]
pub struct AccessRulesFile(WatchedFile<AccessRules>);

impl AccessRulesFile {
    /// Uses the file at a path, which need not exist.
    pub fn at(path: PathBuf) -> AccessRulesFile {
        AccessRulesFile(WatchedFile::at(path))
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Returns the present rules; `None` if the file does not exist.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn rules(&self) -> Result<Option<Arc<AccessRules>>, FileError> {
        let read = self.0.read(|text| self.parsed(text).map(|(rules, _)| rules));
        read.map_err(|file_error| match file_error {
            WatchedFileError::Io { action, source } => self.io(action, source),
            WatchedFileError::Text(error) => error,
        })
    }

    /// Changes the rules. `change` gets the present rules, or an empty set. Concurrent changes
    /// wait. Text that users wrote in addition to the rules is kept, unless the change does more
    /// than add and remove rules, or the rules are inline tables.
    ///
    /// # Errors
    /// [`FileError`], or the error of `change`. Then the file is unchanged.
    pub fn change<T, E: From<FileError>>(
        &self,
        change: impl FnOnce(&mut AccessRules) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut changed = None;
        let edit = |text: &str| {
            let (known, spans) = self.parsed(text)?;
            let mut rules = known.clone();
            changed = Some(change(&mut rules)?);
            // An edited text is parsed before it is written. It is used only if it gives the wanted
            // rules.
            let edited = edit::edited(text, &spans, &known, &rules).filter(|text| says(text, &rules));
            let edited = match edited {
                Some(edited) => edited,
                None => edit::rewritten(text, &rules).map_err(|error| self.form(1, &error))?,
            };
            self.parsed(&edited)?;
            Ok(edited)
        };
        match self.0.change(edit) {
            Ok(()) => changed.ok_or_else(|| self.form(1, &"the rules were not changed").into()),
            Err(WatchedFileError::Io { action, source }) => Err(self.io(action, source).into()),
            Err(WatchedFileError::Text(error)) => Err(error),
        }
    }

    fn parsed(&self, text: &str) -> Result<(AccessRules, Spans), FileError> {
        let spans = spans(text).map_err(|error| {
            let begin = error.span().map_or(0, |span| span.start);
            self.form(line_of(text, begin), &error.message())
        })?;
        let rules = spans.rules();
        match rules.filter_for(&Groups::public(), 0) {
            Ok(_) => Ok((rules, spans)),
            Err((number, why)) => Err(FileError::Rule {
                path: self.path().display().to_string(),
                line: line_of(text, spans.begin_of(number)),
                number,
                why,
            }),
        }
    }

    fn form(&self, line: usize, message: &dyn std::fmt::Display) -> FileError {
        FileError::Form {
            path: self.path().display().to_string(),
            line,
            message: message.to_string().trim_end().to_owned(),
        }
    }

    fn io(&self, action: &'static str, source: io::Error) -> FileError {
        FileError::Io {
            action,
            path: self.path().display().to_string(),
            source,
        }
    }
}

/// Returns whether a text gives these rules.
fn says(text: &str, rules: &AccessRules) -> bool {
    spans(text).is_ok_and(|spans| spans.rules() == *rules)
}

#[cfg(test)]
mod tests;
