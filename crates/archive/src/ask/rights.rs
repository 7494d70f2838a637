//! Lists the access rules, and tests which of them apply to one URL.

use ::access::{Access, AccessFilter, AccessRules, CaptureAttributes, Groups, KeyRanges, Matcher};
use index::KeyRange;

use super::basis::Basis;
use super::{key, page, visible_snapshot};
use crate::AskError;
use crate::question::{
    CdxRow, NumberedRule, Page, Rights, RightsBody, RightsTest, RightsTestBody, RuleMatches, TestedCapture,
};

/// Limit of captures read to count what rules match, over all rules.
const LOOKED_AT_MAX: u64 = 500_000;

/// Limit of hosts, and of key ranges, listed for one rule.
const NAMED_MAX: usize = 10;

pub(super) fn rights(basis: &Basis<'_>, question: &Rights) -> Result<RightsBody, AskError> {
    let Some(rules) = basis.open.access_filters.rules()? else {
        return Ok(RightsBody::default());
    };
    let now_ms = system::time_ms();
    let mut left = LOOKED_AT_MAX;
    let mut numbered = Vec::with_capacity(rules.rules.len());
    for (number, rule) in (1..).zip(&rules.rules) {
        let clause = rule.clause(now_ms).ok().flatten();
        let counted = clause.as_ref().filter(|_| question.counts);
        numbered.push(NumberedRule {
            number,
            in_force: clause.is_some(),
            rule: rule.clone(),
            matches: counted
                .map(|clause| matches(basis, clause, &mut left))
                .transpose()?,
        });
    }
    Ok(RightsBody {
        has_rules: true,
        default: rules.default,
        strict: rules.strict,
        rules: numbered,
    })
}

/// Counts what a rule matches, until `left` captures have been read.
fn matches(basis: &Basis<'_>, clause: &Matcher, left: &mut u64) -> Result<RuleMatches, AskError> {
    let ranges = clause.keys.as_ref().map(KeyRanges::ranges);
    let read: Vec<KeyRange> = match ranges {
        Some(ranges) => ranges.iter().cloned().map(KeyRange::from).collect(),
        None => vec![KeyRange::All],
    };
    let named = ranges.unwrap_or_default().iter().take(NAMED_MAX);
    let mut found = RuleMatches {
        keys: named
            .map(|range| (range.start.clone(), range.end.clone()))
            .collect(),
        counted_all: true,
        ..RuleMatches::default()
    };
    let (mut last_key, mut last_host) = (String::new(), None);
    for range in read {
        for row in basis.snapshot.captures_and_lines(range, false, None) {
            if *left == 0 {
                found.counted_all = false;
                return Ok(found);
            }
            *left -= 1;
            let row = row?;
            if !clause.matches(&visible_snapshot::subject(&row)) {
                continue;
            }
            found.captures += 1;
            if found.urls > 0 && row.url_key == last_key {
                continue;
            }
            found.urls += 1;
            let host = urlkey::host_of_key(&row.url_key);
            // Keys of one host at several ports may have other hosts between them. Such a host may
            // be counted again.
            if last_host.as_ref() != Some(&host) && !found.hosts.contains(&host) {
                found.hosts_total += 1;
                if found.hosts.len() < NAMED_MAX {
                    found.hosts.push(host.clone());
                }
            }
            last_host = Some(host);
            last_key = row.url_key;
        }
    }
    Ok(found)
}

pub(super) fn test(basis: &Basis<'_>, question: &RightsTest) -> Result<RightsTestBody, AskError> {
    let rules = basis.open.access_filters.rules()?;
    let rules = rules.as_deref().cloned().unwrap_or_default();
    let url_key = key::url_key(&question.url)?;
    let captures = match page::page(basis, &page_of(question)) {
        Ok(page) => page.captures,
        Err(error) if error.code == crate::ErrorCode::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    let captured = !captures.is_empty();
    let captures = if captured {
        captures
    } else {
        vec![made_up(question)]
    };
    let tester = Tester::new(&rules, &question.groups)?;
    Ok(RightsTestBody {
        captures: captures.iter().map(|row| tester.test(&url_key, row)).collect(),
        url_key,
        groups: question.groups.clone(),
        captured,
        default: rules.default,
    })
}

fn page_of(question: &RightsTest) -> Page {
    Page {
        url: question.url.clone(),
    }
}

/// Returns the capture assumed for a test.
fn made_up(question: &RightsTest) -> CdxRow {
    let timestamp = question
        .at
        .clone()
        .unwrap_or_else(|| format::date::digits(system::time_ms()));
    CdxRow {
        fetch_time: format::date::iso(format::date::ms_of_digits(&timestamp)),
        timestamp,
        mime: question.mime.clone(),
        digest: question.digest.clone(),
        collection: question.collection.clone(),
        ..CdxRow::default()
    }
}

/// The rules as they now apply to a client.
struct Tester<'r> {
    rules: &'r AccessRules,
    groups: &'r Groups,
    filter: AccessFilter,
    now_ms: i64,
}

impl<'r> Tester<'r> {
    fn new(rules: &'r AccessRules, groups: &'r Groups) -> Result<Tester<'r>, AskError> {
        let now_ms = system::time_ms();
        let filter = rules
            .filter_for(groups, now_ms)
            .map_err(|(number, error)| AskError::unavailable(format!("rule {number}: {error}")))?;
        Ok(Tester {
            rules,
            groups,
            filter,
            now_ms,
        })
    }

    fn test(&self, url_key: &str, row: &CdxRow) -> TestedCapture {
        let subject = CaptureAttributes {
            url_key,
            collection: &row.collection,
            mime: &row.mime,
            digest: &row.digest,
            fetch_time_ms: format::date::ms_of_digits(&row.timestamp),
        };
        let seen = self.filter.is_visible(&subject);
        let rules = self.rules.matching(self.groups, &subject, self.now_ms);
        let deciding = if seen { Access::Allow } else { Access::Deny };
        let decides = |number: &usize| {
            let rule = number
                .checked_sub(1)
                .and_then(|index| self.rules.rules.get(index));
            rule.is_some_and(|rule| rule.access == deciding)
        };
        TestedCapture {
            fetch_time: row.fetch_time.clone(),
            mime: row.mime.clone(),
            collection: row.collection.clone(),
            seen,
            decided_by: rules.iter().copied().filter(decides).collect(),
            rules,
        }
    }
}
