//! The column next to the results: their distribution over the years, and filters to narrow them
//! down.

use archive::question::{Facet, YearCount};
use maud::{Markup, html};
use ui::shares::Share;

use super::super::parts;
use crate::{link, present};

/// Maximum number of values of a facet shown.
const FACET_VALUES: usize = 8;

/// Shows the results of each year as a share of all documents of that year. With plain numbers, a
/// year with many captures would always dominate.
fn trend(query: &str, years: &[YearCount]) -> Markup {
    let known = years.iter().filter(|year| year.documents > 0 && year.year > 0);
    let shares: Vec<Share> = known
        .map(|year| Share {
            year: year.year,
            part: year.count,
            whole: year.documents,
        })
        .collect();
    html! {
        @if shares.len() > 1 {
            section.trend {
                h3 { "By year" }
                (ui::shares::columns("Results per 1,000 documents of the year", &shares))
                p.soft { a href=(link::trends(query)) { "Compare by year" } }
            }
        }
    }
}

pub(super) fn facets(query: &str, facets: &[Facet], years: &[YearCount]) -> Markup {
    let facets: Vec<&Facet> = facets.iter().filter(|facet| !facet.values.is_empty()).collect();
    html! {
        @if !facets.is_empty() {
            aside.facets aria-labelledby="narrow" {
                h2 #narrow { "Narrow down" }
                (trend(query, years))
                p.soft { a href=(link::events(query)) { "Month by month" } }
                @for facet in facets {
                    section {
                        h3 { (facet_name(&facet.field)) }
                        ul.lines {
                            @for value in facet.values.iter().take(FACET_VALUES) {
                                li {
                                    a href=(link::search(&value.query)) {
                                        @if value.value.is_empty() { "unknown" } @else { (parts::text(&value.value)) }
                                    }
                                    span.amount { (present::count(value.count)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn facet_name(field: &str) -> &str {
    match field {
        "domain" => "Domain",
        "year" => "Year",
        "type" => "Type",
        "language" => "Language",
        "suffix" => "Public suffix",
        "collection" => "Collection",
        other => other,
    }
}
