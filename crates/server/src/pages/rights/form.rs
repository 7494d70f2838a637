//! "Who may see this URL?": the form, and the result by the rules.

use access::{Access, Groups};
use archive::question::{RightsBody, RightsTest, RightsTestBody, TestedCapture};
use maud::{Markup, html};

use super::super::parts::{self, Align, Column};
use super::words;
use crate::failure::Failure;
use crate::present;
use crate::query::Query;

/// Maximum number of captures on the page. All of them are counted.
const CAPTURES_MAX: usize = 100;

/// Default media type of a hypothetical capture.
const MIME: &str = "text/html";

/// Values of the form.
pub(super) struct RulesTestRequest {
    url: Option<String>,
    groups: String,
    at: Result<Option<String>, Failure>,
    at_typed: String,
    mime: String,
    collection: String,
}

impl RulesTestRequest {
    pub(super) fn read(query: &Query) -> RulesTestRequest {
        RulesTestRequest {
            url: query.owned("url"),
            groups: query.text("as"),
            at: query.moment("at"),
            at_typed: query.text("at"),
            mime: query.text("mime"),
            collection: query.text("collection"),
        }
    }

    /// Returns the question, if the form has a URL.
    pub(super) fn question(&self) -> Option<Result<RightsTest, Failure>> {
        let url = self.url.clone()?;
        Some(self.at.clone().map(|at| RightsTest {
            url,
            groups: Groups::listed(&self.groups),
            at,
            mime: if self.mime.is_empty() {
                MIME.to_owned()
            } else {
                self.mime.to_ascii_lowercase()
            },
            digest: String::new(),
            collection: self.collection.clone(),
        }))
    }

    fn is_made_up(&self) -> bool {
        !(self.at_typed.is_empty() && self.mime.is_empty() && self.collection.is_empty())
    }
}

pub(super) fn section(
    asked: &RulesTestRequest,
    answer: Option<&Result<RightsTestBody, Failure>>,
    rules: &RightsBody,
) -> Markup {
    html! {
        section aria-labelledby="who" {
            h2 #who { "Who may see this URL?" }
            (form(asked, rules))
            @match answer {
                None => {},
                Some(Ok(tested)) => (result(asked, tested)),
                Some(Err(failure)) => p.callout.problem role="alert" { (present::clean(&failure.message)) },
            }
        }
    }
}

fn form(asked: &RulesTestRequest, rules: &RightsBody) -> Markup {
    let mut names: Vec<&str> = rules
        .rules
        .iter()
        .flat_map(|numbered| numbered.rule.groups.iter().chain(&numbered.rule.except))
        .map(String::as_str)
        .filter(|name| *name != "public")
        .collect();
    names.sort_unstable();
    names.dedup();
    html! {
        form.fields action="/rights#who" method="get" {
            div.grow {
                label for="url" { "URL" }
                input #url type="text" name="url" value=(present::clean(asked.url.as_deref().unwrap_or(""))) required inputmode="url"
                    autocapitalize="off" spellcheck="false" placeholder="http://www.example.org/" dir="ltr";
            }
            div {
                label for="as" { "Groups of the user" }
                input #as type="text" name="as" value=(present::clean(&asked.groups)) placeholder="none: the public" list="known-groups"
                    autocapitalize="off" spellcheck="false";
                datalist #known-groups { @for name in names { option value=(present::clean(name)) {} } }
            }
            button type="submit" { "Test" }
            details.more-fields open[asked.is_made_up()] {
                summary { "For a URL that is not in the archive yet" }
                div.fields {
                    div {
                        label for="at" { "Captured" }
                        input #at type="text" name="at" value=(present::clean(&asked.at_typed)) placeholder="now" inputmode="numeric" maxlength="24";
                    }
                    div {
                        label for="mime" { "Type" }
                        input #mime type="text" name="mime" value=(present::clean(&asked.mime)) placeholder=(MIME) autocapitalize="off" spellcheck="false";
                    }
                    div {
                        label for="collection" { "Collection" }
                        input #collection type="text" name="collection" value=(present::clean(&asked.collection)) placeholder="none" autocapitalize="off" spellcheck="false";
                    }
                }
            }
        }
    }
}

fn result(asked: &RulesTestRequest, tested: &RightsTestBody) -> Markup {
    let (count, seen) = (
        tested.captures.len() as u64,
        tested.captures.iter().filter(|capture| capture.seen).count() as u64,
    );
    let url = asked.url.as_deref().unwrap_or(&tested.url_key);
    html! {
        div.callout.answer role="status" {
            p {
                (verdict(seen == count, seen == 0))
                " " (parts::url_text(url)) " for "
                strong { (parts::text(&tested.groups.to_string())) }
                @match (tested.captured, seen, count) {
                    (false, ..) => span.soft { " \u{b7} not captured; this applies to a capture as described" },
                    (true, seen, count) if seen == count => span.soft { " \u{b7} " (present::counted(count, "capture", "captures")) },
                    (true, seen, count) => span.soft { " \u{b7} " (present::count(seen)) " of " (present::counted(count, "capture", "captures")) " visible" },
                }
            }
            @if let [one] = tested.captures.as_slice() { p { (reason(one, tested.default)) } }
            p.soft {
                "Rules match its URL key, " code { (present::clean(&tested.url_key)) }
                @if has_www(url) { ", which is the same with and without www in the host" }
                "."
            }
        }
        @if count > 1 { (captures(tested)) }
    }
}

/// Returns whether a URL has `www.` in front of its host, which keys leave out.
fn has_www(url: &str) -> bool {
    let url = if url.contains("://") {
        url.to_owned()
    } else {
        format!("http://{url}")
    };
    urlkey::host_of_url(&url).is_some_and(|host| urlkey::host_without_www(host) != host)
}

fn verdict(is_seen: bool, is_hidden: bool) -> Markup {
    html! {
        @match (is_seen, is_hidden) {
            (true, _) => span.badge.good { "visible" },
            (_, true) => span.badge.bad { "hidden" },
            _ => span.badge.bad { "partly hidden" },
        }
    }
}

fn captures(tested: &RightsTestBody) -> Markup {
    let columns = [
        Column("Captured (UTC)", Align::Text),
        Column("Type", Align::Text),
        Column("Collection", Align::Text),
        Column("Visibility", Align::Text),
        Column("Decided by", Align::Text),
    ];
    let cells = tested.captures.iter().take(CAPTURES_MAX).map(|capture| {
        vec![
            parts::time(&capture.fetch_time),
            parts::media(&capture.mime),
            html! { @if capture.collection.is_empty() { span.soft { "none" } } @else { (parts::text(&capture.collection)) } },
            verdict(capture.seen, !capture.seen),
            reason(capture, tested.default),
        ]
    });
    html! {
        (parts::table("Captures and their visibility", &columns, cells.collect()))
        @if tested.captures.len() > CAPTURES_MAX {
            p.soft { "The newest " (CAPTURES_MAX) " captures are listed." }
        }
    }
}

/// Shows the rules that decide.
fn reason(capture: &TestedCapture, default: Access) -> Markup {
    let default = match default {
        Access::Allow => "visible",
        Access::Deny => "hidden",
    };
    html! {
        @match capture.decided_by.as_slice() {
            [] => { "no rule matches; the default is " (default) },
            [_] => { "by rule " (words::rule_links(&capture.decided_by)) },
            rules => { "by rules " (words::rule_links(rules)) },
        }
    }
}
