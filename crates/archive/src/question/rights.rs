//! The rules of who may see what, and what they say of one URL.

use rights::{Access, Groups, Rule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Asks for the rules of who may see what.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Rights {
    /// Whether to count what each rule matches.
    #[serde(default)]
    pub counts: bool,
}

/// The rules of who may see what.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RightsBody {
    /// Whether the archive has rules; without them everybody sees everything.
    pub has_rules: bool,
    /// What holds for captures that no rule matches.
    pub default: Access,
    /// Whether scores and their order tell nothing of what is hidden.
    pub strict: bool,
    /// The rules. Their order means nothing: what one denies is hidden, whatever another allows.
    pub rules: Vec<NumberedRule>,
}

/// A rule with its number.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NumberedRule {
    /// Its number now, from 1.
    pub number: usize,
    /// Whether it is in force; a rule with `until` is not any more from that date on.
    pub in_force: bool,
    /// The rule.
    #[serde(flatten)]
    pub rule: Rule,
    /// What it matches now, where that was asked for and the rule is in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matches: Option<RuleMatches>,
}

/// What a rule matches of the captures that the archive has now, whether records or lines of an index tell of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RuleMatches {
    /// Ranges of URL keys, at most 10: each from its first key up to, and without, its second. Empty for a rule that does not go by keys.
    pub keys: Vec<(String, String)>,
    /// Hosts of captures, in the order of their keys, at most 10. `www.` in front is not told.
    pub hosts: Vec<String>,
    /// Number of hosts.
    pub hosts_total: u64,
    /// Number of URL keys.
    pub urls: u64,
    /// Number of captures.
    pub captures: u64,
    /// Whether all was counted. Counting ends when 500,000 captures were looked at for all rules together; the numbers are at least
    /// these then.
    pub counted_all: bool,
}

/// Asks who sees a URL, and which rules say so. Each capture of it is tested; where the archive has none, one as it is described here.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct RightsTest {
    /// A URL, or its key.
    pub url: String,
    /// Groups of who would ask.
    pub groups: Groups,
    /// Time of a capture that is not there yet, as digits; now where absent.
    pub at: Option<String>,
    /// Its media type.
    pub mime: String,
    /// Its digest; empty if that does not matter.
    pub digest: String,
    /// Its collection; empty if it has none.
    pub collection: String,
}

/// What the rules say of a URL.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RightsTestBody {
    /// Its key.
    #[schemars(example = &"com,example)/private/a")]
    pub url_key: String,
    /// Groups of who would ask; none are the public.
    #[serde(rename = "as")]
    pub groups: Groups,
    /// Whether the archive has captures of it; the one below is made up otherwise.
    pub captured: bool,
    /// What holds where no rule matches.
    pub default: Access,
    /// Its captures, newest first, at most 1,000.
    pub captures: Vec<TestedCapture>,
}

/// A capture, and what the rules say of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TestedCapture {
    /// When it was fetched (ISO 8601).
    pub fetch_time: String,
    /// Its media type.
    #[schemars(example = &"text/html")]
    pub mime: String,
    /// Label of its input; empty if there is none.
    pub collection: String,
    /// Whether it is seen.
    pub seen: bool,
    /// Numbers of all rules that match it and are for who asks.
    pub rules: Vec<usize>,
    /// Those of them that decide: where some allow and others deny, these deny. Empty where the default decides.
    pub decided_by: Vec<usize>,
}
