//! Findings: the subject of a check, its result, and advice.

use std::fmt;

use serde::Serialize;

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    /// As it should be.
    Ok,
    /// Weft works, but not as well as it could, or may stop working soon.
    Warning,
    /// Something does not work.
    Problem,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Ok => "ok",
            Verdict::Warning => "warning",
            Verdict::Problem => "problem",
        })
    }
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// The subject of the check, such as `disk`.
    pub(super) of: &'static str,
    pub(super) verdict: Verdict,
    /// The result, with numbers.
    pub(super) found: String,
    /// What to do; `None` if no action is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) advice: Option<String>,
}

impl Finding {
    pub(super) fn ok(of: &'static str, found: impl Into<String>) -> Finding {
        Finding {
            of,
            verdict: Verdict::Ok,
            found: found.into(),
            advice: None,
        }
    }

    pub(super) fn warning(of: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Finding {
        Finding {
            of,
            verdict: Verdict::Warning,
            found: found.into(),
            advice: Some(advice.into()),
        }
    }

    pub(super) fn problem(of: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Finding {
        Finding {
            of,
            verdict: Verdict::Problem,
            found: found.into(),
            advice: Some(advice.into()),
        }
    }
}
