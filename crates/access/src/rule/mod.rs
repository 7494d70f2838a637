//! An access rule in its written form: the clients to which it applies, the captures it matches,
//! and whether it allows or denies.

mod fields;

use serde::{Deserialize, Serialize};
use urlkey::KeyRange;

use crate::groups::{ADMIN, Groups};
use crate::key_ranges::KeyRanges;
use crate::matcher::{Matcher, MimePattern};
use fields::RuleFields;

/// Milliseconds per day.
pub(crate) const DAY_MS: i64 = 86_400_000;

/// Follows a key that is meant exactly.
pub(crate) const EXACT: &str = "###";

/// Name of the group of clients that are in no group named in a rule.
pub(crate) const PUBLIC: &str = "public";

/// The effect of a rule, or the default of an archive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Visible.
    #[default]
    Allow,
    /// Hidden.
    Deny,
}

/// An access rule.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(from = "RuleFields", into = "RuleFields")]
pub struct AccessRule {
    /// Whether it allows or denies.
    pub access: Access,
    /// The groups to which it applies; everybody if the list is empty. `public` means clients in no
    /// group that any rule names.
    pub groups: Vec<String>,
    /// Groups to which it does not apply, even if they are in one of `groups`.
    pub except: Vec<String>,
    /// The captures that it matches.
    pub condition: Condition,
    /// The reason for the rule, for people.
    pub note: String,
}

/// The condition of a rule. It matches captures that meet all given parts; without any, it matches
/// all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Condition {
    /// One complete URL key (`com,example)/a`).
    pub url: Option<String>,
    /// Prefix of the URL key (`com,example)/secret`).
    pub prefix: Option<String>,
    /// Prefixes of URL keys excluded from `prefix`; with `###` appended, exactly that key.
    pub but_not: Vec<String>,
    /// A host name without the hosts below it (`example.com`); at every port, with and without
    /// `www.`.
    pub host: Option<String>,
    /// A host name, and every host below it (`example.com`).
    pub domain: Option<String>,
    /// Label of the input.
    pub collection: Option<String>,
    /// Media type, or all types of a kind (`image/*`).
    pub mime: Option<String>,
    /// Payload digest as in CDX.
    pub digest: Option<String>,
    /// Captured at this date or later; a date or a prefix of one, UTC.
    pub from: Option<String>,
    /// Captured at this date or earlier, including the whole period (`2014` extends to the end of
    /// that year).
    pub to: Option<String>,
    /// Captured at most this many days ago. Days begin at midnight UTC.
    pub younger_than_days: Option<u32>,
    /// The rule is in force only before this date: an embargo that expires.
    pub until: Option<String>,
}

/// Why a rule is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// Not a date.
    #[error(
        "{field} = {text:?} is not a date: expected digits of a year, month, day and time, as in 2014-01-26"
    )]
    Date {
        /// The part of the rule.
        field: &'static str,
        /// The text found.
        text: String,
    },
    /// Not a host name.
    #[error("{field} = {name:?} is not a host name: {why}")]
    Host {
        /// The part of the rule.
        field: &'static str,
        /// The text found.
        name: String,
        /// The reason.
        why: String,
    },
    /// A leading `www.`, which URL keys omit: the rule would also match the host without it.
    #[error(
        "{field} = {text:?} has a leading www, which URL keys omit, so a rule cannot distinguish it from {without}: write \
         {field} = {without:?} for both"
    )]
    Www {
        /// The part of the rule.
        field: &'static str,
        /// The text found.
        text: String,
        /// The same without `www.`.
        without: String,
    },
    /// An empty text.
    #[error("{field} is empty: give it a value or leave it out")]
    Empty {
        /// The part of the rule.
        field: &'static str,
    },
    /// Not a URL key or a prefix of one.
    #[error(
        "{field} = {text:?} is not a URL key: a key has no scheme, and a bracket ends its host, as in com,example)/path"
    )]
    Key {
        /// The part of the rule.
        field: &'static str,
        /// The text found.
        text: String,
    },
    /// Not a valid group name.
    #[error(
        "{name:?} is not a group name: it must not be empty or contain commas or white space, which separate the names \
         in lists"
    )]
    Group {
        /// The text found.
        name: String,
    },
    /// A built-in group in another spelling.
    #[error("{name:?}: the groups public and admin are written in lower case")]
    Spelling {
        /// The text found.
        name: String,
    },
    /// Not a media type.
    #[error(
        "mime = {text:?} is not a media type: expected one such as text/html, image/* or *, without parameters"
    )]
    Mime {
        /// The text found.
        text: String,
    },
    /// `from` is after `to`.
    #[error("from is later than to, so the rule would match nothing")]
    Backwards,
    /// `but_not` without a prefix.
    #[error("`but_not` requires `prefix`")]
    ButNotAlone,
}

