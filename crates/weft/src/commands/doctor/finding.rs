//! What was looked at, what was found, and what to do.

use std::fmt;

use serde::Serialize;

/// How good or bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    /// As it should be.
    Ok,
    /// Weft works, but not as well as it could, or not for long.
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

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// What was looked at: `disk`, for example.
    pub(super) of: &'static str,
    pub(super) verdict: Verdict,
    /// What was found, with numbers.
    pub(super) found: String,
    /// What to do; absent where nothing has to be done.
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
