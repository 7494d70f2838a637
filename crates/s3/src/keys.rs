//! Access keys and their rights: the keys file.
//!
//! ```toml
//! [keys.WEFT0123456789ABCDEF]
//! secret = "..."
//! user = "archive"                          # owner name of its objects; defaults to the key
//! email = "archive@example.org"             # another name for the user, in ACLs
//! rights = { "*" = ["read", "write", "list", "delete"], "archive-*" = ["own"] }
//!
//! [buckets.public-data]
//! anonymous = ["read"]                      # without a signature
//!
//! [buckets."archive-*"]
//! block_public = true                       # no ACL or policy makes anything here public
//! ```
//!
//! Patterns of bucket names may contain `*`, which matches any text. The rights of all matching
//! patterns add up; anything else is refused. The file is read again when it changes. If it cannot
//! be read or parsed, the old keys remain valid and an error is logged.
//!
//! `own` gives a user who creates a bucket all rights in it: see [`crate::access`]. In buckets
//! where no user has `own`, ACLs and policies are ignored.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::Deserialize;

use crate::glob::fits_stars;

/// Shortest interval between checks of the file. A shorter one would stat the file with every
/// request. A revoked key works for at most this long.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Characters of generated access keys.
const ID_ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Characters of generated secrets: 40 of them are 236 bits.
const SECRET_ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// A right in a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Right {
    /// Get objects.
    Read,
    /// Put objects, upload in parts, create the bucket.
    Write,
    /// List objects and uploads, read the bucket's settings.
    List,
    /// Delete objects and the bucket.
    Delete,
    /// Create the bucket. The user who created it may do everything in it and with the user's own
    /// objects in it, and may grant rights to others through ACLs and policies.
    Own,
}

/// All rights.
pub const ALL_RIGHTS: [Right; 5] = [Right::Read, Right::Write, Right::List, Right::Delete, Right::Own];

/// Rights by pattern of bucket names.
type Rights = BTreeMap<String, Vec<Right>>;

/// An access key with its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPair {
    /// The access key id, which is public.
    pub id: String,
    /// The secret.
    pub secret: String,
}

/// Why the keys could not be read or created.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// The file cannot be read or written.
    #[error("{verb} keys file {path}: {source}")]
    File {
        /// The failed action, `read` or `write`.
        verb: &'static str,
        /// The file.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// The file was read, but its content is invalid.
    #[error("keys file {path}: {detail}")]
    Content {
        /// The file.
        path: PathBuf,
        /// The parser's message, without the line, which may contain a secret.
        detail: String,
    },
}

/// The content of the keys file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeysFile {
    #[serde(default)]
    keys: BTreeMap<String, Entry>,
    #[serde(default)]
    buckets: BTreeMap<String, Open>,
}

