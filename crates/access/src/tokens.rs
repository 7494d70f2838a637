//! The file of tokens: the groups of the clients that present them.
//!
//! ```toml
//! [tokens.reading-room]
//! hash = "…"                    # BLAKE3 of the token, in hexadecimal
//! groups = ["staff"]
//! admin = true                  # who comes with it administers the archive; optional
//! until = "2030-01-01"          # from then on it is no token any more; optional
//! ```
//!
//! A token is 256 random bits from the system, so its hash reveals nothing and a slow hash is
//! unnecessary. Only hashes are compared, so the time of a comparison reveals nothing about the
//! token.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::groups::Groups;
use crate::rule;
use crate::watched_file::{WatchedFile, WatchedFileError};

/// Why the tokens cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("tokens in {path}: {why}")]
pub struct TokensError {
    /// The file.
    pub path: String,
    /// The reason.
    pub why: TokensFault,
}

/// What is wrong with the tokens, or with a change of them.
#[derive(Debug, thiserror::Error)]
pub enum TokensFault {
    /// The disk failed.
    #[error("{action}: {error}")]
    Io {
        /// The failed operation.
        action: &'static str,
        /// The error.
        error: io::Error,
    },
    /// The file does not exist.
    #[error("there is no such file")]
    NoFile,
    /// The file is invalid.
    #[error("{}", .0.to_string().trim_end())]
    Syntax(#[from] toml::de::Error),
    /// The tokens cannot be written as TOML.
    #[error(transparent)]
    Write(#[from] toml::ser::Error),
    /// A token has this name.
    #[error("there is a token {0:?} already")]
    Exists(String),
    /// No token has this name.
    #[error("there is no token {0:?}")]
    NoToken(String),
    /// The end of a token is invalid.
    #[error("{0:?} is not a date: expected one such as 2030-01-01")]
    Date(String),
}

/// Tokens by name, given by users.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tokens {
    #[serde(default)]
    tokens: BTreeMap<String, Token>,
}

/// A token.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Token {
    hash: String,
    groups: Groups,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    admin: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<String>,
}

/// A client that presented a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenHolder {
    /// Groups of the client.
    pub groups: Groups,
    /// Whether the client may administer the archive.
    pub is_admin: bool,
}

/// The file, for use from any number of threads.
#[derive(Debug)]
pub struct TokensFile(WatchedFile<Tokens>);