impl AccessRule {
    /// Returns the compiled condition at a time; `None` if the rule has expired.
    ///
    /// # Errors
    /// [`RuleError`].
    pub fn clause(&self, now_ms: i64) -> Result<Option<Matcher>, RuleError> {
        let is_bad =
            |name: &&String| name.is_empty() || name.contains(|c: char| c == ',' || c.is_whitespace());
        // No client could ever be in such a group, so a denying rule would hide nothing.
        if let Some(name) = self.groups.iter().chain(&self.except).find(is_bad) {
            return Err(RuleError::Group { name: name.clone() });
        }
        let is_own = |name: &&String| {
            [PUBLIC, ADMIN]
                .iter()
                .any(|own| name.eq_ignore_ascii_case(own) && name.as_str() != *own)
        };
        if let Some(name) = self.groups.iter().chain(&self.except).find(is_own) {
            return Err(RuleError::Spelling { name: name.clone() });
        }
        self.condition.matcher(now_ms)
    }

    /// Returns whether the rule applies to a client in `groups`, who belongs to the public if
    /// `is_public`.
    pub(crate) fn is_for(&self, groups: &Groups, is_public: bool) -> bool {
        let is_any =
            |names: &[String]| groups.has_any(names) || is_public && names.iter().any(|name| name == PUBLIC);
        (self.groups.is_empty() || is_any(&self.groups)) && !is_any(&self.except)
    }
}

impl Condition {
    /// Returns the compiled condition at a time; `None` if the rule has expired.
    ///
    /// # Errors
    /// [`RuleError`].
    pub fn matcher(&self, now_ms: i64) -> Result<Option<Matcher>, RuleError> {
        let until = self.until.as_deref().map(|text| bound("until", text));
        let clause = Matcher {
            collection: self.collection.as_deref().map(|label| label.trim().to_owned()),
            mime: self.mime.as_deref().map(mime).transpose()?,
            digests: self
                .digest
                .as_deref()
                .map(digest)
                .transpose()?
                // Base32 is in capitals in declared digests and CDX, but not everywhere.
                .map(|one| [one.to_ascii_uppercase(), one].into()),
            fetch_time_ms: self.times(now_ms)?,
            keys: self.keys()?,
        };
        match until.transpose()? {
            Some((from_ms, _)) if now_ms >= from_ms => Ok(None),
            _ => Ok(Some(clause)),
        }
    }

    /// Returns when the compiled condition next differs from that of `now_ms`, if ever.
    pub(crate) fn changes_at_ms(&self, now_ms: i64) -> Option<i64> {
        let until = self.until.as_deref().and_then(|text| bound("until", text).ok());
        let ends = until.map(|(from_ms, _)| from_ms).filter(|&ends| ends > now_ms);
        let midnight = (now_ms.div_euclid(DAY_MS) + 1) * DAY_MS;
        ends.into_iter()
            .chain(self.younger_than_days.map(|_| midnight))
            .min()
    }

