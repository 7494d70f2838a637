//! The rules of all takedowns in force, indexed for look-ups: which captures are kept out.

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use super::{KeptSelector, Selector, Takedown};
use crate::revisits::ReferenceHashes;

/// The rules of takedowns, without their selectors as plain text.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(from = "WireRules", into = "WireRules")]
pub struct TakedownRules {
    written: WireRules,
    urls: FxHashMap<String, u32>,
    /// By length in bytes.
    prefixes: FxHashMap<u32, FxHashMap<String, u32>>,
    collections: FxHashMap<String, u32>,
    /// The takedown with the latest time.
    before: Option<(i64, u32)>,
    returning: FxHashSet<(String, u64)>,
}

/// The rules as sent to another process.
#[derive(Clone, Default, Serialize, Deserialize)]
struct WireRules {
    /// Key of the hashes.
    key: [u8; 32],
    rules: Vec<(u32, KeptSelector)>,
    /// Captures of undone takedowns that have not been read again since: name of the input, and
    /// offset.
    returning: Vec<(String, u64)>,
    /// References of revisits, for a recount.
    #[serde(default)]
    referred: Option<ReferenceHashes>,
}

impl std::fmt::Debug for TakedownRules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The key is not printed: it keeps the hashes from being guessed.
        write!(f, "TakedownRules({} in force)", self.written.rules.len())
    }
}

impl From<TakedownRules> for WireRules {
    fn from(rules: TakedownRules) -> WireRules {
        rules.written
    }
}

impl From<WireRules> for TakedownRules {
    fn from(written: WireRules) -> TakedownRules {
        let mut rules = TakedownRules {
            returning: written.returning.iter().cloned().collect(),
            ..TakedownRules::default()
        };
        for (id, rule) in &written.rules {
            let id = *id;
            match rule {
                KeptSelector::Url { hash } => {
                    rules.urls.insert(hash.clone(), id);
                }
                KeptSelector::Prefix { bytes, hash } => {
                    let of_length = rules.prefixes.entry(*bytes).or_default();
                    of_length.insert(hash.clone(), id);
                }
                KeptSelector::Collection { hash } => {
                    rules.collections.insert(hash.clone(), id);
                }
                KeptSelector::Before { before_ms } => {
                    let reaches_further = rules.before.is_none_or(|(known_ms, _)| known_ms < *before_ms);
                    if reaches_further {
                        rules.before = Some((*before_ms, id));
                    }
                }
                // The ledger keeps these inputs out.
                KeptSelector::Inputs { .. } => {}
            }
        }
        rules.written = written;
        rules
    }
}

impl TakedownRules {
    /// Builds the rules of the takedowns that are in force.
    pub(super) fn new<'a>(key: [u8; 32], takedowns: impl Iterator<Item = &'a Takedown>) -> TakedownRules {
        let in_force = takedowns.filter(|takedown| takedown.undone.is_none());
        TakedownRules::from(WireRules {
            key,
            rules: in_force
                .map(|takedown| (takedown.id, takedown.rule.clone()))
                .collect(),
            returning: Vec::new(),
            referred: None,
        })
    }

    /// Adds captures that are kept out until they are read again.
    pub(crate) fn with_returning(mut self, returning: Vec<(String, u64)>) -> TakedownRules {
        self.returning = returning.iter().cloned().collect();
        self.written.returning = returning;
        self
    }

    /// Adds the references of the revisits of the same archive.
    pub(crate) fn with_referred(mut self, referred: ReferenceHashes) -> TakedownRules {
        self.written.referred = Some(referred);
        self
    }

    /// The references of the revisits of the archive, if known.
    pub fn referred(&self) -> Option<&ReferenceHashes> {
        self.written.referred.as_ref()
    }

    /// Returns whether the rules keep nothing out.
    pub fn is_empty(&self) -> bool {
        self.written.rules.is_empty() && self.returning.is_empty()
    }

    /// Returns the takedown that keeps a capture out, whichever input it is in.
    pub fn takes_down(&self, url_key: &[u8], fetch_time_ms: i64, collection: &str) -> Option<u32> {
        if let Some((before_ms, id)) = self.before
            && fetch_time_ms < before_ms
        {
            return Some(id);
        }
        if !self.collections.is_empty()
            && let Some(id) = self
                .collections
                .get(&self.hash(COLLECTION, collection.as_bytes()))
        {
            return Some(*id);
        }
        if !self.urls.is_empty()
            && let Some(id) = self.urls.get(&self.hash(URL, url_key))
        {
            return Some(*id);
        }
        self.prefixes.iter().find_map(|(bytes, hashes)| {
            let prefix = url_key.get(..*bytes as usize)?;
            hashes.get(&self.hash(PREFIX, prefix)).copied()
        })
    }

    /// Returns whether a capture is kept out only because it has not been read again since its
    /// takedown was undone.
    pub fn is_returning(&self, input: &str, offset: u64) -> bool {
        !self.returning.is_empty() && self.returning.contains(&(input.to_owned(), offset))
    }

    /// Returns a selector as stored in the register.
    pub(super) fn rule(&self, selector: &Selector, digest: impl Fn(u32) -> String) -> KeptSelector {
        match selector {
            Selector::Url(url_key) => KeptSelector::Url {
                hash: self.hash(URL, url_key.as_bytes()),
            },
            Selector::Prefix(prefix) => KeptSelector::Prefix {
                bytes: prefix.len() as u32,
                hash: self.hash(PREFIX, prefix.as_bytes()),
            },
            Selector::Inputs(ids) => KeptSelector::Inputs {
                ids: ids.iter().map(|id| id.0).collect(),
                hashes: ids
                    .iter()
                    .map(|id| self.hash(INPUT, digest(id.0).as_bytes()))
                    .collect(),
            },
            Selector::Collection(label) => KeptSelector::Collection {
                hash: self.hash(COLLECTION, label.as_bytes()),
            },
            Selector::Before(before_ms) => KeptSelector::Before {
                before_ms: *before_ms,
            },
        }
    }

    /// Hashes a text after its kind, so that equal texts of different kinds have different hashes.
    fn hash(&self, what: u8, text: &[u8]) -> String {
        let mut hasher = blake3::Hasher::new_keyed(&self.written.key);
        hasher.update(&[what]).update(text);
        hasher.finalize().to_hex().to_string()
    }
}

const URL: u8 = b'u';
const PREFIX: u8 = b'p';
const INPUT: u8 = b'i';
const COLLECTION: u8 = b'c';
