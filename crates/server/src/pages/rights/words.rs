//! A rule as text.

use access::{Access, AccessRule, Condition};
use archive::question::{NumberedRule, RuleMatches};
use maud::{Markup, html};

use super::super::parts;
use crate::present;
use format::date::DateTime;

/// Suffix of a URL key in `but_not` that matches only this key.
const EXACT: &str = "###";

pub(super) fn effect(rule: &AccessRule) -> Markup {
    html! {
        @match rule.access {
            Access::Allow => span.badge.good { "shows" },
            Access::Deny => span.badge.bad { "hides" },
        }
    }
}

/// Shows the conditions of a rule, all of which must match.
pub(super) fn what(condition: &Condition) -> Markup {
    let mut all: Vec<Markup> = Vec::new();
    if let Some(url) = &condition.url {
        all.push(html! { "the URL " (address(url)) });
    }
    if let Some(prefix) = &condition.prefix {
        all.push(beginning(prefix, &condition.but_not));
    }
    if let Some(host) = &condition.host {
        all.push(html! { "the host " (parts::url_text(host)) " without its subdomains" });
    }
    if let Some(domain) = &condition.domain {
        all.push(html! { "the host " (parts::url_text(domain)) " and its subdomains" });
    }
    if let Some(collection) = &condition.collection {
        all.push(html! { "the collection " strong { (parts::text(collection)) } });
    }
    if let Some(mime) = &condition.mime {
        all.push(html! { "content of type " code { (present::clean(mime)) } });
    }
    if let Some(digest) = &condition.digest {
        all.push(html! { "content with the digest " code { (present::clean(digest)) } });
    }
    all.extend(captured(condition));
    html! {
        @match all.as_slice() {
            [] => "everything",
            [one] => (one),
            all => {
                ul.conditions { @for (i, one) in all.iter().enumerate() { li { @if i > 0 { "and " } (one) } } }
            }
        }
    }
}

fn beginning(prefix: &str, but_not: &[String]) -> Markup {
    html! {
        @match hosts_below(prefix) {
            Some(name) => { "all subdomains of " span title=(present::clean(prefix)) { (parts::url_text(&name)) } },
            None => { "URLs that begin with " (address(prefix)) },
        }
        @for (i, one) in but_not.iter().enumerate() {
            @if i == 0 { ", but not " } @else { ", nor " }
            @match one.strip_suffix(EXACT) {
                Some(exact) => { (address(exact)) " itself" },
                None => (address(one)),
            }
        }
    }
}

/// Returns the host whose subdomains a prefix matches: `org,example,` is the prefix of all hosts
/// below `example.org`.
fn hosts_below(prefix: &str) -> Option<String> {
    let labels = prefix.strip_suffix(',')?;
    let is_host = !labels.is_empty() && !labels.contains([')', ':', '/']);
    is_host.then(|| labels.rsplit(',').collect::<Vec<_>>().join("."))
}

/// Shows the capture times that a rule matches.
fn captured(condition: &Condition) -> Vec<Markup> {
    let mut all = Vec::new();
    match (&condition.from, &condition.to) {
        (Some(from), Some(to)) if from == to => all.push(html! { "captured in " (date(from)) }),
        (Some(from), Some(to)) => all.push(html! { "captured from " (date(from)) " to " (date(to)) }),
        (Some(from), None) => all.push(html! { "captured from " (date(from)) " on" }),
        (None, Some(to)) => all.push(html! { "captured up to " (date(to)) }),
        (None, None) => {}
    }
    if let Some(days) = condition.younger_than_days {
        let days = present::counted(days.into(), "day", "days");
        all.push(html! { "captured in the last " (days) });
    }
    all
}

/// Shows the captures in the archive that a rule matches.
pub(super) fn matches(found: Option<&RuleMatches>) -> Markup {
    let Some(found) = found else {
        return html! { span.soft { "\u{2013}" } };
    };
    let more = found.hosts_total.saturating_sub(found.hosts.len() as u64);
    html! {
        @if !found.counted_all { "at least " }
        (present::counted(found.captures, "capture", "captures")) " of " (present::counted(found.urls, "URL", "URLs"))
        @if !found.hosts.is_empty() {
            span.soft {
                " on "
                @for (i, host) in found.hosts.iter().enumerate() { @if i > 0 { ", " } (parts::url_text(host)) }
                @if more > 0 { " and " (present::counted(more, "more host", "more hosts")) }
            }
        }
    }
}

