//! The prompt: multi-line statements, history, and completion of names.

use std::borrow::Cow;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use format::terminal::Style;
use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor, Helper, Highlighter, Hinter, Validator};
use sql::{Database, QuerySettings, TABLES};

use crate::answer::{answer, summary_line};
use crate::cli::QueryArgs;
use crate::output_format::Format;

const HELP: &str = "\
End a statement with a semicolon; it can span several lines. Statements cannot change anything.
  .tables             list the tables
  .columns TABLE      list the columns of a table
  .format FORMAT      set the output format: table, csv, json or jsonl
  .help               show this help
  .quit               exit; so does Ctrl-D
EXPLAIN ANALYZE before a statement shows where its time is spent. Ctrl-C stops a running statement.";

/// Words to complete besides tables, columns and functions.
const KEYWORDS: [&str; 28] = [
    "select",
    "from",
    "where",
    "group by",
    "order by",
    "having",
    "limit",
    "join",
    "left join",
    "on",
    "as",
    "and",
    "or",
    "not",
    "in",
    "like",
    "between",
    "is null",
    "distinct",
    "count(*)",
    "sum(",
    "avg(",
    "min(",
    "max(",
    "desc",
    "explain analyze",
    "url_key('",
    "domain('",
];

pub(crate) async fn run(database: &Database, args: &QueryArgs, json: bool) -> anyhow::Result<ExitCode> {
    let settings = args.settings();
    let names = names(database, &settings).await?;
    let config = Config::builder().auto_add_history(false).build();
    let mut editor: Editor<Names, FileHistory> = Editor::with_config(config)?;
    editor.set_helper(Some(Names { names }));
    let history = history_path();
    if let Some(path) = &history {
        // Before the first prompt there is no history file.
        let _ = editor.load_history(path);
    }
    let style = Style::of_stderr();
    eprintln!("{} (.help for help)", database.dir().display());
    let mut format = match args.format(json) {
        binary if binary.is_binary() => Format::Table,
        format => format,
    };
    let mut statement = String::new();
    loop {
        let prompt = if statement.is_empty() { "weft> " } else { "  ... " };
        let line = match editor.readline(prompt) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => {
                statement.clear();
                continue;
            }
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(error.into()),
        };
        if statement.is_empty() && line.trim_start().starts_with('.') {
            editor.add_history_entry(line.trim())?;
            match command(line.trim(), database, &settings, &mut format).await {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => eprintln!("{} {error:#}", style.bad("error:")),
            }
            continue;
        }
        statement.push_str(&line);
        statement.push('\n');
        if !statement.trim_end().ends_with(';') {
            if statement.trim().is_empty() {
                statement.clear();
            }
            continue;
        }
        let whole = std::mem::take(&mut statement);
        editor.add_history_entry(whole.trim())?;
        if let Some(path) = &history {
            save_history(&mut editor, path);
        }
        run_statement(database, whole.trim().trim_end_matches(';'), &settings, format).await;
    }
    if let Some(path) = &history {
        save_history(&mut editor, path);
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs a statement until it ends or Ctrl-C is pressed, and prints its rows and its summary.
async fn run_statement(database: &Database, statement: &str, settings: &QuerySettings, format: Format) {
    let style = Style::of_stderr();
    let answered = tokio::select! {
        answered = answer(database, statement, settings, format, io::stdout()) => answered,
        _ = tokio::signal::ctrl_c() => Err(anyhow::anyhow!("stopped")),
    };
    match answered {
        Ok(answered) => eprintln!("{}", style.dim(&summary_line(&answered))),
        Err(error) => eprintln!(
            "{} {}",
            style.bad("error:"),
            format::terminal::clean_lines(&format!("{error:#}"))
        ),
    }
}

fn save_history(editor: &mut Editor<Names, FileHistory>, path: &PathBuf) {
    // The prompt works even without a history.
    let _ = path.parent().map(std::fs::create_dir_all);
    let _ = editor.save_history(path);
}

/// Runs a command of the prompt. Returns whether the prompt continues.
async fn command(
    line: &str,
    database: &Database,
    settings: &QuerySettings,
    format: &mut Format,
) -> anyhow::Result<bool> {
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim().trim_end_matches(';');
    match name {
        ".quit" | ".exit" => return Ok(false),
        ".help" => eprintln!("{HELP}"),
        ".tables" => {
            let mut out = io::stdout().lock();
            for table in TABLES {
                writeln!(out, "{:<11} {}", table.name, table.row)?;
            }
        }
        ".columns" => {
            let statement = format!("describe {}", quoted(rest));
            answer(database, &statement, settings, *format, io::stdout()).await?;
        }
        ".format" => {
            let named = <Format as clap::ValueEnum>::from_str(rest, true).ok();
            match named.filter(|format| !format.is_binary()) {
                Some(named) => *format = named,
                None => eprintln!("table, csv, json or jsonl"),
            }
        }
        _ => eprintln!("unknown command {name}; .help lists the commands"),
    }
    Ok(true)
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Returns the names of tables, columns and functions.
async fn names(database: &Database, settings: &QuerySettings) -> anyhow::Result<Vec<String>> {
    let mut names: Vec<String> = KEYWORDS.map(str::to_owned).to_vec();
    names.extend(TABLES.iter().map(|table| table.name.to_owned()));
    names.extend(["search('".to_owned(), "inlinks('".to_owned(), "host(".to_owned()]);
    let statement =
        "select distinct column_name from information_schema.columns where table_schema = 'public'";
    let mut answer = database.query(statement, settings).await?;
    while let Some(batch) = answer.next().await {
        let batch = batch?;
        let column = sql::arrow::compute::cast(batch.column(0), &sql::arrow::datatypes::DataType::Utf8)?;
        let texts = sql::arrow::array::AsArray::as_string::<i32>(&column);
        names.extend(texts.iter().flatten().map(str::to_owned));
    }
    names.sort();
    names.dedup();
    Ok(names)
}

/// Returns the path of the statement history.
fn history_path() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    Some(state.or_else(home)?.join("weft/sql-history"))
}

/// Completes names.
#[derive(Helper, Hinter, Highlighter, Validator)]
struct Names {
    names: Vec<String>,
}

impl Completer for Names {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &rustyline::Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (start, word) = word_before(line, at);
        if word.is_empty() {
            return Ok((start, Vec::new()));
        }
        let lower = word.to_ascii_lowercase();
        let fits = self.names.iter().filter(|name| name.starts_with(&lower));
        let pair = |name: &String| Pair {
            display: name.clone(),
            replacement: name.clone(),
        };
        Ok((start, fits.map(pair).collect()))
    }
}

/// Returns the word that ends at a position, and its start.
fn word_before(line: &str, at: usize) -> (usize, Cow<'_, str>) {
    let before = &line[..at];
    let start = before
        .rfind(|c: char| !c.is_alphanumeric() && c != '_')
        .map_or(0, |place| {
            place + before[place..].chars().next().map_or(1, char::len_utf8)
        });
    (start, Cow::Borrowed(&before[start..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_at_the_cursor_is_completed() {
        assert_eq!(word_before("select url_h", 12), (7, "url_h".into()));
        assert_eq!(word_before("select count(é", 15), (13, "é".into()));
        assert_eq!(word_before("", 0), (0, "".into()));
    }
}
