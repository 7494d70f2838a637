//! The page of a domain, and the list of all domains.

use archive::question::{Answer, Domain, DomainBody, DomainOrder, Domains, DomainsBody, LinkingDomain};
use maud::{Markup, html};

use super::archived::ArchivedView;
use super::html::{Context, Html, PageResult};
use super::parts::{Align, Column};
use super::{download, parts, ranking};
use crate::failure::Failure;
use crate::query::Query;
use crate::{link, present};
use ui::{Frame, Section};

/// Number of domains on a page of the list.
const ROWS: usize = 100;
/// Maximum number of linking domains shown.
const LINKING: usize = 20;

pub(super) async fn show(context: Context, query: Query) -> PageResult {
    let Some(name) = query.owned("name") else {
        return Err(Failure::bad_request("no domain given: parameter name is missing").into());
    };
    let Answer { epoch, body: domain } = context.archive.ask(Domain { name }).await?;
    let frame = Frame {
        title: &domain.domain,
        section: Section::Domains,
        parts: context.parts(),
        viewer: context.viewer(),
        query: "",
        epoch: Some(epoch),
    };
    Ok(Html::ok(
        frame.around(content(&domain, ArchivedView::of(&context))),
    ))
}

fn content(domain: &DomainBody, view: ArchivedView) -> Markup {
    let name = Some(domain.domain.as_str());
    html! {
        header.page-head {
            p.kind { "Domain" }
            h1 { (parts::url_text(&domain.domain)) }
        }
        (parts::figures(&[
            ("URIs known", html! { (present::count(domain.uris)) }),
            ("Pages", html! { (present::count(domain.pages)) }),
            ("In-links from other domains", html! { (present::count(domain.inlinks_external)) }),
        ]))
        p.actions {
            a.button.quiet href=(link::search(&format!("site:{}", domain.domain))) { "Search this domain" }
            a.button.quiet href=(link::with("/captures", &[("url", name), ("match", Some("domain"))])) { "All captures of this domain" }
        }
        div.columns.first-wide {
            section aria-labelledby="top" {
                h2 #top { "Most linked URLs" }
                @if domain.top.is_empty() { p.soft { "No links to this domain yet." } } @else {
                    (ranking::list(&domain.top, view))
                    p { a.more href=(link::with("/ranking", &[("domain", name)])) { "All URIs of this domain" } }
                }
            }
            section aria-labelledby="linking" {
                h2 #linking { "Domains that link here" }
                (linking(domain))
            }
        }
    }
}

fn linking(domain: &DomainBody) -> Markup {
    let most = domain
        .linking_domains
        .iter()
        .map(|row| row.links)
        .max()
        .unwrap_or(1)
        .max(1);
    html! {
        @if domain.linking_domains.is_empty() {
            p.soft { "No other domain links here yet." }
        } @else {
            ul.lines { @for row in domain.linking_domains.iter().take(LINKING) { (linking_row(row, most)) } }
            @if !domain.linking_domains_complete {
                p.soft { "Counted only over the links to its most linked pages." }
            }
        }
    }
}

fn linking_row(row: &LinkingDomain, most: u64) -> Markup {
    html! {
        li.measured {
            a href=(link::domain(&row.domain)) { (parts::url_text(&row.domain)) }
            span.amount { (present::counted(row.links, "link", "links")) }
            meter min="0" max=(most) value=(row.links) aria-hidden="true" {}
        }
    }
}

/// Orders of the list: name in the address, and label. The first is the default, because the list
/// by name begins with digits and odd hosts, which few readers look for.
const ORDERS: [(&str, &str); 3] = [
    ("pages", "most pages first"),
    ("inlinks", "most in-links first"),
    ("name", "by name"),
];

/// Returns the order with this name. An unknown name gives the order by name.
fn order_of(name: &str) -> DomainOrder {
    DomainOrder::named(name).unwrap_or_default()
}

/// Returns links to the list in each order.
fn orders(order: DomainOrder) -> Markup {
    html! {
        nav aria-label="Order" {
            ul.chips {
                @for (name, words) in ORDERS {
                    li { a href=(link::with("/domains", &[("order", Some(name))])) aria-current=[(order_of(name) == order).then_some("true")] { (words) } }
                }
            }
        }
    }
}

pub(super) async fn list(context: Context, query: Query) -> PageResult {
    let after = query.owned("after");
    let order_name = query.get("order").unwrap_or(ORDERS[0].0);
    let order = order_of(order_name);
    let question = Domains {
        order,
        after: after.clone(),
        limit: ROWS,
    };
    let Answer {
        epoch,
        body: DomainsBody { rows, next },
    } = context.archive.ask(question).await?;
    let columns = [
        Column("Domain", Align::Text),
        Column("URIs", Align::Number),
        Column("Pages", Align::Number),
        Column("In-links from other domains", Align::Number),
    ];
    let table_rows = rows.iter().map(|row| {
        vec![
            html! { a href=(link::domain(&row.domain)) { (parts::url_text(&row.domain)) } },
            html! { (present::count(row.uris)) },
            html! { (present::count(row.pages)) },
            html! { (present::count(row.inlinks_external)) },
        ]
    });
    let content = html! {
        header.page-head { h1 { "Domains" } p.soft { "All registered domains of URLs that were captured or are linked to." } }
        form.inline action="/domain" method="get" {
            label for="name" { "Go to a domain" }
            input #name type="text" name="name" placeholder="example.org" autocapitalize="off" spellcheck="false" required;
            button type="submit" { "Show" }
        }
        @if rows.is_empty() && after.is_none() { (parts::nothing_loaded(context.is_admin())) } @else {
            (orders(order))
            (parts::table("Domains", &columns, table_rows.collect()))
            (download::links("/api/v1/domains", &[("order", Some(order_name))]))
        }
        (parts::pager(
            after.as_ref().map(|_| link::with("/domains", &[("order", Some(order_name))])),
            next.map(|next| link::with("/domains", &[("order", Some(order_name)), ("after", Some(&next))])),
        ))
    };
    let frame = Frame {
        title: "Domains",
        section: Section::Domains,
        parts: context.parts(),
        viewer: context.viewer(),
        query: "",
        epoch: Some(epoch),
    };
    Ok(Html::ok(frame.around(content)))
}
