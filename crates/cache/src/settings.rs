//! Settings of a tier: space and rules.
//!
//! They are read from a TOML file (`cache.toml` in an archive), so that server and commands agree.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::size::Size;

/// Name of the settings file in an archive.
pub const SETTINGS_FILE: &str = "cache.toml";

/// The space of a tier, and its rules.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Bytes of blocks in memory, including those queued for writing to a directory.
    pub memory_size_bytes: Size,
    /// Bytes of memory reserved for metadata (footers of Parquet files, logs of Delta tables),
    /// which scans of data cannot use.
    pub metadata_size_bytes: Size,
    /// Seconds for which a store's answer about an object is trusted. After that the store is asked
    /// again before cached bytes are returned, except for immutable objects.
    pub revalidate_seconds: u64,
    /// Whether to cache only objects matched by a rule.
    pub only_listed: bool,
    /// Directories on disks, fastest first: blocks evicted from one move to the next.
    #[serde(rename = "directory")]
    pub directories: Vec<Directory>,
    /// Rules by address prefix; the longest matching prefix wins.
    #[serde(rename = "rule")]
    pub rules: Vec<Rule>,
}

/// A directory of the disk tier.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Directory {
    /// Path of the directory. A relative path is relative to the settings file.
    pub path: PathBuf,
    /// Maximum bytes on its disk.
    #[serde(default = "quota_default")]
    pub quota_bytes: Size,
    /// Bytes to leave free on the disk, regardless of the quota.
    #[serde(default = "floor_default")]
    pub free_space_min_bytes: Size,
}

/// A rule for a prefix of addresses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rule {
    /// Prefix of addresses, such as `s3://bucket/warehouse/links/`.
    pub prefix: String,
    /// `false` disables caching.
    pub cache: Option<bool>,
    /// Whether to keep objects until they are unpinned, as long as they fit.
    pub pin: bool,
    /// Maximum total bytes of these objects in each directory.
    pub quota_bytes: Option<Size>,
    /// Seconds after which a block is fetched again.
    pub ttl_seconds: Option<u64>,
    /// Whether objects are never replaced, so that the store is not asked again.
    pub immutable: bool,
}

fn quota_default() -> Size {
    Size(10 << 30)
}

fn floor_default() -> Size {
    Size(1 << 30)
}

impl Default for Settings {
    /// Little memory, and no disk.
    fn default() -> Settings {
        Settings {
            memory_size_bytes: Size(64 << 20),
            metadata_size_bytes: Size(8 << 20),
            revalidate_seconds: 10,
            only_listed: false,
            directories: Vec::new(),
            rules: Vec::new(),
        }
    }
}

impl Directory {
    /// Returns a directory with the default quota and minimum free space.
    pub fn at(path: PathBuf) -> Directory {
        Directory {
            path,
            quota_bytes: quota_default(),
            free_space_min_bytes: floor_default(),
        }
    }
}

/// Why settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file cannot be read.
    #[error("cannot read the cache settings {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The file is not valid.
    #[error("invalid cache settings {}: {error}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: ValueError,
    },
}

