//! The page of the access rules: who may see what, as text, and a form that tests one URL.
//!
//! It changes nothing. Rules are changed with `weft rights`, or in their file.

mod form;
mod words;

use std::collections::BTreeMap;

use access::Access;
use archive::question::{Answer, Rights, RightsBody};
use maud::{Markup, html};

use self::form::RulesTestRequest;
use super::html::{Context, Html, PageResult};
use super::parts::{self, Align, Column};
use crate::present;
use crate::query::Query;
use axum::http::StatusCode;
use ui::{Frame, Section};

/// Maximum number of rules on the page. The command line shows all.
const RULES_MAX: usize = 1000;

pub(super) async fn show(context: Context, query: Query) -> PageResult {
    let Answer { epoch, body } = context.archive.ask(Rights { counts: true }).await?;
    let asked = RulesTestRequest::read(&query);
    let answer = match asked.question() {
        Some(Ok(question)) => Some(context.archive.ask(question).await.map(|answer| answer.body)),
        Some(Err(failure)) => Some(Err(failure)),
        None => None,
    };
    let frame = Frame {
        title: "Rights",
        section: Section::Rights,
        parts: context.parts(),
        viewer: context.viewer(),
        query: "",
        epoch: Some(epoch),
    };
    let content = html! {
        header.page-head {
            h1 { "Rights" }
            p.soft { "Who may see what in this archive. Rules apply from the next request on, without reindexing." }
        }
        (neighbours(Section::Rights))
        (summary(&body))
        (form::section(&asked, answer.as_ref(), &body))
        (rules(&body))
        (groups(&body))
        (commands(&body))
    };
    let status = match &answer {
        Some(Err(failure)) => failure.status,
        _ => StatusCode::OK,
    };
    Ok(Html {
        status,
        markup: frame.around(content),
    })
}

/// Links between the two pages about restricted content.
pub(super) fn neighbours(section: Section) -> Markup {
    let is_rights = section == Section::Rights;
    html! {
        nav aria-label="Rights and takedowns" {
            ul.chips {
                li { a href="/rights" aria-current=[is_rights.then_some("page")] { "Rules" } }
                li { a href="/takedowns" aria-current=[(!is_rights).then_some("page")] { "Takedowns" } }
            }
        }
    }
}

fn summary(body: &RightsBody) -> Markup {
    let meaning = match (body.has_rules, body.default) {
        (false, _) => "There are no rules: everybody who can reach this server sees everything.",
        (true, Access::Allow) => "The archive is open: users see everything that no rule hides from them.",
        (true, Access::Deny) => {
            "The archive is closed: users see only what a rule allows and no rule hides from them."
        }
    };
    let default = match body.default {
        Access::Allow => "visible",
        Access::Deny => "hidden",
    };
    let in_force = body.rules.iter().filter(|rule| rule.in_force).count();
    html! {
        p { (meaning) }
        @if body.has_rules {
            (parts::figures(&[
                ("If no rule matches", html! { (default) }),
                ("Rules in force", html! { (present::count(in_force as u64)) }),
                ("Strict", html! { @if body.strict { "yes" } @else { "no" } }),
            ]))
            p.soft {
                @if body.strict { "The order of results does not depend on hidden content." }
                @else { "Hidden content still counts towards word frequencies, and so affects the order of results; "
                    code { "weft rights default " (default_name(body)) " --strict yes" } " changes that." }
            }
        }
    }
}

fn default_name(body: &RightsBody) -> &'static str {
    match body.default {
        Access::Allow => "allow",
        Access::Deny => "deny",
    }
}

fn rules(body: &RightsBody) -> Markup {
    let columns = [
        Column("Rule", Align::Text),
        Column("Effect", Align::Text),
        Column("Applies to", Align::Text),
        Column("Captures matched", Align::Text),
        Column("For whom", Align::Text),
        Column("In force", Align::Text),
        Column("Note", Align::Text),
    ];
    let cells = body.rules.iter().take(RULES_MAX).map(|numbered| {
        let rule = &numbered.rule;
        vec![
            html! { span id=(format!("rule-{}", numbered.number)) { (numbered.number) } },
            words::effect(rule),
            words::what(&rule.condition),
            words::matches(numbered.matches.as_ref()),
            words::whom(rule),
            words::when(numbered),
            html! { @if rule.note.is_empty() { span.soft { "\u{2013}" } } @else { (parts::long_text(&rule.note)) } },
        ]
    });
    html! {
        @if body.has_rules {
            section aria-labelledby="rules" {
                h2 #rules { "Rules" }
                @if body.rules.is_empty() {
                    p.soft { "There are no rules: the default applies to everything." }
                } @else {
                    p.soft { "Their order does not matter: what one rule hides from a user stays hidden, even if another rule allows it." }
                    div.governed.rules { (parts::table("Rules", &columns, cells.collect())) }
                }
                @if body.rules.len() > RULES_MAX {
                    p.soft { "The first " (present::count(RULES_MAX as u64)) " of " (present::count(body.rules.len() as u64)) "; " code { "weft rights ls" } " shows all." }
                }
            }
        }
    }
}

fn groups(body: &RightsBody) -> Markup {
    let mut named: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for numbered in &body.rules {
        for name in numbered.rule.groups.iter().chain(&numbered.rule.except) {
            let numbers = named.entry(name).or_default();
            // A rule may name a group twice.
            if numbers.last() != Some(&numbered.number) {
                numbers.push(numbered.number);
            }
        }
    }
    html! {
        @if !named.is_empty() {
            section aria-labelledby="groups" {
                h2 #groups { "Groups named in rules" }
                ul.lines {
                    @for (name, numbers) in &named {
                        li {
                            span { (words::group(name)) @if *name == "public" { span.soft { " \u{b7} everybody who is in no other group" } } }
                            span.amount { "rule " (words::rule_links(numbers)) }
                        }
                    }
                }
                p.soft { "Members of other groups only see what the public sees. A proxy in front of the server, a token or signing in determines the groups of a user." }
            }
        }
    }
}

fn commands(body: &RightsBody) -> Markup {
    let first = body.rules.first().map_or(1, |rule| rule.number);
    html! {
        section.reading aria-labelledby="change" {
            h2 #change { "How to change the rules" }
            p { "On the archive's machine, even while this server runs:" }
            pre.command { code {
                "weft rights add --deny --prefix http://example.com/private/ --except staff\n"
                "weft rights add --deny --collection interviews --until 2030-01-01 --note 'embargo'\n"
                "weft rights rm " (first) "\n"
                "weft rights default deny\n"
                "weft rights token reading-room --group staff --tokens FILE"
            } }
            p.soft { "The rules are stored in " code { "rights.toml" } " in the archive's directory, which can also be edited by hand. While the file is invalid, "
                "only the archive's owner can see anything. To remove something for everybody, use a "
                a href="/takedowns" { "takedown" } "." }
        }
    }
}
