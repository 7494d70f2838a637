//! Formats rules in one line.

use ::access::{Access, AccessRule};
use archive::question::NumberedRule;

/// Formats a rule as `deny prefix com,example)/ for readers except staff (why)`.
pub(super) fn rule_text(rule: &AccessRule) -> String {
    let mut words = vec![match rule.access {
        Access::Allow => "allow".to_owned(),
        Access::Deny => "deny".to_owned(),
    }];
    let condition = &rule.condition;
    let mut add = |name: &str, value: &Option<String>| {
        words.extend(value.as_ref().map(|value| format!("{name} {value}")));
    };
    add("url", &condition.url);
    add("prefix", &condition.prefix);
    add("host", &condition.host);
    add("domain", &condition.domain);
    add("collection", &condition.collection);
    add("type", &condition.mime);
    add("digest", &condition.digest);
    add("from", &condition.from);
    add("to", &condition.to);
    add("until", &condition.until);
    if let Some(days) = condition.younger_than_days {
        words.push(format!("younger than {days} days"));
    }
    if !condition.but_not.is_empty() {
        words.push(format!("but not {}", condition.but_not.join(", ")));
    }
    if words.len() == 1 {
        words.push("everything".to_owned());
    }
    if rule.groups.is_empty() {
        words.push("for everybody".to_owned())
    } else {
        words.push(format!("for {}", rule.groups.join(", ")))
    }
    if !rule.except.is_empty() {
        words.push(format!("except {}", rule.except.join(", ")));
    }
    if !rule.note.is_empty() {
        words.push(format!("({})", rule.note));
    }
    words.join(" ")
}

/// Formats what a rule matches as `matches 12 captures of 3 URLs on example.com, a.example.com`.
pub(super) fn matches_text(numbered: &NumberedRule) -> Option<String> {
    if !numbered.in_force {
        return Some("no longer in force".to_owned());
    }
    let found = numbered.matches.as_ref()?;
    let least = if found.counted_all { "" } else { "at least " };
    let mut text = format!(
        "matches {least}{} of {}",
        format::number::counted(found.captures, "capture", "captures"),
        format::number::counted(found.urls, "URL", "URLs")
    );
    if !found.hosts.is_empty() {
        text += &format!(" on {}", found.hosts.join(", "));
    }
    let more = found.hosts_total.saturating_sub(found.hosts.len() as u64);
    if more > 0 {
        text += &format!(
            " and {}",
            format::number::counted(more, "more host", "more hosts")
        );
    }
    if !found.keys.is_empty() {
        let ranges: Vec<String> = found.keys.iter().map(|(first, end)| range(first, end)).collect();
        text += &format!(" (keys {})", ranges.join(", "));
    }
    Some(text)
}

/// Formats a key range: `com,example)/a` for a single key, a prefix with a star, else both ends.
fn range(first: &str, end: &str) -> String {
    if end.strip_suffix('\0') == Some(first) {
        return first.to_owned();
    }
    if urlkey::prefix_range(first).end == end {
        format!("{first}*")
    } else {
        format!("{first} to before {}", end.trim_end_matches('\0'))
    }
}