    /// Returns the first and the last time of capture.
    fn times(&self, now_ms: i64) -> Result<(i64, i64), RuleError> {
        let mut first = i64::MIN;
        let mut last = i64::MAX;
        if let Some(from) = &self.from {
            first = bound("from", from)?.0;
        }
        if let Some(to) = &self.to {
            last = bound("to", to)?.1;
        }
        if first > last {
            return Err(RuleError::Backwards);
        }
        if let Some(days) = self.younger_than_days {
            // Whole days, so that visibility changes once a day and can be cached until then.
            let today_ms = now_ms.div_euclid(DAY_MS) * DAY_MS;
            first = first.max(today_ms - i64::from(days) * DAY_MS);
        }
        Ok((first, last))
    }

    fn keys(&self) -> Result<Option<KeyRanges>, RuleError> {
        let mut sets = Vec::new();
        if let Some(url) = &self.url {
            sets.push(KeyRanges::any_of(vec![alone(url_key("url", url)?)]));
        }
        if let Some(prefix) = &self.prefix {
            let left_out = self.but_not.iter().map(|one| range_of("but_not", one));
            let left_out = KeyRanges::any_of(left_out.collect::<Result<_, _>>()?);
            let keys = KeyRanges::any_of(vec![range_of("prefix", prefix)?]);
            sets.push(keys.without(&left_out));
        } else if !self.but_not.is_empty() {
            return Err(RuleError::ButNotAlone);
        }
        if let Some(host) = &self.host {
            sets.push(KeyRanges::any_of(host_keys("host", host, urlkey::host_ranges)?));
        }
        if let Some(domain) = &self.domain {
            sets.push(KeyRanges::any_of(host_keys(
                "domain",
                domain,
                urlkey::domain_ranges,
            )?));
        }
        Ok(sets.into_iter().reduce(both))
    }
}

/// Returns the keys in both sets.
fn both(some: KeyRanges, others: KeyRanges) -> KeyRanges {
    let outside = some.clone().without(&others);
    some.without(&outside)
}

/// Returns the range of a prefix of URL keys. A host may be cut (`com,exam`), but other text is not
/// a prefix of a key.
fn range_of(field: &'static str, prefix: &str) -> Result<KeyRange, RuleError> {
    Ok(match prefix.strip_suffix(EXACT) {
        Some(exact) => alone(url_key(field, exact)?),
        None => urlkey::prefix_range(url_key(field, prefix)?),
    })
}

/// Returns the range of one key.
fn alone(url_key: &str) -> KeyRange {
    KeyRange {
        start: url_key.to_owned(),
        // The next string after it.
        end: format!("{url_key}\0"),
    }
}

fn url_key<'t>(field: &'static str, text: &'t str) -> Result<&'t str, RuleError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(RuleError::Empty { field });
    }
    let host = text.split(')').next().unwrap_or_default();
    // A host in its usual form is not a prefix of any key, so the rule would silently do nothing.
    let name = host.split(':').next().unwrap_or_default();
    let is_name = name.contains('.') && name.contains(|c: char| c.is_ascii_alphabetic());
    let is_upper = !host.contains(':') && host.contains(|c: char| c.is_ascii_uppercase());
    if text.contains("://") && !host.contains(',') || host.contains('/') || is_name || is_upper {
        return Err(RuleError::Key {
            field,
            text: text.to_owned(),
        });
    }
    if let Some(without) = without_www(text) {
        return Err(RuleError::Www {
            field,
            text: text.to_owned(),
            without,
        });
    }
    Ok(text)
}

fn mime(text: &str) -> Result<MimePattern, RuleError> {
    let pattern = MimePattern::new(text).ok_or(RuleError::Empty { field: "mime" })?;
    let text = text.trim();
    let begins = text.strip_suffix('*').unwrap_or(text);
    let is_one = begins.len() < text.len() || text.contains('/');
    if !is_one || begins.contains(['*', ';', ',', ' ']) {
        return Err(RuleError::Mime {
            text: text.to_owned(),
        });
    }
    Ok(pattern)
}

