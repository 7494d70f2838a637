//! The shared secret of a cluster's nodes.
//!
//! A secret is at least 32 random bytes, stored as hexadecimal digits in a file that only its owner
//! may read. It is never sent: requests are signed with it.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use hmac::{Hmac, KeyInit as _};
use sha2::Sha256;

use super::durable_file::write_private;

/// Fewest bytes of a secret. RFC 2104 advises against keys shorter than the digest, here 32 bytes.
pub const SECRET_BYTES_MIN: usize = 32;

/// A shared secret. Its text never appears in logs.
#[derive(Clone)]
pub struct Secret(Arc<Keyed>);

struct Keyed {
    bytes: Vec<u8>,
    /// HMAC-SHA256 initialised with the key.
    mac: Hmac<Sha256>,
}

/// Why a secret cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// A file that cannot be read or made.
    #[error("secret file {path}: {error}")]
    File {
        /// The file.
        path: PathBuf,
        /// What failed.
        error: io::Error,
    },
    /// A file that other users may read.
    #[error("secret file {path} can be read by others (mode {mode:03o}): chmod 600 {path}")]
    Readable {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The text is not a secret.
    #[error("secret file {path}: expected at least {SECRET_BYTES_MIN} bytes as hexadecimal digits")]
    Format {
        /// The file.
        path: PathBuf,
    },
}

impl Secret {
    /// Returns a new secret from the operating system's random generator (`ambient::random`).
    pub fn random() -> Self {
        let bytes = system::random::<[u8; SECRET_BYTES_MIN]>();
        // HMAC cannot refuse a key of its block length. The zeros do not change any signature.
        let mut block = [0; 64];
        block[..SECRET_BYTES_MIN].copy_from_slice(&bytes);
        Self(Arc::new(Keyed {
            bytes: bytes.to_vec(),
            mac: Hmac::new(&block.into()),
        }))
    }

    /// Reads the secret in a file. If the file is absent, makes it with a new secret.
    ///
    /// # Errors
    /// [`SecretError`] if the file cannot be read or made, can be read by other users, or holds no
    /// secret.
    pub fn of_file(path: &Path) -> Result<Self, SecretError> {
        match Self::create(path) {
            Ok(secret) => Ok(secret),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Self::read(path),
            Err(error) => Err(failed(path, error)),
        }
    }

    /// Reads the secret in a file that must exist.
    ///
    /// # Errors
    /// [`SecretError`] if the file is absent or cannot be read, can be read by other users, or
    /// holds no secret.
    pub fn read(path: &Path) -> Result<Self, SecretError> {
        let mode = fs::metadata(path)
            .map_err(|error| failed(path, error))?
            .permissions()
            .mode()
            & 0o777;
        if mode & 0o077 != 0 {
            return Err(SecretError::Readable {
                path: path.to_owned(),
                mode,
            });
        }
        let text = fs::read_to_string(path).map_err(|error| failed(path, error))?;
        Self::from_hex(text.trim()).ok_or_else(|| SecretError::Format {
            path: path.to_owned(),
        })
    }

    /// Parses hexadecimal digits. Returns `None` if the text has other characters or too few
    /// digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        let bytes = HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok()?;
        if bytes.len() < SECRET_BYTES_MIN {
            return None;
        }
        let mac = Hmac::new_from_slice(&bytes).ok()?;
        Some(Self(Arc::new(Keyed { bytes, mac })))
    }

    /// Returns the secret as hexadecimal digits, for the beacons.
    pub(super) fn to_hex(&self) -> String {
        HEXLOWER.encode(&self.0.bytes)
    }

    /// Returns HMAC-SHA256 under the secret, to which the caller adds the text.
    pub(super) fn mac(&self) -> Hmac<Sha256> {
        self.0.mac.clone()
    }

    /// Makes a new file with a new secret. When it gets its name it is complete and readable by its
    /// owner only.
    #[expect(
        clippy::disallowed_methods,
        reason = "the operator chooses the path of the secret file, which is on no volume"
    )]
    fn create(path: &Path) -> io::Result<Self> {
        if path.exists() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let secret = Self::random();
        let temporary = path.with_extension(format!("{:016x}.tmp", system::random::<u64>()));
        let written = write_private(&temporary, format!("{}\n", secret.to_hex()).as_bytes())
            // A hard link fails if the name is taken: if two processes start at once, one of them
            // makes the file.
            .and_then(|()| fs::hard_link(&temporary, path));
        fs::remove_file(&temporary).ok();
        written.map(|()| secret)
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.0.bytes == other.0.bytes
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

fn failed(path: &Path, error: io::Error) -> SecretError {
    SecretError::File {
        path: path.to_owned(),
        error,
    }
}

#[cfg(test)]
mod tests {
    use hmac::Mac as _;

    use super::*;

    #[test]
    fn a_new_secret_signs_as_the_one_read_from_its_text() {
        let new = Secret::random();
        let read = Secret::from_hex(&new.to_hex()).unwrap();
        let signed = |secret: &Secret| secret.mac().chain_update(b"text").finalize().into_bytes();
        assert_eq!(signed(&new), signed(&read));
    }
}
