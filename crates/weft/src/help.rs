//! The first page of help: common use, the commands in groups, and the options of every command.
//!
//! [`command_line`] gives it to clap as the help of `weft` itself. Completions and manual pages are
//! made from the same commands and do not depend on it.

use std::fmt::Write as _;

use clap::builder::{StyledStr, Styles};
use clap::{Arg, Command, CommandFactory as _};

use crate::cli::Cli;
use crate::context::GLOBAL_HEADING;

/// Examples of common use; also at the end of the manual page.
pub(crate) const COMMON_USE: &str = "\
Common use:
  weft load crawls/                       read the archive files of a folder
  weft status                             what the archive contains
  weft search 'root zone' site:iana.org   pages with these words
  weft page http://www.iana.org/          everything known about a URL
  weft inlinks http://www.iana.org/       which pages link there
  weft cdx '*.iana.org' --limit 10        captures of a domain
  weft record http://www.iana.org/        the archived record of a page
  weft serve                              all of this in a browser
  weft export --collection autumn --wacz autumn.wacz
  weft inspect crawl.warc.gz              every record of a file";

/// The commands by purpose. Each command is in one group.
const GROUPS: [(&str, &[&str]); 6] = [
    (
        "Look",
        &[
            "status",
            "page",
            "pages",
            "diff",
            "cdx",
            "record",
            "replay-check",
            "report",
            "inspect",
            "dump",
        ],
    ),
    ("Load", &["load", "pack", "synth"]),
    (
        "Search and links",
        &["search", "inlinks", "outlinks", "domain", "top", "graph", "sql"],
    ),
    ("Serve", &["serve", "mcp", "demo"]),
    ("Keep", &["store", "files", "cache", "export", "warc"]),
    (
        "Administer",
        &[
            "rights",
            "forget",
            "redact",
            "verify",
            "rebuild",
            "doctor",
            "completions",
            "manual",
        ],
    ),
];

const AFTER: &str = "\
WEFT_ARCHIVE, WEFT_MEMORY and WEFT_VECTORS are defaults of their flags.
'weft COMMAND -h' shows its usual options, 'weft COMMAND --help' all of them.
Exit codes: 0 success; 1 losses, differences, not found, or failure; 2 usage.
Results go to standard output, messages to standard error.";

/// Returns the whole command line.
pub(crate) fn command_line() -> Command {
    let command = Cli::command();
    let page = first_page(&command);
    with_negative_values(command).override_help(page)
}

/// Passes `-5` to the option before it, whose message then says what it takes. Otherwise clap
/// reports an unknown flag.
fn with_negative_values(command: Command) -> Command {
    let takes_value = |arg: &Arg| !arg.is_positional() && arg.get_action().takes_values();
    command
        .mut_args(|arg| {
            let negative = takes_value(&arg);
            arg.allow_negative_numbers(negative)
        })
        .mut_subcommands(with_negative_values)
}

fn first_page(command: &Command) -> StyledStr {
    let styles = command.get_styles();
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let common_use = COMMON_USE.trim_start_matches("Common use:\n");
    let mut text = format!(
        "{about}\n\n{} weft [OPTIONS] <COMMAND>\n",
        heading("Usage", styles)
    );
    let mut section = |name: &str, lines: &str| {
        text.push_str(&format!("\n{}\n{}\n", heading(name, styles), lines.trim_end()));
    };
    section("Common use", common_use);
    for (name, commands) in GROUPS {
        section(name, &group(command, commands, styles));
    }
    section(GLOBAL_HEADING, &options(command, styles));
    text.push_str(&format!("\n{AFTER}\n"));
    StyledStr::from(text)
}

fn heading(name: &str, styles: &Styles) -> String {
    let style = styles.get_header();
    format!("{style}{name}:{style:#}")
}

/// Returns a line for each command.
fn group(command: &Command, names: &[&str], styles: &Styles) -> String {
    let literal = styles.get_literal();
    let mut lines = String::new();
    for name in names {
        let about = command.find_subcommand(name).and_then(Command::get_about);
        let about = about.map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(lines, "  {literal}{name:<12}{literal:#}  {about}");
    }
    lines
}

/// Returns a line for each option of every command.
fn options(command: &Command, styles: &Styles) -> String {
    let literal = styles.get_literal();
    let mut lines = String::new();
    for option in command.get_arguments() {
        let help = option.get_help().map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(lines, "  {literal}{:<20}{literal:#}  {help}", spelling(option));
    }
    let _ = writeln!(lines, "  {literal}{:<20}{literal:#}  Print help", "-h, --help");
    let _ = writeln!(
        lines,
        "  {literal}{:<20}{literal:#}  Print version",
        "-V, --version"
    );
    lines
}