impl KeysFile {
    /// Returns the keys of `user`.
    fn of_user<'a>(&'a self, user: &'a str) -> impl Iterator<Item = &'a Entry> {
        let of_user =
            move |(id, entry): &(&'a String, &'a Entry)| entry.user.as_deref().unwrap_or(id.as_str()) == user;
        self.keys.iter().filter(of_user).map(|(_, entry)| entry)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    secret: String,
    user: Option<String>,
    email: Option<String>,
    rights: Rights,
}

impl Entry {
    fn has(&self, right: Right, bucket: &str) -> bool {
        let mut rights = self.rights.iter();
        rights.any(|(pattern, rights)| rights.contains(&right) && fits_stars(pattern, bucket))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Open {
    #[serde(default)]
    anonymous: Vec<Right>,
    #[serde(default)]
    block_public: bool,
}

/// Identity of a version of the file: inode, modification time and length.
type Stamp = (u64, i64, i64, u64);

/// The current keys, shared by all requests.
pub(crate) struct Keys {
    path: PathBuf,
    state: Mutex<State>,
}

struct State {
    file: Arc<KeysFile>,
    stamp: Option<Stamp>,
    looked: Instant,
}

impl Keys {
    /// Reads the file. If it does not exist, creates it with one key pair that has every right, and
    /// returns that pair.
    pub(crate) fn open(path: &Path) -> Result<(Self, Option<KeyPair>), KeysError> {
        let made = if path.exists() { None } else { Some(make(path)?) };
        // The stamp is read before the file, so the next check detects a change in between.
        let stamp = stamp(path);
        let file = read(path)?;
        warn_if_others_may_read(path);
        let state = State {
            file: Arc::new(file),
            stamp,
            looked: system::now(),
        };
        let keys = Self {
            path: path.to_owned(),
            state: Mutex::new(state),
        };
        Ok((keys, made))
    }

    /// Returns the secret of an access key.
    pub(crate) fn secret(&self, id: &str) -> Option<String> {
        self.current().keys.get(id).map(|entry| entry.secret.clone())
    }

    /// Returns the user of an access key.
    pub(crate) fn user(&self, id: &str) -> String {
        let file = self.current();
        let user = file.keys.get(id).and_then(|entry| entry.user.clone());
        user.unwrap_or_else(|| id.to_owned())
    }

    /// Reports whether any key belongs to this user.
    pub(crate) fn is_user(&self, user: &str) -> bool {
        self.current().of_user(user).next().is_some()
    }

    /// Returns the user with this email address.
    pub(crate) fn user_of_email(&self, email: &str) -> Option<String> {
        let file = self.current();
        let mut keys = file.keys.iter();
        let (id, entry) = keys.find(|(_, entry)| entry.email.as_deref() == Some(email))?;
        Some(entry.user.clone().unwrap_or_else(|| id.clone()))
    }

    /// Reports whether an access key, or an unsigned request if `None`, has this right in a bucket.
    /// Unsigned requests never own a bucket.
    pub(crate) fn may(&self, id: Option<&str>, bucket: &str, right: Right) -> bool {
        let file = self.current();
        let anybody = right != Right::Own
            && file
                .buckets
                .iter()
                .any(|(pattern, open)| open.anonymous.contains(&right) && fits_stars(pattern, bucket));
        let own = id.and_then(|id| file.keys.get(id));
        anybody || own.is_some_and(|entry| entry.has(right, bucket))
    }

    /// Reports whether an access key may learn that a bucket exists: it has a right in it, or owns
    /// it.
    pub(crate) fn may_see(&self, id: &str, bucket: &str, owner: Option<&str>) -> bool {
        let mine = || owner == Some(self.user(id).as_str());
        ALL_RIGHTS
            .into_iter()
            .any(|right| self.may(Some(id), bucket, right) && (right != Right::Own || mine()))
    }

    /// Reports whether any key may own anything. If not, the keys file alone decides.
    pub(crate) fn anybody_owns(&self) -> bool {
        let file = self.current();
        file.keys
            .values()
            .any(|entry| entry.rights.values().any(|rights| rights.contains(&Right::Own)))
    }

    /// Reports whether any key may own this bucket or objects in it. If not, ACLs and policies
    /// stored with them are ignored.
    pub(crate) fn anybody_owns_in(&self, bucket: &str) -> bool {
        let file = self.current();
        file.keys.values().any(|entry| entry.has(Right::Own, bucket))
    }

    /// Reports whether a user may own this bucket or objects in it. The owner of a bucket that no
    /// client created has an empty name, for which this is false.
    pub(crate) fn owns(&self, user: &str, bucket: &str) -> bool {
        let file = self.current();
        let mut keys = file.of_user(user);
        !user.is_empty() && keys.any(|entry| entry.has(Right::Own, bucket))
    }

    /// Reports whether ACLs and policies in this bucket must not grant anything to everybody.
    pub(crate) fn blocks_public(&self, bucket: &str) -> bool {
        let file = self.current();
        file.buckets
            .iter()
            .any(|(pattern, open)| open.block_public && fits_stars(pattern, bucket))
    }

    /// Returns the keys, read again if the file has changed.
    fn current(&self) -> Arc<KeysFile> {
        let mut state = self.state.lock();
        if system::since(state.looked) >= LOOK_INTERVAL {
            state.looked = system::now();
            self.look(&mut state);
        }
        state.file.clone()
    }

    fn look(&self, state: &mut State) {
        let stamp = stamp(&self.path);
        if stamp == state.stamp {
            return;
        }
        // Recorded even if the file cannot be read, so that an error is logged once and not with
        // every check.
        state.stamp = stamp;
        match read(&self.path) {
            Ok(file) => {
                tracing::info!(path = %self.path.display(), keys = file.keys.len(), "keys file reloaded");
                warn_if_others_may_read(&self.path);
                state.file = Arc::new(file);
            }
            // A typing error in the file must not lock out all clients.
            Err(error) => tracing::error!(%error, "keys file not reloaded: the previous keys stay in use"),
        }
    }

    /// Checks the file again immediately.
    #[cfg(test)]
    fn look_now(&self) {
        let mut state = self.state.lock();
        self.look(&mut state);
    }
}

/// Creates the file with one new key pair that has every right.
fn make(path: &Path) -> Result<KeyPair, KeysError> {
    let pair = KeyPair {
        id: format!("WEFT{}", random(ID_ALPHABET, 16)),
        secret: random(SECRET_ALPHABET, 40),
    };
    let KeyPair { id, secret } = &pair;
    let text = format!(
        "# Access keys of the S3 server, read again when this file changes. Rights by bucket; * stands for any text.\n\
         # Without a signature: [buckets.NAME] with anonymous = [\"read\"].\n\n\
         [keys.{id}]\nsecret = \"{secret}\"\nrights = {{ \"*\" = [\"read\", \"write\", \"list\", \"delete\", \"own\"] }}\n"
    );
    write(path, &text).map_err(|source| KeysError::File {
        verb: "write",
        path: path.to_owned(),
        source,
    })?;
    Ok(pair)
}

/// Writes a new file with mode 0600.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn read(path: &Path) -> Result<KeysFile, KeysError> {
    let text = fs::read_to_string(path).map_err(|source| KeysError::File {
        verb: "read",
        path: path.to_owned(),
        source,
    })?;
    toml::from_str(&text).map_err(|error| KeysError::Content {
        path: path.to_owned(),
        // Only the message: the error's full text quotes the line, and with it the secret.
        detail: error.message().to_owned(),
    })
}

fn stamp(path: &Path) -> Option<Stamp> {
    let meta = fs::metadata(path).ok()?;
    Some((meta.ino(), meta.mtime(), meta.mtime_nsec(), meta.len()))
}

fn warn_if_others_may_read(path: &Path) {
    if fs::metadata(path).is_ok_and(|meta| meta.mode() & 0o077 != 0) {
        tracing::warn!(path = %path.display(), "others can read the keys file: set its mode to 600");
    }
}

/// Returns random characters for access keys and secrets. Randomness must come from `ambient`,
/// which is suitable for secrets.
fn random(alphabet: &[u8], length: usize) -> String {
    (0..length)
        .map(|_| char::from(alphabet[system::random_range(0..alphabet.len())]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_start_makes_a_pair_and_the_second_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys.toml");
        let (keys, made) = Keys::open(&path).unwrap();
        let pair = made.unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!((pair.id.len(), pair.secret.len()), (20, 40));
        assert_eq!(keys.secret(&pair.id), Some(pair.secret.clone()));
        assert_eq!(keys.user(&pair.id), pair.id);
        assert!(
            ALL_RIGHTS
                .into_iter()
                .all(|right| keys.may(Some(&pair.id), "any", right))
        );
        let (again, made) = Keys::open(&path).unwrap();
        assert_eq!((made, again.secret(&pair.id)), (None, Some(pair.secret)));
    }

    #[test]
    fn rights_are_by_bucket_and_nobody_has_any_without() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys.toml");
        let text = r#"
            [keys.A]
            secret = "s"
            user = "archive"
            rights = { "web-*" = ["read", "list"], "web-in" = ["write"] }
            [buckets."open"]
            anonymous = ["read"]
        "#;
        fs::write(&path, text).unwrap();
        let keys = Keys::open(&path).unwrap().0;
        let may = |id, bucket| -> String {
            let has = ALL_RIGHTS.map(|right| keys.may(id, bucket, right));
            ["r", "w", "l", "d", "o"]
                .into_iter()
                .zip(has)
                .filter(|(_, has)| *has)
                .map(|(name, _)| name)
                .collect()
        };
        assert_eq!(may(Some("A"), "web-1"), "rl");
        assert_eq!(may(Some("A"), "web-in"), "rwl");
        assert_eq!(may(Some("A"), "other"), "");
        assert_eq!(may(Some("A"), "open"), "r");
        assert_eq!(may(Some("B"), "web-1"), "");
        assert_eq!(may(None, "web-1"), "");
        assert_eq!(may(None, "open"), "r");
        assert_eq!(keys.user("A"), "archive");
        assert!(keys.may_see("A", "web-7", None) && !keys.may_see("A", "other", Some("archive")));
    }

    #[test]
    fn owning_is_by_user_and_bucket() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys.toml");
        let text = r#"
            [keys.A]
            secret = "s"
            user = "ann"
            email = "ann@example.org"
            rights = { "ann-*" = ["own"] }
            [keys.A2]
            secret = "s"
            user = "ann"
            rights = { "x" = ["read"] }
            [keys.B]
            secret = "s"
            rights = {}
            [keys.C]
            secret = "s"
            user = ""
            rights = { "*" = ["own"] }
            [buckets."*"]
            anonymous = ["own"]
            [buckets."ann-closed"]
            block_public = true
        "#;
        fs::write(&path, text).unwrap();
        let keys = Keys::open(&path).unwrap().0;
        assert!(keys.anybody_owns());
        assert!(keys.owns("ann", "ann-1") && !keys.owns("ann", "x") && !keys.owns("B", "ann-1"));
        assert!(
            !keys.owns("", "ann-1"),
            "a bucket without an owner must have no owner"
        );
        assert!(keys.may(Some("A"), "ann-1", Right::Own) && !keys.may(Some("A2"), "ann-1", Right::Own));
        assert!(!keys.may(None, "ann-1", Right::Own) && !keys.may(Some("B"), "ann-1", Right::Own));
        assert!(keys.may_see("A", "ann-1", Some("ann")) && !keys.may_see("A", "ann-1", Some("B")));
        assert!(keys.blocks_public("ann-closed") && !keys.blocks_public("ann-1"));
        assert_eq!(keys.user_of_email("ann@example.org").as_deref(), Some("ann"));
        assert_eq!(keys.user_of_email("B"), None);
        assert!(keys.is_user("ann") && keys.is_user("B") && !keys.is_user("A"));
    }

