//! How a command ends: its exit code and its error message.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Error;
use archive::{AskError, ErrorCode, OpenError};
use store::StoreError;

use crate::context::Context;
use crate::outcome::{NotFound, Outcome, WrongUse};

/// Returns the parsed command line, or the exit code if clap has already printed help, the version
/// or a usage error.
pub(crate) fn parsed<T: clap::Parser>(mut command_line: clap::Command) -> Result<T, ExitCode> {
    let matches = command_line.try_get_matches_from_mut(std::env::args_os());
    let parsed = matches
        .and_then(|matches| T::from_arg_matches(&matches).map_err(|error| error.format(&mut command_line)));
    parsed.map_err(|error| {
        let asked = std::env::args_os()
            .skip(1)
            .take_while(|argument| argument != "--");
        if error.use_stderr() && asked.into_iter().any(|argument| argument == "--json") {
            print_json(ErrorCode::BadRequest, &clap_message(&error.to_string()));
        } else {
            // If the stream is closed, the message is lost.
            let _ = error.print();
        }
        ExitCode::from(if error.use_stderr() { 2 } else { 0 })
    })
}

/// Returns clap's message without the usage lines after it.
fn clap_message(text: &str) -> String {
    let text = text.strip_prefix("error: ").unwrap_or(text);
    let told = text.split("\n\nUsage:").next().unwrap_or_default();
    let told = told.split("\n\nFor more information").next().unwrap_or_default();
    told.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Prints the error, if any, and returns the exit code.
///
/// A reader that has closed its end (`weft dump links | head`) is not an error.
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
            print_error(&error, context);
            ExitCode::from(status_of(&error))
        }
    }
}

/// Prints an error about one of several items on standard error. The command continues.
pub(crate) fn print_error(error: &Error, context: &Context) {
    let chain = chain_text(error);
    if context.json {
        print_json(code_of(error), &chain);
    } else {
        // If standard error is closed as well, the message is lost.
        let _ = writeln!(std::io::stderr(), "{} {chain}", context.err_style.bad("error:"));
    }
}

fn print_json(code: ErrorCode, message: &str) {
    let error = serde_json::json!({ "error": { "code": code, "message": message } });
    let _ = writeln!(std::io::stderr(), "{error}");
}

/// Returns the message and its causes on one line, without causes that the preceding message
/// already contains.
pub(crate) fn chain_text(error: &Error) -> String {
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

fn status_of(error: &Error) -> u8 {
    if code_of(error) == ErrorCode::BadRequest {
        2
    } else {
        1
    }
}

/// Returns the API's code for the error.
fn code_of(error: &Error) -> ErrorCode {
    if error.downcast_ref::<WrongUse>().is_some() {
        return ErrorCode::BadRequest;
    }
    if let Some(ask) = error.downcast_ref::<AskError>() {
        return ask.code;
    }
    let missing = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<NotFound>().is_some()
            || matches!(cause.downcast_ref(), Some(StoreError::NotFound(_)))
            || matches!(
                cause.downcast_ref(),
                Some(OpenError::Missing { .. } | OpenError::NotEmpty { .. })
            )
            || cause
                .downcast_ref::<io::Error>()
                .is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
    };
    if error.chain().any(missing) {
        return ErrorCode::NotFound;
    }
    match error.downcast_ref::<StoreError>() {
        Some(StoreError::Unavailable { .. }) => ErrorCode::Unavailable,
        _ => ErrorCode::Internal,
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
        assert_eq!(status_of(&error), 2);
        assert_eq!(status_of(&anyhow!("disk")), 1);
    }

    #[test]
    fn what_is_not_there_is_told_from_what_failed() {
        let io = |kind| Error::new(io::Error::from(kind)).context("read x");
        for (error, code) in [
            (
                Error::new(NotFound("no x".into())).context("get"),
                ErrorCode::NotFound,
            ),
            (
                Error::new(StoreError::NotFound("b/x".into())),
                ErrorCode::NotFound,
            ),
            (io(io::ErrorKind::NotFound), ErrorCode::NotFound),
            (io(io::ErrorKind::PermissionDenied), ErrorCode::Internal),
            (Error::new(WrongUse("x".into())), ErrorCode::BadRequest),
        ] {
            assert_eq!(code_of(&error), code, "{error:#}");
        }
    }

    #[test]
    fn wrong_use_is_told_without_the_usage() {
        let text = "error: unexpected argument '--x' found\n\n  tip: leave it out\n\nUsage: weft ...\n\nFor more information, try";
        assert_eq!(
            clap_message(text),
            "unexpected argument '--x' found tip: leave it out"
        );
    }
}