/// Returns an option with its value, such as `    --archive <DIR>`.
fn spelling(option: &Arg) -> String {
    let short = option
        .get_short()
        .map_or("    ".to_owned(), |short| format!("-{short}, "));
    let long = option.get_long().unwrap_or_default();
    let takes_value = option.get_action().takes_values();
    let value = option.get_value_names().filter(|_| takes_value);
    let value = value.map(|names| format!(" <{}>", names[0])).unwrap_or_default();
    format!("{short}--{long}{value}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of `-h` at most.
    const SHORT_LINES_MAX: usize = 60;

    /// Calls `check` with every command below `command` and the words that call it.
    fn each(command: &mut Command, words: &str, check: &mut impl FnMut(&mut Command, &str)) {
        for command in command.get_subcommands_mut() {
            if command.get_name() == "help" {
                continue;
            }
            let words = format!("{words} {}", command.get_name());
            check(command, &words);
            each(command, &words, check);
        }
    }

    #[test]
    fn every_command_is_in_one_group() {
        let command = command_line();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        grouped.sort_unstable();
        let mut all: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        all.sort_unstable();
        assert_eq!(grouped, all);
    }

    #[test]
    fn the_first_page_fits_into_80_columns() {
        let mut command = command_line();
        command.build();
        let page = command.render_help().to_string();
        for line in page.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        for option in command.get_arguments() {
            assert!(page.contains(&spelling(option)), "{option} is not in\n{page}");
        }
        assert_eq!(page, command.render_long_help().to_string());
        let examples = page
            .lines()
            .skip_while(|line| *line != "Common use:")
            .skip(1)
            .take_while(|line| line.starts_with("  weft "));
        assert_eq!(examples.count(), 10);
    }

    #[test]
    fn short_help_fits_a_screen_and_long_help_has_examples() {
        let mut command = command_line().term_width(80);
        command.build();
        let mut wrong = Vec::new();
        each(&mut command, "weft", &mut |command, words| {
            // Also for terminals of 80 columns, where help has more lines.
            let mut narrow = command.clone().term_width(80);
            let short = narrow.render_help().to_string();
            let long = narrow.render_long_help().to_string();
            let lines = short.lines().count();
            if lines > SHORT_LINES_MAX {
                wrong.push(format!("{words} -h has {lines} lines"));
            }
            if !long.contains("\nExamples:\n  weft ") {
                wrong.push(format!("{words} --help has no example"));
            }
            let is_hidden = |option: &&Arg| option.is_hide_set();
            if let Some(hidden) = command.get_arguments().find(is_hidden) {
                wrong.push(format!("{words} --help does not show {hidden}"));
            }
        });
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn options_of_every_command_have_their_own_section() {
        let mut command = command_line();
        command.build();
        let globals: Vec<String> = command
            .get_arguments()
            .filter(|option| option.is_global_set() && option.get_id() != "help")
            .map(|option| option.get_id().to_string())
            .collect();
        each(&mut command, "weft", &mut |command, words| {
            for option in command.get_arguments() {
                let is_apart = option.get_help_heading() == Some(GLOBAL_HEADING);
                let is_global = globals.contains(&option.get_id().to_string());
                assert_eq!(is_apart, is_global, "{words}: {option}");
            }
        });
    }

    /// Value names of numbers, sizes, dates and durations.
    const MEASURES: [&str; 16] = [
        "N",
        "S",
        "ID",
        "RUN",
        "BYTES",
        "SECONDS",
        "DAYS",
        "WORDS",
        "TIME",
        "DATE",
        "SPAN",
        "PAGES_PER_S",
        "FIRST-LAST",
        "[+-]SIZE",
        "[+-]AGE",
        "[+-]N",
    ];

    #[test]
    fn every_measure_says_what_it_takes() {
        let mut command = command_line();
        command.build();
        let mut lines = Vec::new();
        each(&mut command, "weft", &mut |command, words| {
            for option in command.get_arguments() {
                let is_measure = |name: &&str| MEASURES.contains(name) || *name == "[-/]MODE";
                let names = option.get_value_names().unwrap_or_default();
                // `--record-id ID` names a record.
                let is_text = option.get_long() == Some("record-id");
                let is_flag = option.get_long().is_some() && option.get_action().takes_values();
                // Options of every command would be tested with each.
                let is_flag = is_flag && !option.is_global_set();
                if is_flag && !is_text && names.iter().any(|name| is_measure(&name.as_str())) {
                    lines.push((words.to_owned(), option.get_long().unwrap_or_default().to_owned()));
                }
            }
        });
        assert!(lines.len() > 60, "{}", lines.len());
        for (words, long) in lines {
            let typed = words
                .split(' ')
                .map(str::to_owned)
                .chain([format!("--{long}=x?")]);
            let error = command_line().try_get_matches_from(typed).expect_err(&long);
            let error = error.to_string();
            let expected = format!("error: --{long} takes ");
            let is_whole = error.starts_with(&expected) && error.contains("such as ");
            assert!(is_whole && error.contains("; found 'x?'"), "{words}: {error}");
        }
    }
}
