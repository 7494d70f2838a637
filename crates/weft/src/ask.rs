//! Opens the archive and queries it.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::{anyhow, ensure};
use archive::question::{Answer, Ask, Body};
use archive::{Archive, DocumentScope, OpenSettings};
use inputs::{path_of, path_text};

use crate::context::Context;
use crate::document_workers;
use crate::outcome::WrongUse;

/// Notes on standard error that a URL with `www.` in front of its host also refers to the URL
/// without it.
pub(crate) fn note_www(url: &str) {
    let Some(host) = urlkey::host_of_url(url) else {
        return;
    };
    let without = urlkey::host_without_www(host);
    if without != host {
        let (host, without) = (crate::style::clean(host), crate::style::clean(without));
        eprintln!("note: {host} and {without} share the same URL keys, so the answer covers both");
    }
}

/// Opens an existing archive for queries: as owner if it has none yet, else through the owner, or
/// read-only together with other read-only processes.
pub(crate) fn open(context: &Context) -> anyhow::Result<Archive> {
    let mut settings = OpenSettings::default();
    settings.asks_only = true;
    open_with(context, settings)
}

/// Opens the archive with settings.
pub(crate) fn open_with(context: &Context, mut settings: OpenSettings) -> anyhow::Result<Archive> {
    // The global flag can only restrict the command further.
    settings.read_only |= context.read_only;
    settings.memory_size_bytes = context.memory_size_bytes;
    settings.documents.get_or_insert(DocumentScope::All);
    settings.document_reader = Some(document_workers::reader());
    if settings.read_only && settings.create {
        return Err(WrongUse("this command writes to the archive: run it without --read-only".into()).into());
    }
    if context.archive.is_file() {
        let path = context.archive.display();
        return Err(WrongUse(format!("{path} is a file; an archive is a directory")).into());
    }
    let archive = Archive::open_with(&context.archive, settings, context.remote_inputs.sources())?;
    Ok(match &context.groups {
        Some(groups) => archive.seen_by(groups.clone()),
        None => archive,
    })
}

/// Asks the archive one question. With `--json` this prints the answer and returns `None`.
pub(crate) fn ask_or_print<Q: Ask>(
    context: &mut Context,
    question: Q,
) -> anyhow::Result<Option<Answer<Q::Answer>>> {
    let archive = open(context)?;
    print_if_json(archive.ask(question)?, context)
}

/// Returns the answer, unless `--json` was given: then it is printed.
pub(crate) fn print_if_json<A: Into<Body>>(
    answer: Answer<A>,
    context: &mut Context,
) -> anyhow::Result<Option<Answer<A>>> {
    if context.json {
        context.out.json(&answer.any())?;
        return Ok(None);
    }
    Ok(Some(answer))
}

/// Returns the name of an input on the command line: as text if it is valid UTF-8, else in its
/// escaped, displayed form.
pub(crate) fn input_name(typed: &OsStr) -> String {
    typed
        .to_str()
        .map_or_else(|| path_text(typed.as_ref()), str::to_owned)
}

/// Returns the text of a path on the command line. Normally this is the path as typed. If nothing
/// exists there, but something exists at the path whose escaped form (`\xNN` for each byte that is
/// not UTF-8) is this text, the latter path is used.
pub(crate) fn path_or_escaped(typed: &OsStr, here: &Path) -> String {
    let shown = typed
        .to_str()
        .filter(|text| path_exists(&here.join(path_of(text))));
    match shown {
        Some(shown) if !path_exists(&here.join(typed)) => shown.to_owned(),
        _ => path_text(typed.as_ref()),
    }
}

/// Returns whether anything exists at the path, even a dangling link.
fn path_exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Parses a time to the millisecond: the formats of [`parse_time`], 17 digits, or a date with a
/// fraction of a second.
pub(crate) fn parse_moment(text: &str) -> anyhow::Result<String> {
    let text = text.trim();
    if (15..=17).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(text.to_owned());
    }
    let mut digits = parse_time(text)?;
    let fraction = text.split_once('.').map_or("", |(_, rest)| rest);
    // Only a full time can have a fraction: in "2014.5" it is dropped.
    if digits.len() == 14 {
        digits.extend(fraction.chars().take_while(char::is_ascii_digit).take(3));
    }
    Ok(digits)
}

/// Parses a time on the command line: 1 to 14 digits, or a date such as `2014-01-26` or
/// `2014-01-26T20:06:24Z`. Returns the digits.
pub(crate) fn parse_time(text: &str) -> anyhow::Result<String> {
    let text = text.trim();
    let seconds = text.split('.').next().unwrap_or_default();
    let known = |c: char| c.is_ascii_digit() || matches!(c, '-' | ':' | 'T' | 't' | 'Z' | 'z' | ' ');
    let digits: String = seconds.chars().filter(char::is_ascii_digit).collect();
    ensure!(
        (1..=14).contains(&digits.len()) && seconds.chars().all(known),
        "expected 1 to 14 digits (2014, 20140126, 20140126200624) or a date (2014-01-26)"
    );
    Ok(digits)
}

/// Parses a date or a prefix of one and returns its digits. Fails if the date does not exist.
pub(crate) fn parse_date(text: &str) -> anyhow::Result<String> {
    format::date::digits_of_text(text.trim()).ok_or_else(|| {
        anyhow!("expected a date or its beginning: 2014, 2014-01, 2014-01-26 or 20140126200624")
    })
}

#[cfg(test)]
mod tests {
    use super::{parse_moment, parse_time};

    #[test]
    fn moments_have_milliseconds() {
        for (text, digits) in [
            ("20140126200624123", "20140126200624123"),
            ("2014-01-26T20:06:24.123456Z", "20140126200624123"),
            ("2014-01-26T20:06:24.5Z", "201401262006245"),
            ("2014-01-26", "20140126"),
        ] {
            assert_eq!(parse_moment(text).unwrap(), digits);
        }
        assert!(parse_moment("201401262006241234").is_err());
    }

    #[test]
    fn times_are_digits_or_dates() {
        let good = [
            ("2014", "2014"),
            ("2014-01-26", "20140126"),
            ("2014-01-26T20:06:24.123Z", "20140126200624"),
        ];
        for (text, digits) in good {
            assert_eq!(parse_time(text).unwrap(), digits);
        }
        for text in ["", "yesterday", "123456789012345", "2014/01/26"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }
}