impl TokensFile {
    /// Uses the file at a path.
    pub fn at(path: PathBuf) -> TokensFile {
        TokensFile(WatchedFile::private_at(path))
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Returns the client of a token; `None` if the token is unknown, revoked or expired.
    ///
    /// # Errors
    /// [`TokensError`]: the file does not exist, or is invalid.
    pub fn bearer(&self, token: &str, now_ms: i64) -> Result<Option<TokenHolder>, TokensError> {
        let tokens = self
            .0
            .read(parsed)
            .map_err(|file_error| self.file_error(file_error))?;
        let tokens = tokens.ok_or_else(|| self.error(TokensFault::NoFile))?;
        let hash = hash(token);
        let found = tokens.tokens.values().find(|token| token.hash == hash);
        let is_in_time = |token: &&Token| match &token.until {
            Some(until) => rule::first_ms_of(until).is_some_and(|end_ms| now_ms < end_ms),
            None => true,
        };
        Ok(found.filter(is_in_time).map(|token| TokenHolder {
            groups: token.groups.clone(),
            is_admin: token.admin,
        }))
    }

    /// Makes and returns a token for `groups`. The token itself is not stored.
    ///
    /// # Errors
    /// [`TokensError`], also if there is a token of this name. Then the file is unchanged.
    pub fn issue(&self, name: &str, groups: Groups, until: Option<String>) -> Result<String, TokensError> {
        let is_admin = false;
        self.issue_for(name, TokenHolder { groups, is_admin }, until)
    }

    /// Like [`TokensFile::issue`], for a `bearer` who may administer the archive.
    ///
    /// # Errors
    /// [`TokensError`]. Then the file is unchanged.
    pub fn issue_for(
        &self,
        name: &str,
        bearer: TokenHolder,
        until: Option<String>,
    ) -> Result<String, TokensError> {
        self.insert(name, bearer, until, false)
    }

    /// Like [`TokensFile::issue_for`], but replaces a token of the same name, which is refused from
    /// then on.
    ///
    /// # Errors
    /// [`TokensError`]. Then the file is unchanged.
    pub fn reissue_for(
        &self,
        name: &str,
        bearer: TokenHolder,
        until: Option<String>,
    ) -> Result<String, TokensError> {
        self.insert(name, bearer, until, true)
    }

    fn insert(
        &self,
        name: &str,
        bearer: TokenHolder,
        until: Option<String>,
        replaces: bool,
    ) -> Result<String, TokensError> {
        if let Some(text) = until.as_deref().filter(|text| rule::first_ms_of(text).is_none()) {
            return Err(self.error(TokensFault::Date(text.to_owned())));
        }
        let bytes: [u8; 32] = system::random();
        let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let new = Token {
            hash: hash(&token),
            groups: bearer.groups,
            admin: bearer.is_admin,
            until,
        };
        self.change(|tokens| match tokens.insert(name.to_owned(), new) {
            Some(_) if !replaces => Err(TokensFault::Exists(name.to_owned())),
            _ => Ok(()),
        })?;
        Ok(token)
    }

    /// Revokes a token.
    ///
    /// # Errors
    /// [`TokensError`]: there is no token with this name, or the file cannot be written.
    pub fn revoke(&self, name: &str) -> Result<(), TokensError> {
        self.change(|tokens| match tokens.remove(name) {
            Some(_) => Ok(()),
            None => Err(TokensFault::NoToken(name.to_owned())),
        })
    }

    fn change(
        &self,
        change: impl FnOnce(&mut BTreeMap<String, Token>) -> Result<(), TokensFault>,
    ) -> Result<(), TokensError> {
        let edit = |text: &str| {
            let mut tokens = parsed(text)?;
            change(&mut tokens.tokens)?;
            Ok(toml::to_string(&tokens)?)
        };
        self.0
            .change(edit)
            .map_err(|file_error| self.file_error(file_error))
    }

    fn file_error(&self, file_error: WatchedFileError<TokensFault>) -> TokensError {
        self.error(match file_error {
            WatchedFileError::Io { action, source } => TokensFault::Io {
                action,
                error: source,
            },
            WatchedFileError::Text(why) => why,
        })
    }

    fn error(&self, why: TokensFault) -> TokensError {
        TokensError {
            path: self.path().display().to_string(),
            why,
        }
    }
}

fn parsed(text: &str) -> Result<Tokens, TokensFault> {
    Ok(toml::from_str(text)?)
}

fn hash(token: &str) -> String {
    blake3::hash(token.as_bytes()).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_opens_until_it_is_withdrawn_or_over_and_is_not_in_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = TokensFile::at(dir.path().join("tokens.toml"));
        assert!(file.bearer("x", 0).is_err());
        let staff = Groups::listed("staff");
        let token = file
            .issue("room", staff.clone(), Some("1970-01-02".to_owned()))
            .unwrap();
        let other = file.issue("other", Groups::listed("guests"), None).unwrap();
        let of_staff = TokenHolder {
            groups: staff.clone(),
            is_admin: false,
        };
        assert_eq!(file.bearer(&token, 0).unwrap(), Some(of_staff.clone()));
        assert_eq!(file.bearer(&token, rule::DAY_MS).unwrap(), None);
        assert_eq!(file.bearer(&token[1..], 0).unwrap(), None);
        let admin = TokenHolder {
            is_admin: true,
            ..of_staff
        };
        let of_admin = file.issue_for("operator", admin.clone(), None).unwrap();
        assert_eq!(file.bearer(&of_admin, 0).unwrap(), Some(admin));
        assert!(!std::fs::read_to_string(file.path()).unwrap().contains(&token));
        let again = file.issue("room", Groups::listed("guests"), None).unwrap_err();
        assert!(matches!(again.why, TokensFault::Exists(name) if name == "room"));
        let guests = TokenHolder {
            groups: Groups::listed("guests"),
            is_admin: false,
        };
        let guest = file.reissue_for("other", guests.clone(), None).unwrap();
        assert_eq!(file.bearer(&other, 0).unwrap(), None);
        assert_eq!(file.bearer(&guest, 0).unwrap(), Some(guests));
        file.revoke("room").unwrap();
        assert_eq!(file.bearer(&token, 0).unwrap(), None);
        assert!(file.bearer(&guest, rule::DAY_MS).unwrap().is_some());
        assert!(file.revoke("room").is_err());
        let mode =
            std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(file.path()).unwrap().permissions());
        assert_eq!(mode & 0o077, 0, "only the owner must have access");
    }
}
