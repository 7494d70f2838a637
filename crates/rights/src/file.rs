//! The rules' file: `rights.toml` in an archive's directory, which people and `weft rights` write.
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
//! - the file is looked at each time it is asked for, so that what was changed holds for the next question;
//! - it is replaced whole, under a lock: two who change it lose nothing, and nobody reads half of it;
//! - what people wrote beside the rules stays where it is (`edit`);
//! - a file that cannot be understood, in any of its rules, is an error, and no rules at all.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::groups::Groups;
use crate::rule::RuleError;
use crate::rules::Rules;
use crate::stamped::{Stamped, Unread};
use read::{Spans, line_of, spans};

mod edit;
mod read;

/// Why there are no rules.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The disk failed.
    #[error("{action} {path}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: String,
        /// Why it failed.
        source: io::Error,
    },
    /// It is no TOML, or has what rules do not have.
    #[error(
        "{path}:{line}: this cannot be understood, so nothing is shown to anybody but the owner of the archive until it is mended: {message}"
    )]
    Form {
        /// The file.
        path: String,
        /// Which line, from 1.
        line: usize,
        /// Where and why.
        message: String,
    },
    /// A rule means nothing.
    #[error(
        "{path}:{line}: rule {number} means nothing, so nothing is shown to anybody but the owner of the archive until it is mended: {why}"
    )]
    Rule {
        /// The file.
        path: String,
        /// Where the rule begins, from 1.
        line: usize,
        /// Which, from 1.
        number: usize,
        /// Why.
        why: RuleError,
    },
}

/// The file; used from any number of threads.
#[derive(Debug)]
pub struct RightsFile(Stamped<Rules>);

impl RightsFile {
    /// The file at a path, where there need not be one.
    pub fn at(path: PathBuf) -> RightsFile {
        RightsFile(Stamped::at(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The rules as they are now; `None` where there is no file.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn rules(&self) -> Result<Option<Arc<Rules>>, FileError> {
        let read = self.0.read(|text| self.parsed(text).map(|(rules, _)| rules));
        read.map_err(|unread| match unread {
            Unread::Io { action, source } => self.io(action, source),
            Unread::Text(error) => error,
        })
    }

    /// Changes the rules: `change` gets those that are there, or none. Other changes wait. What people wrote beside the
    /// rules stays, unless the rules are in an order that adding and removing do not come to, or are laid out as inline tables.
    ///
    /// # Errors
    /// [`FileError`], or what `change` returns; the file is as it was then.
    pub fn change<T, E: From<FileError>>(
        &self,
        change: impl FnOnce(&mut Rules) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut changed = None;
        let edit = |text: &str| {
            let (known, spans) = self.parsed(text)?;
            let mut rules = known.clone();
            changed = Some(change(&mut rules)?);
            // What an edit came to is read before it is written: it says what was wanted, or it is not used.
            let edited = edit::edited(text, &spans, &known, &rules).filter(|text| says(text, &rules));
            let edited = match edited {
                Some(edited) => edited,
                None => edit::rewritten(text, &rules).map_err(|error| self.form(1, &error))?,
            };
            self.parsed(&edited)?;
            Ok(edited)
        };
        match self.0.change(edit) {
            Ok(()) => changed.ok_or_else(|| self.form(1, &"nothing was changed").into()),
            Err(Unread::Io { action, source }) => Err(self.io(action, source).into()),
            Err(Unread::Text(error)) => Err(error),
        }
    }

    fn parsed(&self, text: &str) -> Result<(Rules, Spans), FileError> {
        let spans = spans(text).map_err(|error| {
            let begin = error.span().map_or(0, |span| span.start);
            self.form(line_of(text, begin), &error.message())
        })?;
        let rules = spans.rules();
        match rules.sight(&Groups::public(), 0) {
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

/// Whether a text says these rules.
fn says(text: &str, rules: &Rules) -> bool {
    spans(text).is_ok_and(|spans| spans.rules() == *rules)
}

#[cfg(test)]
mod tests;
