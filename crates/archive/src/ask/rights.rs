//! The rules of who may see what, and what they say of one URL.

use ::rights::{Access, Groups, Rules, Sight, Subject};

use super::basis::Basis;
use super::{key, page};
use crate::AskError;
use crate::question::{
    CdxRow, NumberedRule, Page, Rights, RightsBody, RightsTest, RightsTestBody, TestedCapture,
};

pub(super) fn rights(basis: &Basis<'_>, _: &Rights) -> Result<RightsBody, AskError> {
    let Some(rules) = basis.open.sights.rules()? else {
        return Ok(RightsBody::default());
    };
    let now_ms = now_ms();
    let numbered = (1..).zip(&rules.rules).map(|(number, rule)| NumberedRule {
        number,
        in_force: rule.clause(now_ms).is_ok_and(|clause| clause.is_some()),
        rule: rule.clone(),
    });
    Ok(RightsBody {
        has_rules: true,
        default: rules.default,
        strict: rules.strict,
        rules: numbered.collect(),
    })
}

pub(super) fn test(basis: &Basis<'_>, question: &RightsTest) -> Result<RightsTestBody, AskError> {
    let rules = basis.open.sights.rules()?;
    let rules = rules.as_deref().cloned().unwrap_or_default();
    let url_key = key::url_key(&question.url)?;
    let captures = match page::page(basis, &page_of(question)) {
        Ok(page) => page.captures,
        Err(error) if error.code == crate::ErrorCode::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    let captured = !captures.is_empty();
    let captures = match captured {
        true => captures,
        false => vec![made_up(question)],
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

/// A capture that is not there yet.
fn made_up(question: &RightsTest) -> CdxRow {
    let timestamp = question.at.clone().unwrap_or_else(|| civil::digits(now_ms()));
    CdxRow {
        fetch_time: civil::iso(civil::ms_of_digits(&timestamp)),
        timestamp,
        mime: question.mime.clone(),
        digest: question.digest.clone(),
        collection: question.collection.clone(),
        ..CdxRow::default()
    }
}

/// The rules, as they are for somebody now.
struct Tester<'r> {
    rules: &'r Rules,
    groups: &'r Groups,
    sight: Sight,
    now_ms: i64,
}

impl<'r> Tester<'r> {
    fn new(rules: &'r Rules, groups: &'r Groups) -> Result<Tester<'r>, AskError> {
        let now_ms = now_ms();
        let sight = rules
            .sight(groups, now_ms)
            .map_err(|(number, error)| AskError::unavailable(format!("rule {number}: {error}")))?;
        Ok(Tester {
            rules,
            groups,
            sight,
            now_ms,
        })
    }

    fn test(&self, url_key: &str, row: &CdxRow) -> TestedCapture {
        let subject = Subject {
            url_key,
            collection: &row.collection,
            mime: &row.mime,
            digest: &row.digest,
            fetch_time_ms: civil::ms_of_digits(&row.timestamp),
        };
        let seen = self.sight.sees(&subject);
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

fn now_ms() -> i64 {
    i64::try_from(ambient::wall_ms()).unwrap_or(i64::MAX)
}
