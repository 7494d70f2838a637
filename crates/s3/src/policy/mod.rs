//! Bucket policies: parses and evaluates S3's JSON documents that allow or deny actions.
//!
//! Invariants:
//!  - an unknown element, action, condition key, operator or variable is refused when the policy is
//!    put, never ignored;
//!  - an explicit `Deny` overrides every `Allow`;
//!  - evaluation is a pure function of the document and of the request's facts.

use serde::Deserialize;

mod actions;
mod conditions;
mod error;
mod json;

pub(crate) use conditions::{
    EXISTING_TAG, Facts, MAX_KEYS, REQUEST_TAG, SECURE, SOURCE_IP, TIME, header_keys,
};

pub(crate) use error::PolicyError;

use crate::glob::fits;
use conditions::Condition;
use json::{OneOrMany, Pairs, Scalar};

/// Longest document in bytes, as in S3.
pub(crate) const BYTES_MAX: usize = 20 * 1024;

/// Prefix of a resource, before the bucket's name.
const ARN: &str = "arn:aws:s3:::";

/// The result of evaluating a policy for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// No statement applies.
    Silent,
    /// At least one statement allows the request, and none denies it.
    Allow,
    /// At least one statement denies the request.
    Deny,
}

/// The properties of a request that a policy is evaluated with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Query<'a> {
    /// The user; `None` for an unsigned request.
    pub(crate) user: Option<&'a str>,
    /// S3's action, for example `s3:GetObject`.
    pub(crate) action: &'a str,
    /// `BUCKET` or `BUCKET/KEY`.
    pub(crate) resource: &'a str,
    /// Values for conditions.
    pub(crate) facts: &'a Facts,
}

/// A parsed policy.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Policy {
    statements: Vec<Statement>,
}

#[derive(Debug, Clone, PartialEq)]
struct Statement {
    deny: bool,
    who: Principal,
    actions: Selection,
    resources: Selection,
    conditions: Vec<Condition>,
}

/// Selects what matches any of the patterns, or with `not` everything else.
#[derive(Debug, Clone, PartialEq)]
struct Selection {
    not: bool,
    patterns: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
enum Principal {
    Everybody,
    /// Users by name.
    Users(Vec<String>),
}

// Unknown elements are refused: an ignored one could have limited what the statement allows.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
struct Document {
    version: Option<String>,
    #[serde(rename = "Id")]
    _id: Option<String>,
    statement: OneOrMany<StatementText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
struct StatementText {
    #[serde(rename = "Sid")]
    _sid: Option<String>,
    effect: String,
    principal: Option<PrincipalText>,
    action: Option<OneOrMany<String>>,
    not_action: Option<OneOrMany<String>>,
    resource: Option<OneOrMany<String>>,
    not_resource: Option<OneOrMany<String>>,
    condition: Option<Pairs<Pairs<OneOrMany<Scalar>>>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum PrincipalText {
    Word(String),
    Kinds(Pairs<OneOrMany<String>>),
}

impl Policy {
    /// Parses a document for a bucket.
    ///
    /// # Errors
    /// If the document contains anything unknown or invalid.
    pub(crate) fn read(text: &str, bucket: &str) -> Result<Self, PolicyError> {
        if text.len() > BYTES_MAX {
            let detail = format!(
                "the policy has {} bytes, at most {BYTES_MAX} are allowed",
                text.len()
            );
            return Err(PolicyError(detail));
        }
        let document: Document = serde_json::from_str(text)
            .map_err(|error| PolicyError(format!("the policy cannot be parsed: {error}")))?;
        if !matches!(
            document.version.as_deref(),
            None | Some("2012-10-17" | "2008-10-17")
        ) {
            let detail = format!(
                "unknown policy version {:?}",
                document.version.unwrap_or_default()
            );
            return Err(PolicyError(detail));
        }
        let statements = document.statement.into_vec().into_iter();
        let statements = statements.map(|text| Statement::read(text, bucket));
        Ok(Self {
            statements: statements.collect::<Result<_, _>>()?,
        })
    }

    /// Evaluates the policy for a request.
    pub(crate) fn evaluate(&self, query: Query<'_>) -> Verdict {
        let mut verdict = Verdict::Silent;
        for statement in &self.statements {
            if statement.is_about(query) {
                if statement.deny {
                    // A Deny overrides every Allow, in any order.
                    return Verdict::Deny;
                }
                verdict = Verdict::Allow;
            }
        }
        verdict
    }

    /// Reports whether it allows something to everybody, without a condition that limits it to a
    /// few.
    pub(crate) fn is_public(&self) -> bool {
        self.statements.iter().any(|statement| {
            !statement.deny
                && statement.who == Principal::Everybody
                && !statement.conditions.iter().any(Condition::narrows)
        })
    }

