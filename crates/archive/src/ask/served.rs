//! Answers look-ups from serving tables. Questions that need more than a bounded number of reads, or
//! data that the tables lack, are refused.

use std::sync::Arc;

use access::AccessFilter;

use super::basis::LookUps;
use super::{attachments, calendar, cdx, domain, domains, link_counts, links, page, record};
use crate::AskError;
use crate::question::{AccessScopeBody, Answer, Body, DomainOrder, Inlinks, Question};
use crate::served_tables::ServedTables;
use crate::views::Views;

/// Answers a question from the tables of one batch.
pub(crate) fn answer_from_tables(tables: &ServedTables, question: &Question) -> Result<Answer, AskError> {
    if !is_look_up(question) {
        return Err(AskError::unavailable(
            "this question cannot be asked of serving tables yet; ask an archive",
        ));
    }
    let look_ups = LookUps::new(
        Box::new(tables.clone()),
        Arc::new(AccessFilter::everything()),
        tables.inlink_counts(),
        tables.sources(),
    );
    let body: Body = match question {
        Question::Cdx(question) => cdx::cdx(&look_ups, question)?.into(),
        Question::CdxBlocks(question) => cdx::blocks(&look_ups, question)?.into(),
        Question::Record(question) => record::record(&look_ups, question)?.into(),
        Question::Page(question) => page::page(&look_ups, question)?.into(),
        Question::Attachments(question) => attachments::attachments(&look_ups, question)?.into(),
        Question::Calendar(question) => calendar::calendar(&look_ups, question)?.into(),
        Question::Inlinks(question) => links::inlinks(&look_ups, question)?.into(),
        Question::Outlinks(question) => links::outlinks(&look_ups, question)?.into(),
        Question::LinkCounts(question) => link_counts::link_counts(&look_ups, question)?.into(),
        Question::Domain(question) => domain::domain(&look_ups, question)?.into(),
        Question::Domains(question) => domains::domains(&look_ups, question)?.into(),
        Question::Top(question) => domain::top(&look_ups, question)?.into(),
        _ => AccessScopeBody {
            everything: true,
            has_rules: false,
        }
        .into(),
    };
    Ok(Answer {
        epoch: tables.epoch().0,
        body,
    })
}

/// Returns whether a question is answered by a bounded number of reads of the tables.
fn is_look_up(question: &Question) -> bool {
    // Links of older versions are not in the tables.
    let is_current = |links: &Inlinks| !links.ever && links.at.is_none();
    match question {
        Question::Cdx(_)
        | Question::CdxBlocks(_)
        | Question::Record(_)
        | Question::Page(_)
        | Question::Attachments(_)
        | Question::Calendar(_)
        | Question::Outlinks(_)
        | Question::Domain(_)
        | Question::Top(_)
        | Question::Sight(_) => true,
        Question::Inlinks(links) => is_current(links),
        Question::LinkCounts(counts) => is_current(&counts.links),
        // Other orders read all domains.
        Question::Domains(domains) => domains.order == DomainOrder::Name,
        _ => false,
    }
}
