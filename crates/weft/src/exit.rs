//! How a command ends: the exit code, and the message that goes with it.

use std::fmt;
use std::io::Write;
use std::process::ExitCode;

use anyhow::Error;
use archive::AskError;
use store::store::StoreError;

use crate::context::Context;

/// How a command that ran to its end went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// Everything asked for was done: exit code 0.
    Done,
    /// Done, but something was lost, failed or differs; the command has said what: exit code 1.
    Losses,
}

/// The user asked for something that cannot be meant: exit code 2.
#[derive(Debug)]
pub(crate) struct WrongUse(pub(crate) String);

impl fmt::Display for WrongUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WrongUse {}

/// Prints what went wrong, if anything did, and gives the exit code.
///
/// A reader that went away (`weft dump links | head`) is no error: the command had no one left to tell.
pub(crate) fn report(result: Result<Outcome, Error>, context: &mut Context) -> ExitCode {
    let flushed = context.out.flush();
    if context.out.closed() {
        return ExitCode::SUCCESS;
    }
    let result = result.and_then(|outcome| match flushed {
        Ok(()) => Ok(outcome),
        Err(error) => Err(Error::new(error).context("write standard output")),
    });
    match result {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Losses) => ExitCode::from(1),
        Err(error) => {
            show(&error, context);
            ExitCode::from(code_of(&error))
        }
    }
}

fn show(error: &Error, context: &mut Context) {
    let chain = chain_text(error);
    // Nothing is left to do if standard error is closed as well.
    let _ = writeln!(std::io::stderr(), "{} {chain}", context.err_style.bad("error:"));
    if context.json {
        let answer = serde_json::json!({ "error": { "code": word_of(error), "message": chain } });
        let _ = context.out.json(&answer).and_then(|()| context.out.flush());
    }
}

/// The message and its causes on one line; a cause already told by the message before it is not repeated.
fn chain_text(error: &Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if text.ends_with(&cause) {
            continue;
        }
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&cause);
    }
    crate::style::clean_lines(&text)
}

fn code_of(error: &Error) -> u8 {
    if word_of(error) == "bad_request" { 2 } else { 1 }
}

/// The error's code as the API names it.
fn word_of(error: &Error) -> &str {
    if error.downcast_ref::<WrongUse>().is_some() {
        return "bad_request";
    }
    if let Some(StoreError::NotFound(_)) = error.downcast_ref::<StoreError>() {
        return "not_found";
    }
    match error.downcast_ref::<AskError>() {
        Some(ask) => &ask.code,
        None => "internal",
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn a_chain_is_told_once() {
        let error = anyhow!("no space left")
            .context("write x: no space left")
            .context("load");
        assert_eq!(chain_text(&error), "load: write x: no space left");
    }

    #[test]
    fn wrong_use_is_found_below_context() {
        let error = Error::new(WrongUse("no such view".into())).context("dump");
        assert_eq!(code_of(&error), 2);
        assert_eq!(code_of(&anyhow!("disk")), 1);
    }
}