    /// Reports whether the verdict may depend on the tags of the existing object.
    pub(crate) fn asks_tags(&self) -> bool {
        let mut conditions = self.statements.iter().flat_map(|statement| &statement.conditions);
        conditions.any(Condition::asks_tags)
    }
}

impl Statement {
    fn read(text: StatementText, bucket: &str) -> Result<Self, PolicyError> {
        let deny = match text.effect.as_str() {
            "Allow" => false,
            "Deny" => true,
            other => {
                return Err(PolicyError(format!(
                    "the effect {other:?} is neither Allow nor Deny"
                )));
            }
        };
        let actions = Selection::read("Action", text.action, text.not_action)?;
        for action in &actions.patterns {
            actions::check(action)?;
        }
        let mut resources = Selection::read("Resource", text.resource, text.not_resource)?;
        for resource in &mut resources.patterns {
            *resource = read_resource(resource, bucket)?;
        }
        let mut conditions = Vec::new();
        for (operator, keys) in text.condition.into_iter().flat_map(|pairs| pairs.0) {
            for (key, values) in keys.0 {
                conditions.push(Condition::read(&operator, &key, values)?);
            }
        }
        Ok(Self {
            deny,
            who: Principal::read(text.principal)?,
            actions,
            resources,
            conditions,
        })
    }

    fn is_about(&self, query: Query<'_>) -> bool {
        self.who.is(query.user)
            && self
                .actions
                .selects(|pattern| actions::fits(pattern, query.action))
            && self.resources.selects(|pattern| fits(pattern, query.resource))
            && self
                .conditions
                .iter()
                .all(|condition| condition.holds(query.facts))
    }
}

impl Selection {
    fn read(
        name: &str,
        these: Option<OneOrMany<String>>,
        not_these: Option<OneOrMany<String>>,
    ) -> Result<Self, PolicyError> {
        let (not, patterns) = match (these, not_these) {
            (Some(these), None) => (false, these.into_vec()),
            (None, Some(not_these)) => (true, not_these.into_vec()),
            _ => return Err(PolicyError(format!("a statement has either {name} or Not{name}"))),
        };
        if patterns.is_empty() {
            return Err(PolicyError(format!("{name} is empty")));
        }
        Ok(Self { not, patterns })
    }

    fn selects(&self, fits: impl Fn(&str) -> bool) -> bool {
        self.patterns.iter().any(|pattern| fits(pattern)) != self.not
    }
}

impl Principal {
    fn read(text: Option<PrincipalText>) -> Result<Self, PolicyError> {
        let kinds = match text {
            None => return Err(PolicyError("a statement has no Principal".to_owned())),
            Some(PrincipalText::Word(word)) if word == "*" => return Ok(Self::Everybody),
            Some(PrincipalText::Word(word)) => {
                return Err(PolicyError(format!("unknown principal {word:?}")));
            }
            Some(PrincipalText::Kinds(kinds)) => kinds.0,
        };
        let mut users = Vec::new();
        for (kind, names) in kinds {
            for name in names.into_vec() {
                match kind.as_str() {
                    "AWS" | "CanonicalUser" if name == "*" => return Ok(Self::Everybody),
                    "CanonicalUser" => users.push(name),
                    "AWS" => users.push(read_user(&name)?),
                    _ => {
                        return Err(PolicyError(format!(
                            "principals of kind {kind:?} are not supported"
                        )));
                    }
                }
            }
        }
        if users.is_empty() {
            Err(PolicyError("a Principal names no user".to_owned()))
        } else {
            Ok(Self::Users(users))
        }
    }

    fn is(&self, user: Option<&str>) -> bool {
        match self {
            Self::Everybody => true,
            Self::Users(users) => user.is_some_and(|user| users.iter().any(|name| name == user)),
        }
    }
}

/// Returns the user of `arn:aws:iam::ANYTHING:user/NAME`, `arn:aws:iam::NAME:root` or `NAME`: each
/// user is an account here.
fn read_user(text: &str) -> Result<String, PolicyError> {
    let wrong = || PolicyError(format!("unknown principal {text:?}"));
    let name = match text.strip_prefix("arn:aws:iam::") {
        None => text,
        Some(rest) => match rest.split_once(':').ok_or_else(wrong)? {
            (account, "root") => account,
            (_, user) => user.strip_prefix("user/").ok_or_else(wrong)?,
        },
    };
    // Wildcards are not supported: as a literal name a pattern would match nobody, and a Deny with
    // it would have no effect.
    if name.is_empty() || name.contains(['*', '?', ':']) {
        Err(wrong())
    } else {
        Ok(name.to_owned())
    }
}

/// Returns a resource without the prefix before its bucket. Its bucket pattern must match this
/// bucket.
fn read_resource(text: &str, bucket: &str) -> Result<String, PolicyError> {
    // Taken literally, a variable would match no object, and a Deny with it would have no effect.
    if text.contains("${") {
        return Err(PolicyError("variables in policies are not supported".to_owned()));
    }
    if text == "*" {
        return Ok(text.to_owned());
    }
    let wrong = || PolicyError(format!("the resource {text:?} is not in this bucket"));
    let pattern = text.strip_prefix(ARN).ok_or_else(wrong)?;
    let named = pattern.split('/').next().unwrap_or_default();
    if fits(named, bucket) {
        Ok(pattern.to_owned())
    } else {
        Err(wrong())
    }
}

#[cfg(test)]
mod tests;
