//! Rules in one line, for people.

use ::rights::{Access, Rule};

/// `deny prefix com,example)/ for readers except staff (why)`.
pub(super) fn rule(rule: &Rule) -> String {
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
    match rule.groups.is_empty() {
        true => words.push("for everybody".to_owned()),
        false => words.push(format!("for {}", rule.groups.join(", "))),
    }
    if !rule.except.is_empty() {
        words.push(format!("except {}", rule.except.join(", ")));
    }
    if !rule.note.is_empty() {
        words.push(format!("({})", rule.note));
    }
    words.join(" ")
}
