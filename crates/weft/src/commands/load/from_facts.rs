//! `weft load --from-facts`: builds an archive from tables of facts that a cluster wrote. `weft-sql
//! export` reads the tables.

use std::io::{BufRead as _, BufReader, IsTerminal as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use archive::{DocumentScope, FactsImport, ImportLine, ImportLineError, OpenSettings};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::Args;
use crate::ask;
use crate::context::Context;
use crate::outcome::{NotFound, Outcome, WrongUse};
use crate::sql_program::{self, HOW_TO_GET_IT, PROGRAM};
use crate::stderr::progress_line;
use crate::stop::Stop;
use crate::units::{count, counted, duration_ms};

/// Time between two plain lines of progress.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

pub(super) fn run(
    tables: &Path,
    args: &Args,
    settings: OpenSettings,
    context: &mut Context,
) -> anyhow::Result<Outcome> {
    let begun = system::now();
    let mut export = Export::start(tables, context)?;
    let Some(ImportLine::Tables {
        links,
        texts,
        captures,
        inputs_failed,
    }) = export.lines.next().transpose()?
    else {
        // The program has printed the reason on standard error.
        export.end()?;
        bail!("{} contains no fact tables of an archive", tables.display());
    };
    if args.links.is_some_and(|asked| asked != links) {
        return Err(WrongUse(format!(
            "the tables in {} have {} links: --links cannot select others",
            tables.display(),
            links
        ))
        .into());
    }
    let mut settings = settings;
    settings.links = Some(links);
    // Tables of facts contain only pages.
    settings.documents = Some(DocumentScope::None);
    settings.own = true;
    let archive = ask::open_with(context, settings)?;
    let stop = Stop::listen()?;
    let mut progress = Progress::new(captures);
    let outcome = archive.load_facts(&mut export.lines, &mut |done| {
        progress.show(done);
        !stop.is_requested()
    });
    progress.bar.finish_and_clear();
    if let Err(error) = outcome {
        // An error reported by the program itself, such as an unreadable table, takes precedence.
        export.end()?;
        return Err(error.into());
    }
    let done = outcome?;
    if stop.is_requested() {
        export.kill();
    } else {
        export.end()?;
    }
    print(&done, texts, inputs_failed, system::since(begun), context)?;
    let is_whole = !stop.is_requested() && inputs_failed == 0;
    if stop.is_requested() {
        progress_line("stopped; run the same command again to continue");
    }
    Ok(if is_whole { Outcome::Done } else { Outcome::Losses })
}

fn print(
    done: &FactsImport,
    texts: bool,
    inputs_failed: u64,
    took: Duration,
    context: &mut Context,
) -> anyhow::Result<()> {
    let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    if context.json {
        let mut summary = serde_json::to_value(done)?;
        summary["inputs_failed"] = inputs_failed.into();
        summary["texts"] = texts.into();
        summary["took_ms"] = took_ms.into();
        return Ok(context.out.json(&summary)?);
    }
    let mut inputs = format!("{} done", counted(done.inputs_done, "input", "inputs"));
    if done.inputs_known > 0 {
        inputs.push_str(&format!(", {} already known", count(done.inputs_known)));
    }
    writeln!(
        context.out,
        "{inputs}: {} loaded in {}",
        counted(done.captures, "capture", "captures"),
        duration_ms(took_ms)
    )?;
    if inputs_failed > 0 {
        writeln!(
            context.out,
            "{} failed when the tables were written, and {} not in them (see their ledger)",
            counted(inputs_failed, "input", "inputs"),
            if inputs_failed == 1 { "is" } else { "are" }
        )?;
    }
    if !texts {
        writeln!(
            context.out,
            "the tables have no texts: search finds only titles and addresses"
        )?;
    }
    Ok(())
}

/// The child process that reads the tables.
struct Export {
    child: Child,
    lines: Lines,
}

impl Export {
    fn start(tables: &Path, context: &Context) -> anyhow::Result<Export> {
        let program = sql_program::find().ok_or_else(|| {
            NotFound(format!(
                "--from-facts requires the program {PROGRAM}: {HOW_TO_GET_IT}"
            ))
        })?;
        let mut command = Command::new(&program);
        command.arg("export").arg(tables);
        if let Some(memory) = context.memory_size_bytes {
            command.arg("--memory").arg(memory.to_string());
        }
        command.args((0..context.verbose).map(|_| "-v"));
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("run {}", program.display()))?;
        let out = child.stdout.take().context("read from weft-sql")?;
        let lines = Lines {
            out: BufReader::with_capacity(1 << 20, out),
            line: Vec::new(),
        };
        Ok(Export { child, lines })
    }

    /// Waits for the program to end.
    fn end(mut self) -> anyhow::Result<()> {
        // Closing the pipe stops the program if it is still writing.
        drop(self.lines);
        let status = self.child.wait().context("wait for weft-sql")?;
        if status.success() {
            Ok(())
        } else {
            bail!("{PROGRAM} could not read the tables: {status}")
        }
    }

    fn kill(mut self) {
        // Fails if it has already exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Lines {
    out: BufReader<ChildStdout>,
    line: Vec<u8>,
}

impl Iterator for Lines {
    type Item = Result<ImportLine, ImportLineError>;

    fn next(&mut self) -> Option<Result<ImportLine, ImportLineError>> {
        let program = PROGRAM;
        self.line.clear();
        match self.out.read_until(b'\n', &mut self.line) {
            Ok(0) => None,
            Ok(_) => Some(
                serde_json::from_slice(&self.line)
                    .map_err(|error| ImportLineError::Syntax { program, error }),
            ),
            Err(error) => Some(Err(ImportLineError::Read { program, error })),
        }
    }
}

/// Progress as a bar on a terminal, otherwise as a line every ten seconds.
struct Progress {
    bar: ProgressBar,
    last: Instant,
    captures: u64,
}

impl Progress {
    fn new(captures: u64) -> Progress {
        let bar = ProgressBar::with_draw_target(Some(captures), ProgressDrawTarget::hidden());
        if std::io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        if let Ok(style) = ProgressStyle::with_template(
            "{elapsed:>8} {bar:20} {human_pos} of {human_len} captures, {eta} left",
        ) {
            bar.set_style(style);
        }
        Progress {
            bar,
            last: system::now(),
            captures,
        }
    }

    fn show(&mut self, done: &FactsImport) {
        let read = done.captures_read();
        self.bar.set_position(read);
        if self.bar.is_hidden() && system::since(self.last) >= LINE_INTERVAL {
            self.last = system::now();
            progress_line(&format!(
                "{} of {} captures, epoch {}",
                count(read),
                count(self.captures),
                done.epoch
            ));
        }
    }
}