/// Returns the keys that `ranges` gives for a host name.
fn host_keys(
    field: &'static str,
    text: &str,
    ranges: fn(&str) -> Result<Vec<KeyRange>, urlkey::KeyError>,
) -> Result<Vec<KeyRange>, RuleError> {
    let failed = |why: &str| RuleError::Host {
        field,
        name: text.to_owned(),
        why: why.to_owned(),
    };
    let name = text.trim();
    let name = name.split_once("://").map_or(name, |(_, address)| address);
    let name = name.strip_suffix('/').unwrap_or(name);
    if name.contains('*') {
        return Err(failed("domain = matches subdomains too: write it without a star"));
    }
    if name.contains(['/', '?', '#', '@', '%']) {
        return Err(failed(
            "it has more than a host; to match a path, use prefix = (as in com,example)/path)",
        ));
    }
    let behind_address = name.rsplit_once(']').map_or(name, |(_, rest)| rest);
    if behind_address.contains(':') {
        return Err(failed(
            "it has a port, but a rule for a host matches all ports; to match one port, use prefix = (as in \
             com,example:8080)/)",
        ));
    }
    if !name.starts_with('[') {
        let whole = urlkey::whole_host(name).map_err(|error| failed(&error.to_string()))?;
        if whole
            .contains(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric() && !matches!(c, '-' | '.' | '_'))
        {
            return Err(failed(
                "expected exactly one host, of letters, digits, dots and hyphens",
            ));
        }
        let without = urlkey::host_without_www(&whole);
        if without != whole {
            return Err(RuleError::Www {
                field,
                text: text.to_owned(),
                without: without.to_owned(),
            });
        }
    }
    ranges(name).map_err(|error| failed(&error.to_string()))
}

/// Returns the key without a leading `www` of the host, which keys omit; `None` if there is no such
/// label, or the host may continue.
fn without_www(text: &str) -> Option<String> {
    let end = text.find([')', ':'])?;
    let (host, rest) = text.split_at(end);
    let (before, first) = host.rsplit_once(',')?;
    let is_www = first.strip_prefix("www")?.bytes().all(|b| b.is_ascii_digit());
    (is_www && before.contains(',')).then(|| format!("{before}{rest}"))
}

fn digest(text: &str) -> Result<String, RuleError> {
    let text = text.trim();
    // Digests of captures do not contain the name of the algorithm (docs/views.md).
    let text = text.strip_prefix("sha1:").unwrap_or(text);
    if text.is_empty() {
        Err(RuleError::Empty { field: "digest" })
    } else {
        Ok(text.to_owned())
    }
}

/// Returns the first millisecond of a date; `None` if the text is not a date.
pub(crate) fn first_ms_of(text: &str) -> Option<i64> {
    bound("until", text).ok().map(|(first_ms, _)| first_ms)
}

/// Returns first and last millisecond of a year, a month, a day, an hour, a minute or a second.
fn bound(field: &'static str, text: &str) -> Result<(i64, i64), RuleError> {
    let no_date = || RuleError::Date {
        field,
        text: text.to_owned(),
    };
    let digits = format::date::digits_of_text(text.trim()).ok_or_else(no_date)?;
    let first = format::date::ms_of_digits(&digits);
    let number = |range: std::ops::Range<usize>| digits[range].parse::<i64>().unwrap_or_default();
    let next = match digits.len() {
        4 => format::date::days_of(number(0..4) + 1, 1, 1) * DAY_MS,
        6 => match number(4..6) {
            12 => format::date::days_of(number(0..4) + 1, 1, 1) * DAY_MS,
            month => format::date::days_of(number(0..4), month + 1, 1) * DAY_MS,
        },
        8 => first + DAY_MS,
        10 => first + 3_600_000,
        12 => first + 60_000,
        14 => first + 1000,
        _ => return Err(no_date()),
    };
    Ok((first, next - 1))
}
