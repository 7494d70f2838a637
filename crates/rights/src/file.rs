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
//! - a file that cannot be understood, in any of its rules, is an error, and no rules at all.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::groups::Groups;
use crate::rule::RuleError;
use crate::rules::Rules;
use crate::stamped::Stamped;

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
        "{path} cannot be understood, so nothing is shown to anybody but the owner of the archive until it is mended: {message}"
    )]
    Form {
        /// The file.
        path: String,
        /// Where and why.
        message: String,
    },
    /// A rule means nothing.
    #[error(
        "rule {number} of {path} means nothing, so nothing is shown to anybody but the owner of the archive until it is mended: {why}"
    )]
    Rule {
        /// The file.
        path: String,
        /// Which, from 1.
        number: usize,
        /// Why.
        why: RuleError,
    },
}

/// The file; used from any number of threads.
#[derive(Debug)]
pub struct RightsFile(Stamped<Rules>);

/// Why a file's text is no rules.
enum Unusable {
    Io(io::Error),
    Rules(FileError),
}

impl From<io::Error> for Unusable {
    fn from(error: io::Error) -> Unusable {
        Unusable::Io(error)
    }
}

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
        let read = self.0.read(|text| self.parsed(text).map_err(Unusable::Rules));
        read.map_err(|unusable| match unusable {
            Unusable::Io(source) => self.io("read", source),
            Unusable::Rules(error) => error,
        })
    }

    /// Changes the rules: `change` gets those that are there, or none. Other changes wait. Comments that people wrote at the top
    /// of the file, before anything else, stay; others do not.
    ///
    /// # Errors
    /// [`FileError`], or what `change` returns; the file is as it was then.
    pub fn change<T, E: From<FileError>>(
        &self,
        change: impl FnOnce(&mut Rules) -> Result<T, E>,
    ) -> Result<T, E> {
        let lock = self.aside("lock");
        let lock = File::create(&lock).map_err(|source| self.io("lock", source))?;
        lock.lock().map_err(|source| self.io("lock", source))?;
        let text = match fs::read_to_string(self.path()) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(source) => return Err(self.io("read", source).into()),
        };
        let mut rules = self.parsed(&text)?;
        let changed = change(&mut rules)?;
        self.check(&rules)?;
        let head: String = text
            .split_inclusive('\n')
            .take_while(|line| line.starts_with('#'))
            .collect();
        let form = toml::to_string(&rules).map_err(|error| FileError::Form {
            path: self.path().display().to_string(),
            message: error.to_string(),
        })?;
        self.replace(&format!("{head}{form}"))
            .map_err(|source| self.io("write", source))?;
        Ok(changed)
    }

    fn replace(&self, text: &str) -> io::Result<()> {
        let aside = self.aside("new");
        let mut file = File::create(&aside)?;
        file.write_all(text.as_bytes())?;
        // Content before name: after a crash there are the old rules or the new ones.
        file.sync_all()?;
        fs::rename(&aside, self.path())?;
        match self.path().parent() {
            Some(dir) => File::open(dir)?.sync_all(),
            None => Ok(()),
        }
    }

    fn aside(&self, what: &str) -> PathBuf {
        self.path().with_extension(format!("toml.{what}"))
    }

    fn parsed(&self, text: &str) -> Result<Rules, FileError> {
        let rules: Rules = toml::from_str(text).map_err(|error| FileError::Form {
            path: self.path().display().to_string(),
            message: error.to_string().trim_end().to_owned(),
        })?;
        self.check(&rules)?;
        Ok(rules)
    }

    fn check(&self, rules: &Rules) -> Result<(), FileError> {
        match rules.sight(&Groups::public(), 0) {
            Ok(_) => Ok(()),
            Err((number, why)) => Err(FileError::Rule {
                path: self.path().display().to_string(),
                number,
                why,
            }),
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

#[cfg(test)]
mod tests;