pub(super) fn whom(rule: &AccessRule) -> Markup {
    html! {
        @if rule.groups.is_empty() { "everybody" } @else { (groups(&rule.groups)) }
        @if !rule.except.is_empty() { " except " (groups(&rule.except)) }
    }
}

fn groups(names: &[String]) -> Markup {
    html! { @for (i, name) in names.iter().enumerate() { @if i > 0 { ", " } (group(name)) } }
}

pub(super) fn group(name: &str) -> Markup {
    html! { @match name { "public" => "the public", name => strong { (parts::text(name)) } } }
}

pub(super) fn when(numbered: &NumberedRule) -> Markup {
    html! {
        @match &numbered.rule.condition.until {
            None => "always",
            Some(until) if numbered.in_force => { "before " (date(until)) },
            Some(until) => { span.badge { "expired" } " since " (date(until)) },
        }
    }
}

/// Shows numbers of rules, each a link to its row.
pub(super) fn rule_links(numbers: &[usize]) -> Markup {
    html! {
        @for (i, number) in numbers.iter().enumerate() {
            @if i > 0 { ", " }
            a href=(format!("#rule-{number}")) { (number) }
        }
    }
}

/// Shows a date of a rule: a year, a month, a day or more, in ISO form or digits.
fn date(text: &str) -> Markup {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let whole = |digits: &str| DateTime::of_text(digits);
    html! {
        @match digits.len() {
            6 => @match whole(&format!("{digits}01")) { Some(moment) => (moment.month_and_year()), None => (present::clean(text)) },
            8 => @match whole(&digits) { Some(moment) => (moment.date()), None => (present::clean(text)) },
            10.. => @match whole(&digits) { Some(moment) => (moment.date_and_time()), None => (present::clean(text)) },
            _ => (present::clean(text)),
        }
    }
}

/// Shows a URL key, or its prefix, as a readable address. Other text is shown unchanged.
fn address(url_key: &str) -> Markup {
    let shown = readable(url_key).unwrap_or_else(|| url_key.to_owned());
    html! { span title=(present::clean(url_key)) { (parts::url_text(&shown)) } }
}

fn readable(url_key: &str) -> Option<String> {
    let (host, rest) = url_key.split_once(')')?;
    let name = urlkey::host_of_key(url_key);
    // An IPv6 address contains colons within its brackets.
    let port = if name.starts_with('[') {
        None
    } else {
        host.split_once(':').map(|(_, port)| port)
    };
    let name = match port {
        Some(port) => format!("{name}:{port}"),
        None => name,
    };
    (!host.is_empty() && name != ":").then(|| name + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(condition: Condition, expected: &str) {
        let markup = what(&condition).into_string();
        let mut text = String::new();
        let mut is_tag = false;
        for c in markup.chars() {
            match c {
                '<' => is_tag = true,
                '>' => is_tag = false,
                c if !is_tag => text.push(c),
                _ => {}
            }
        }
        assert_eq!(text, expected);
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn conditions_are_told_in_words() {
        check(Condition::default(), "everything");
        let url = some("com,example:8080)/letter.html");
        check(
            Condition {
                url,
                ..Condition::default()
            },
            "the URL example.com:8080/letter.html",
        );
        check(
            Condition {
                prefix: some("com,example)/private"),
                but_not: vec![
                    "com,example)/private/press".into(),
                    "com,example)/private/a###".into(),
                ],
                from: some("2014"),
                to: some("2015-03"),
                ..Condition::default()
            },
            "URLs that begin with example.com/private, but not example.com/private/press, nor example.com/private/a itself\
             and captured from 2014 to March 2015",
        );
        check(
            Condition {
                prefix: some("org,example,"),
                younger_than_days: Some(365),
                ..Condition::default()
            },
            "all subdomains of example.organd captured in the last 365 days",
        );
        check(
            Condition {
                from: some("20140126"),
                ..Condition::default()
            },
            "captured from 26 January 2014 on",
        );
    }

    #[test]
    fn keys_are_shown_as_addresses_where_they_are_some() {
        assert_eq!(readable("com,example)/a"), some("example.com/a"));
        assert_eq!(
            readable("::1:8080)/x"),
            Some(format!("{}/x", urlkey::host_of_key("::1:8080)/x")))
        );
        assert_eq!(readable("com,exam"), None);
        assert_eq!(readable(")/x"), None);
    }
}