    #[test]
    fn a_changed_file_is_taken_and_a_broken_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys.toml");
        let (keys, made) = Keys::open(&path).unwrap();
        let first = made.unwrap().id;
        fs::write(
            &path,
            "[keys.SECOND]\nsecret = \"very secret\"\nrights = { \"b\" = [\"red\"] }\n",
        )
        .unwrap();
        keys.look_now();
        assert!(
            keys.secret(&first).is_some(),
            "a file with an unknown right must not change the keys"
        );
        let error = Keys::open(&path).err().unwrap().to_string();
        assert!(error.contains("red") && !error.contains("very"), "{error}");
        fs::write(
            &path,
            "[keys.SECOND]\nsecret = \"t\"\nrights = { \"b\" = [\"read\"] }\n",
        )
        .unwrap();
        keys.look_now();
        assert_eq!(
            (keys.secret(&first), keys.secret("SECOND")),
            (None, Some("t".to_owned()))
        );
    }

    #[test]
    fn patterns() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("*", "abc", true),
            ("abc", "abc", true),
            ("abc", "abcd", false),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*c", "ac", true),
            ("a*c", "a", false),
            ("ab*bc", "abc", false),
            ("a*b*c", "a-c-b-c", true),
            ("a*b*c", "a-c-c", false),
            ("", "abc", false),
        ] {
            assert_eq!(fits_stars(pattern, name), expected, "{pattern} {name}");
        }
    }
}
