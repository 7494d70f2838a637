//! Opening the archive and asking it.

use std::ffi::OsStr;
use std::path::Path;

use archive::question::{Answer, Ask};
use archive::{Archive, OpenSettings, path_of, path_text};

use crate::context::Context;
use crate::exit::WrongUse;

/// Opens the archive that must be there, to ask it: as owner if nobody is, else through the owner, or read-only beside
/// others who only read.
pub(crate) fn open(context: &Context) -> anyhow::Result<Archive> {
    let mut settings = OpenSettings::default();
    settings.asks_only = true;
    open_with(context, settings)
}

/// Opens the archive with settings.
pub(crate) fn open_with(context: &Context, mut settings: OpenSettings) -> anyhow::Result<Archive> {
    settings.read_only |= context.read_only;
    if settings.read_only && settings.create {
        return Err(WrongUse("--read-only changes nothing, and this command would".into()).into());
    }
    if context.archive.is_file() {
        let path = context.archive.display();
        return Err(WrongUse(format!("{path} is a file; an archive is a directory")).into());
    }
    Ok(Archive::open_with(
        &context.archive,
        settings,
        context.remote_inputs.sources(),
    )?)
}

/// Asks one question of the archive; with `--json` prints the answer and gives nothing back.
pub(crate) fn ask_or_print<Q: Ask>(
    context: &mut Context,
    question: Q,
) -> anyhow::Result<Option<Answer<Q::Answer>>> {
    let archive = open(context)?;
    let answer = archive.ask(question)?;
    if context.json {
        context.out.json(&answer.any())?;
        return Ok(None);
    }
    Ok(Some(answer))
}

/// An input on the command line: its name as it is shown, or as it is.
pub(crate) fn input_name(typed: &OsStr) -> String {
    typed
        .to_str()
        .map_or_else(|| path_text(typed.as_ref()), str::to_owned)
}

/// The text of a path on the command line. It is taken as it is; where nothing is there, but something is at the path that is
/// shown so (`\xNN` for a byte that is no text), that one is meant.
pub(crate) fn path_typed(typed: &OsStr, here: &Path) -> String {
    let shown = typed
        .to_str()
        .filter(|text| leads_somewhere(&here.join(path_of(text))));
    match shown {
        Some(shown) if !leads_somewhere(&here.join(typed)) => shown.to_owned(),
        _ => path_text(typed.as_ref()),
    }
}

/// Whether there is anything, be it a link that leads nowhere.
fn leads_somewhere(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// A time to the millisecond: as [`parse_time`] takes it, or 17 digits, or a date with a fraction of a second.
pub(crate) fn parse_moment(text: &str) -> Result<String, String> {
    let text = text.trim();
    if (15..=17).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(text.to_owned());
    }
    let mut digits = parse_time(text)?;
    let fraction = text.split_once('.').map_or("", |(_, rest)| rest);
    if digits.len() == 14 {
        digits.extend(fraction.chars().take_while(char::is_ascii_digit).take(3));
    }
    Ok(digits)
}

/// A time on the command line: 1 to 14 digits, or a date such as `2014-01-26` or `2014-01-26T20:06:24Z`.
/// Gives the digits.
pub(crate) fn parse_time(text: &str) -> Result<String, String> {
    let text = text.trim();
    let seconds = text.split('.').next().unwrap_or_default();
    let known = |c: char| c.is_ascii_digit() || matches!(c, '-' | ':' | 'T' | 't' | 'Z' | 'z' | ' ');
    let digits: String = seconds.chars().filter(char::is_ascii_digit).collect();
    if digits.is_empty() || digits.len() > 14 || !seconds.chars().all(known) {
        return Err("expected 1 to 14 digits (2014, 20140126, 20140126200624) or a date (2014-01-26)".into());
    }
    Ok(digits)
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
            assert_eq!(parse_moment(text).as_deref(), Ok(digits));
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
            assert_eq!(parse_time(text).as_deref(), Ok(digits));
        }
        for text in ["", "yesterday", "123456789012345", "2014/01/26"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }
}