/// Why a value of a settings file is refused.
#[derive(Debug, thiserror::Error)]
pub enum ValueError {
    /// The text is not TOML, or has an unknown key or a value of another type.
    #[error(transparent)]
    Toml(#[from] toml::de::Error),
    /// The bytes for metadata, and the bytes of memory that they are part of.
    #[error("metadata_size_bytes ({0}) is part of memory_size_bytes ({1}) and must not exceed it")]
    Metadata(u64, u64),
    /// A rule without a prefix.
    #[error("a rule requires a prefix, such as \"s3://bucket/warehouse/\"")]
    NoPrefix,
    /// Two rules have this prefix.
    #[error("two rules for {0:?}: merge them into one")]
    SamePrefix(String),
    /// The rule of this prefix wants and does not want a cache.
    #[error("the rule for {0:?} has `cache = false`, so it must not have a pin or a quota")]
    Contradiction(String),
    /// Two directories have this path.
    #[error("the directory {} is listed twice", .0.display())]
    SameDirectory(PathBuf),
}

impl Settings {
    /// Reads a settings file; returns the defaults if it does not exist.
    ///
    /// # Errors
    /// [`SettingsError`], with the line of the error.
    pub fn read(path: &Path) -> Result<Settings, SettingsError> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Settings::default()),
            Err(source) => {
                let path = path.to_owned();
                return Err(SettingsError::Read { path, source });
            }
        };
        let wrong = |error| SettingsError::Wrong {
            path: path.to_owned(),
            error,
        };
        let mut settings: Settings = toml::from_str(&text).map_err(|error| wrong(error.into()))?;
        let beside = path.parent().unwrap_or(Path::new(""));
        for directory in &mut settings.directories {
            directory.path = beside.join(&directory.path);
        }
        settings.check().map_err(wrong)?;
        Ok(settings)
    }

    /// Rejects contradictory settings.
    fn check(&self) -> Result<(), ValueError> {
        let (metadata, memory) = (self.metadata_size_bytes.0, self.memory_size_bytes.0);
        if metadata > memory {
            return Err(ValueError::Metadata(metadata, memory));
        }
        for rule in &self.rules {
            if rule.prefix.is_empty() {
                return Err(ValueError::NoPrefix);
            }
            let same = self.rules.iter().filter(|other| other.prefix == rule.prefix);
            if same.count() > 1 {
                return Err(ValueError::SamePrefix(rule.prefix.clone()));
            }
            if rule.cache == Some(false) && (rule.pin || rule.quota_bytes.is_some()) {
                return Err(ValueError::Contradiction(rule.prefix.clone()));
            }
        }
        for (index, directory) in self.directories.iter().enumerate() {
            if self.directories[..index]
                .iter()
                .any(|other| other.path == directory.path)
            {
                return Err(ValueError::SameDirectory(directory.path.clone()));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Settings, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(SETTINGS_FILE);
        std::fs::write(&path, text).unwrap();
        let read = Settings::read(&path).map_err(|error| error.to_string());
        read.map(|mut settings| {
            for directory in &mut settings.directories {
                directory.path = directory.path.strip_prefix(dir.path()).unwrap().to_owned();
            }
            settings
        })
    }

    #[test]
    fn settings_are_read() {
        let settings = read(
            r#"
            memory_size_bytes = "1 GiB"
            metadata_size_bytes = 1000
            only_listed = true
            [[directory]]
            path = "ssd"
            quota_bytes = "2 GiB"
            [[rule]]
            prefix = "s3://b/t/"
            pin = true
            ttl_seconds = 60
            "#,
        )
        .unwrap();
        assert_eq!(
            (settings.memory_size_bytes, settings.metadata_size_bytes),
            (Size(1 << 30), Size(1000))
        );
        assert_eq!((settings.revalidate_seconds, settings.only_listed), (10, true));
        let directory = &settings.directories[0];
        assert_eq!(
            (directory.path.to_str(), directory.quota_bytes),
            (Some("ssd"), Size(2 << 30))
        );
        assert!(settings.rules[0].pin && settings.rules[0].ttl_seconds == Some(60));
        let missing = Settings::read(Path::new("/nothing/is/here.toml")).unwrap();
        assert_eq!(missing, Settings::default());
    }

    #[test]
    fn what_cannot_be_meant_is_said() {
        let check = |text: &str, said: &str| {
            let error = read(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        };
        check("memory = 3", "unknown field `memory`");
        check("memory_size_bytes = \"much\"", "memory_size_bytes");
        check("memory_size_bytes = 1\nmetadata_size_bytes = 2", "not exceed it");
        check("[[rule]]\npin = true", "requires a prefix");
        check(
            "[[rule]]\nprefix = \"s3://a/\"\n[[rule]]\nprefix = \"s3://a/\"",
            "two rules",
        );
        check(
            "[[rule]]\nprefix = \"s3://a/\"\ncache = false\npin = true",
            "has `cache = false`",
        );
        check(
            "[[directory]]\npath = \"a\"\n[[directory]]\npath = \"a\"",
            "is listed twice",
        );
    }
}
