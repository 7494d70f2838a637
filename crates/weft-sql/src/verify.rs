//! `weft sql verify`: compares views with their definitions.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use format::number::{count, counted};
use format::terminal::{Style, clean};
use sql::Database;
use sql::verify::{VerifyReport, ViewReport, verify};

/// Views derived from others, which can be rebuilt.
const REBUILT: [&str; 4] = ["inlinks", "uris", "domains", "top"];

pub(crate) async fn run(database: &Database, json: bool) -> anyhow::Result<ExitCode> {
    let is_watched = io::stderr().is_terminal() && !json;
    let mut progress = |view: archive::question::View| {
        if is_watched {
            eprintln!("comparing {} ...", view.name());
        }
    };
    let verified = tokio::select! {
        verified = verify(database, &mut progress) => verified?,
        _ = tokio::signal::ctrl_c() => anyhow::bail!("stopped"),
    };
    let mut out = io::stdout().lock();
    if json {
        serde_json::to_writer(&mut out, &verified)?;
        writeln!(out)?;
    } else {
        print(&verified, &mut out)?;
    }
    out.flush()?;
    Ok(ExitCode::from(u8::from(!verified.is_clean())))
}

fn print(verified: &VerifyReport, out: &mut impl io::Write) -> io::Result<()> {
    let style = Style::new(io::stdout().is_terminal());
    for view in &verified.views {
        let rows = counted(view.rows, "row", "rows");
        let Some(difference) = &view.difference else {
            writeln!(out, "{:<11} {rows}, the same", view.view)?;
            continue;
        };
        let verdict = style.bad(&format!("differs from row {} on", count(difference.row)));
        let expected = count(view.rows_expected);
        writeln!(
            out,
            "{:<11} {rows} ({expected} by its definition), {verdict}",
            view.view
        )?;
        for (name, row) in [("expected", &difference.expected), ("found", &difference.found)] {
            let row = row
                .as_deref()
                .map_or("(no row)".to_owned(), |row| clean(&row.replace('\t', "  ")));
            writeln!(out, "  {name:<9} {row}")?;
        }
    }
    let wrong = verified.views.iter().filter(|view| view.difference.is_some());
    let wrong: Vec<&str> = wrong.map(|view| view.view).collect();
    if !wrong.is_empty() && wrong.iter().all(|view| REBUILT.contains(view)) {
        writeln!(
            out,
            "weft rebuild {} rebuilds the differing views",
            wrong.join(" ")
        )?;
    } else if !wrong.is_empty() {
        writeln!(
            out,
            "weft verify finds out from the inputs whether the view or the facts are wrong; if the view \
             is, load the inputs into a new archive"
        )?;
    }
    for note in &verified.notes {
        writeln!(out, "note: {}", clean(note))?;
    }
    for damage in &verified.damages {
        let damaged = style.bad("damaged");
        writeln!(
            out,
            "{}: {damaged}: {}; {}",
            damage.part,
            clean(&damage.found),
            clean(&damage.advice)
        )?;
    }
    let same = |view: &ViewReport| view.difference.is_none();
    let verdict = match (verified.is_clean(), verified.views.iter().all(same)) {
        (true, _) => "every view matches its definition over the facts",
        (false, true) => "every view matches its definition over the facts, but there are other problems",
        (false, false) => "not every view matches its definition over the facts",
    };
    writeln!(out, "{verdict} (epoch {})", count(verified.epoch))
}
