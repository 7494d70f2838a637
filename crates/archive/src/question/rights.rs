//! The access rules, and which of them apply to a URL.

use access::{Access, AccessRule, Groups};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Asks for the access rules.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Rights {
    /// Whether to count what each rule matches.
    #[serde(default)]
    pub counts: bool,
}

/// The access rules.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RightsBody {
    /// Whether the archive has rules. Without rules everything is visible to everybody.
    pub has_rules: bool,
    /// Access to captures that no rule matches.
    pub default: Access,
    /// Whether scores and their order reveal nothing about hidden captures.
    pub strict: bool,
    /// The rules, in no significant order: a capture denied by any rule is hidden, even if another
    /// rule allows it.
    pub rules: Vec<NumberedRule>,
}

/// A rule with its number.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NumberedRule {
    /// Current number of the rule, counted from 1.
    pub number: usize,
    /// Whether the rule is in force. A rule with `until` expires on that date.
    pub in_force: bool,
    /// The rule.
    #[serde(flatten)]
    pub rule: AccessRule,
    /// The captures it matches now, if counts were requested and the rule is in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matches: Option<RuleMatches>,
}

/// The captures in the archive that a rule matches, known from records or from index lines.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RuleMatches {
    /// Ranges of URL keys, at most 10, each from its first key (inclusive) to its second
    /// (exclusive). Empty for a rule that does not select by key.
    pub keys: Vec<(String, String)>,
    /// Hosts of captures, in the order of their keys, at most 10, without a leading `www.`.
    pub hosts: Vec<String>,
    /// Number of hosts.
    pub hosts_total: u64,
    /// Number of URL keys.
    pub urls: u64,
    /// Number of captures.
    pub captures: u64,
    /// Whether everything was counted. Counting ends after 500,000 captures for all rules together;
    /// the numbers are then lower bounds.
    pub counted_all: bool,
}

/// Asks who may see a URL, and by which rules. Each capture of the URL is tested. If the archive
/// has none, a capture with the properties given here is tested.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct RightsTest {
    /// A URL, or its key.
    pub url: String,
    /// Groups of the assumed client.
    pub groups: Groups,
    /// Time of the assumed capture, as digits; now if absent.
    pub at: Option<String>,
    /// Media type of the assumed capture.
    pub mime: String,
    /// Digest of the assumed capture; empty if it does not matter.
    pub digest: String,
    /// Collection of the assumed capture; empty if it has none.
    pub collection: String,
}

/// The result of testing the access rules on a URL.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RightsTestBody {
    /// Key of the URL.
    #[schemars(example = &"com,example)/private/a")]
    pub url_key: String,
    /// Groups of the assumed client; an empty list means the public.
    #[serde(rename = "as")]
    pub groups: Groups,
    /// Whether the archive has captures of the URL. Otherwise the capture below is an assumed one.
    pub captured: bool,
    /// Access if no rule matches.
    pub default: Access,
    /// Captures of the URL, newest first, at most 1,000.
    pub captures: Vec<TestedCapture>,
}

/// A capture, and the rules that apply to it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TestedCapture {
    /// When it was fetched (ISO 8601).
    pub fetch_time: String,
    /// Its media type.
    #[schemars(example = &"text/html")]
    pub mime: String,
    /// Label of its input, if any.
    pub collection: String,
    /// Whether the client may see it.
    pub seen: bool,
    /// Numbers of all rules that match it and apply to the client.
    pub rules: Vec<usize>,
    /// Numbers of the rules that decide. If some allow and others deny, the denying rules decide.
    /// Empty if the default decides.
    pub decided_by: Vec<usize>,
}
