//! The page of loads: failures, running loads and their progress, and the ledger of all inputs.

use archive::question::{
    Answer, InputState, JobBody, JobStage, JobState, Jobs, Ledger, LedgerBody, LedgerRow, LedgerState, Status,
};
use maud::{Markup, html};

use super::html::{Context, Html, PageResult, optional};
use super::parts;
use super::parts::{Align, Column};
use super::upload;
use crate::query::Query;
use crate::{link, present};
use ui::{Frame, Section};

/// Number of inputs on a page.
const ROWS: usize = 100;
/// Number of finished loads shown.
const FINISHED: usize = 10;
/// Number of problems of a load that are listed.
const PROBLEMS: usize = 5;

/// States that the list of inputs can be reduced to: value in the address, and label.
const STATES: [(&str, &str); 7] = [
    ("failed", "failed"),
    ("cut", "cut off"),
    ("missing", "missing"),
    ("loading", "loading"),
    ("pending", "pending"),
    ("done", "done"),
    ("taken_down", "taken down"),
];

pub(super) async fn show(context: Context, query: Query) -> PageResult {
    let after = query.owned("after");
    let state = query
        .get("state")
        .filter(|name| STATES.iter().any(|state| state.0 == *name));
    let is_first = state.is_none() && after.is_none();
    let inputs = ledger(state.and_then(LedgerState::of_name), after.clone());
    let asked = context.archive.ask_together(move |together| {
        (
            together.ask(inputs.clone()),
            together.ask(Jobs {}),
            together.ask(Status {}),
            // Shown only above the whole list.
            is_first.then(|| together.ask(ledger(Some(LedgerState::Failed), None))),
        )
    });
    let (inputs, jobs, status, failed) = asked.await?;
    let Answer {
        epoch,
        body: LedgerBody { rows, next },
    } = inputs?;
    let jobs = optional(jobs).map(|jobs| jobs.rows);
    let status = optional(status);
    let quarantined = status.as_ref().map(|status| status.quarantined);
    let failed = failed.and_then(optional);
    let failed = failed.filter(|failed| !failed.rows.is_empty());
    let content = html! {
        header.page-head { h1 { "Loads" } }
        section aria-labelledby="jobs" {
            h2 #jobs { "Since the archive was opened" }
            div data-live="/loads/live" data-every-ms="1500" { (live_part(&jobs.unwrap_or_default())) }
        }
        (upload::form(&context, status.as_ref()))
        @if let Some(failed) = failed {
            (failed_inputs(&failed))
        }
        section aria-labelledby="ledger" {
            h2 #ledger { "Inputs" }
            @if let Some(quarantined) = quarantined.filter(|n| *n > 0) {
                p { a href="/quarantine" { (present::counted(quarantined, "record is", "records are")) " in quarantine" }
                    ": damaged or not usable, and listed with the reason." }
            }
            @if rows.is_empty() && is_first { (parts::nothing_loaded(true)) } @else {
                (states(state))
                @if rows.is_empty() { p.soft { "There are no such inputs." } } @else { (input_table("Inputs", &rows)) }
            }
        }
        (parts::pager(
            after.as_ref().map(|_| address(state, None)),
            next.map(|next| address(state, Some(&next))),
        ))
    };
    let frame = Frame {
        title: "Loads",
        section: Section::Loads,
        parts: context.parts(),
        viewer: context.viewer(),
        query: "",
        epoch: Some(epoch),
    };
    Ok(Html::ok(frame.around(content)))
}

/// Returns the address of a page of the list of inputs.
fn address(state: Option<&str>, after: Option<&str>) -> String {
    link::with("/loads", &[("state", state), ("after", after)])
}

/// Returns the first failed inputs, and what to do about them.
fn failed_inputs(failed: &LedgerBody) -> Markup {
    html! {
        section aria-labelledby="failed" {
            h2 #failed { "Failed inputs" }
            (input_table("Failed inputs", &failed.rows))
            p.soft { "Remove the cause, then run " code { "weft load --retry" } " on the archive's machine." }
            @if failed.next.is_some() { p { a.more href=(address(Some("failed"), None)) { "All failed inputs" } } }
        }
    }
}

/// Asks for a page of the list of inputs.
fn ledger(state: Option<LedgerState>, after: Option<String>) -> Ledger {
    Ledger {
        state,
        input: None,
        after,
        limit: ROWS,
    }
}

/// Returns links that reduce the list to inputs of one state.
fn states(chosen: Option<&str>) -> Markup {
    let all = std::iter::once((None, "all"));
    let choices = all.chain(STATES.iter().map(|(name, label)| (Some(*name), *label)));
    html! {
        nav aria-label="State of the inputs" {
            ul.chips {
                @for (name, label) in choices {
                    li { a href=(link::with("/loads", &[("state", name)])) aria-current=[(name == chosen).then_some("true")] { (label) } }
                }
            }
        }
    }
}

/// Shows the part of the page that the script fetches repeatedly.
pub(super) async fn live(context: Context) -> PageResult {
    let jobs = context.archive.ask(Jobs {}).await?.body.rows;
    Ok(Html::ok(live_part(&jobs)))
}

/// Shows loads: failures first, then those that run and wait, in the order in which they run.
fn live_part(all: &[JobBody]) -> Markup {
    let mut jobs: Vec<&JobBody> = all.iter().collect();
    jobs.sort_by_key(|job| match urgency(job) {
        urgency @ (Urgency::Failed | Urgency::Ended) => (urgency, u64::MAX - job.id),
        urgency => (urgency, job.id),
    });
    let (ended, active): (Vec<&JobBody>, Vec<&JobBody>) =
        jobs.into_iter().partition(|job| urgency(job) == Urgency::Ended);
    html! {
        @if all.is_empty() {
            p.soft { "No loads. To load files, run on the archive's machine: " code { "weft load INPUT\u{2026}" } }
        }
        @for job in active { (self::job(job, all)) }
        @for job in ended.into_iter().take(FINISHED) { (self::job(job, all)) }
    }
}

/// How soon somebody should look at a load; the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Urgency {
    Failed,
    Running,
    Queued,
    Ended,
}

fn urgency(job: &JobBody) -> Urgency {
    match job.state {
        JobState::Running => Urgency::Running,
        JobState::Queued => Urgency::Queued,
        JobState::Failed | JobState::Interrupted => Urgency::Failed,
        JobState::Done | JobState::Cancelled if job.inputs_failed > 0 => Urgency::Failed,
        JobState::Done | JobState::Cancelled => Urgency::Ended,
    }
}

/// Shows one load: its progress and what it waits for, or how it ended. `all` are all loads.
pub(super) fn job(job: &JobBody, all: &[JobBody]) -> Markup {
    let running = job.state == JobState::Running;
    html! {
        article.job {
            h3 {
                "Load " (present::count(job.id)) " "
                span class=(format!("badge {}", job_class(job))) { (job_word(job)) }
            }
            @if running {
                @let (done, whole) = done(job);
                progress max=(whole.max(1)) value=(done.min(whole.max(1)))
                    aria-label=(format!("Progress of load {}", job.id)) { (share(job)) }
                @if let Some(left_ms) = job.left_ms { p { "About " (present::span(left_ms)) " left" @if job.stage != JobStage::Loading { " in this stage" } "." } }
                @if !job.waiting_for.is_empty() { (growing(&job.waiting_for)) }
            }
            @if job.state == JobState::Queued { (queue(job, all)) }
            (parts::facts(&job_facts(job)))
            @if let Some(error) = &job.error { p.bad { (parts::text(error)) } }
            @if !job.problems.is_empty() {
                ul.problems {
                    @for package in job.failed_packages.iter().take(PROBLEMS) { li { (parts::url_text(&package.package)) ": " (present::count(package.members_failed)) " members failed, the first: " (parts::text(&package.reason)) } }
                    @for problem in other_problems(job).take(PROBLEMS) { li { (parts::url_text(&problem.input)) ": " (problem_of(problem)) (kept_collection(job, problem)) } }
                    @if job.failed_packages.len() > PROBLEMS || other_problems(job).count() > PROBLEMS { li.soft { "more in the list of inputs" } }
                }
            }
        }
    }
}

/// Returns the problems of inputs that are not in a failed package.
fn other_problems(job: &JobBody) -> impl Iterator<Item = &LedgerRow> {
    let problems = job.problems.iter();
    problems.filter(|row| !job.failed_packages.iter().any(|package| package.has(row)))
}

/// Names the cut inputs that a load waits for.
fn growing(inputs: &[String]) -> Markup {
    let more = inputs.len().saturating_sub(PROBLEMS) as u64;
    html! {
        p { "Waits some seconds to see whether these inputs grow: they were changed a moment ago, and end in the middle of a record." }
        ul.problems {
            @for input in inputs.iter().take(PROBLEMS) { li { (parts::url_text(input)) } }
            @if more > 0 { li.soft { (present::counted(more, "more input", "more inputs")) } }
        }
    }
}

/// Names the loads that a queued load waits for. One load runs at a time.
fn queue(job: &JobBody, all: &[JobBody]) -> Markup {
    let before = || {
        all.iter()
            .filter(|other| !other.state.has_ended() && other.id < job.id)
    };
    let running = before().find(|other| other.state == JobState::Running);
    let queued = before().filter(|other| other.state == JobState::Queued).count() as u64;
    html! {
        p {
            @if let Some(running) = running {
                "Waits for load " (present::count(running.id)) " (" (job_word(running))
                @if let Some(left_ms) = running.left_ms { ", about " (present::span(left_ms)) " left" }
                ")"
                @if queued > 0 { " and " (present::counted(queued, "queued load", "queued loads")) " before it" }
                "."
            } @else if queued > 0 {
                "Waits for " (present::counted(queued, "queued load", "queued loads")) " before it."
            } @else { "Starts next." }
        }
    }
}

fn job_class(job: &JobBody) -> &'static str {
    match job.state {
        JobState::Done if job.problems.is_empty() => "good",
        JobState::Done | JobState::Running | JobState::Queued => "plain",
        _ => "bad",
    }
}

fn job_word(job: &JobBody) -> String {
    match job.state {
        JobState::Running => match job.stage {
            JobStage::Finding => "looking for inputs".to_owned(),
            JobStage::Digesting => format!("computing digests, {}", share(job)),
            JobStage::Finishing if job.search_pages > 0 => {
                format!("updating search, {}", share(job))
            }
            JobStage::Finishing => "updating search".to_owned(),
            _ => format!("loading, {}", share(job)),
        },
        JobState::Queued => "queued".to_owned(),
        JobState::Done if job.problems.is_empty() => "done".to_owned(),
        JobState::Done => "done, with problems".to_owned(),
        ended => ended.name().to_owned(),
    }
}

fn share(job: &JobBody) -> String {
    let (done, whole) = done(job);
    share_of(done, whole)
}

/// Returns how much of the current stage is done, and the total.
fn done(job: &JobBody) -> (u64, u64) {
    match job.stage {
        JobStage::Digesting => (job.bytes_digested, job.bytes),
        JobStage::Finishing if job.search_pages > 0 => (job.search_pages_done, job.search_pages),
        _ => (job.bytes_read.max(job.bytes_done), job.bytes),
    }
}

fn share_of(done: u64, bytes: u64) -> String {
    match bytes {
        0 => "just started".to_owned(),
        bytes => format!("{} %", (u128::from(done) * 100 / u128::from(bytes)).min(100)),
    }
}

fn job_facts(job: &JobBody) -> Vec<Markup> {
    let is_running = job.state == JobState::Running;
    let seconds = (job.elapsed_ms as f64 / 1000.0).max(0.001);
    // For a running load, the rate of the last seconds is shown; for a finished one, the mean rate.
    let pages_per_s = if is_running {
        job.pages_per_s
    } else {
        job.pages as f64 / seconds
    };
    let bytes_read = job.bytes_read.max(job.bytes_done);
    let mut facts = vec![
        html! { (present::count(job.inputs_done)) " of " (present::counted(job.inputs, "input", "inputs")) },
        html! { (present::size(bytes_read)) @if job.bytes > bytes_read { " of " (present::size(job.bytes)) } },
        html! { (present::counted(job.records, "record", "records")) },
        html! { (present::counted(job.pages, "page", "pages")) },
        html! { (present::counted(job.links, "link", "links")) },
        html! { (present::span(job.elapsed_ms)) },
        html! { (present::rate(pages_per_s)) " pages/s" },
    ];
    if job.bytes_per_s > 0 {
        facts.push(html! { (present::size(job.bytes_per_s)) "/s" });
    }
    if job.inputs_known > 0 {
        facts.push(
            html! { (present::counted(job.inputs_known, "input was", "inputs were")) " already known" },
        );
    }
    if job.inputs_failed > 0 {
        facts.push(html! { span.bad { (present::counted(job.inputs_failed, "input", "inputs")) " failed" } });
    }
    if job.inputs_cut > 0 {
        facts.push(html! { span.bad { (present::counted(job.inputs_cut, "input", "inputs")) " cut off" } });
    }
    if job.inputs_of_other_collection > 0 {
        facts.push(html! {
            span.bad {
                (present::counted(job.inputs_of_other_collection, "input keeps", "inputs keep"))
                " another collection than " (parts::text(&job.collection))
            }
        });
    }
    if job.files_skipped > 0 {
        facts.push(
            html! { (present::counted(job.files_skipped, "file", "files")) " skipped (not an archive)" },
        );
    }
    if job.defects_total > 0 {
        facts.push(html! { (present::counted(job.defects_total, "defect", "defects")) " in records that are still usable" });
    }
    if job.quarantined > 0 {
        facts.push(html! { a href="/quarantine" { (present::count(job.quarantined)) " in quarantine" } });
    }
    facts
}

/// Names the collection of an input if the load gives another one.
fn kept_collection(job: &JobBody, row: &LedgerRow) -> Markup {
    let other =
        Some(row.collection.as_str()).filter(|label| !job.collection.is_empty() && *label != job.collection);
    html! {
        @match other {
            None => {},
            Some("") => ", keeps no collection",
            Some(label) => { ", keeps the collection " (parts::text(label)) },
        }
    }
}

fn problem_of(row: &LedgerRow) -> Markup {
    html! {
        @if row.quarantined > 0 {
            a href=(link::with("/quarantine", &[("input", Some(&row.input))])) {
                (present::counted(row.quarantined, "record", "records")) " in quarantine"
            }
            @if row.state != InputState::Done { ", " }
        }
        @if row.state != InputState::Done || row.quarantined == 0 { (parts::text(&row.state.to_string())) }
        (notes(row))
    }
}

fn input_table(caption: &str, rows: &[LedgerRow]) -> Markup {
    let columns = [
        Column("Input", Align::Text),
        Column("State", Align::Text),
        Column("Size", Align::Number),
        Column("Records", Align::Number),
        Column("Captures", Align::Number),
        Column("Quarantine", Align::Number),
        Column("Collection", Align::Text),
    ];
    let cells = rows.iter().map(|row| {
        vec![
            html! { (parts::url_text(&row.input)) },
            state(row),
            html! { (present::size(row.size)) },
            html! { (present::count(row.records)) },
            html! { (present::count(row.captures)) },
            html! {
                @if row.quarantined > 0 {
                    a href=(link::with("/quarantine", &[("input", Some(&row.input))])) { (present::count(row.quarantined)) }
                } @else { "0" }
            },
            parts::text(if row.collection.is_empty() { "\u{2013}" } else { &row.collection }),
        ]
    });
    parts::table(caption, &columns, cells.collect())
}

fn state(row: &LedgerRow) -> Markup {
    // For a failure the badge contains only the word, so that it stays on one line.
    let (class, word, reason) = match &row.state {
        InputState::Done => ("good", "done", None),
        InputState::Pending => ("plain", "pending", None),
        InputState::Loading => ("plain", "loading", None),
        InputState::Failed { reason } => ("bad", "failed", Some(reason)),
        InputState::TakenDown => ("plain", "taken down", None),
        InputState::Forgotten => ("bad", "forgotten", None),
    };
    html! {
        span class=(format!("badge {class}")) { (word) }
        @if let Some(reason) = reason { " " (parts::text(reason)) }
        @if row.state == InputState::Loading && row.size > 0 {
            " " span.soft { (row.bytes_done.min(row.size) as u128 * 100 / u128::from(row.size)) " %" }
        }
        (notes(row))
    }
}

/// Shows details of an input in addition to its state.
fn notes(row: &LedgerRow) -> Markup {
    html! {
        @if !row.cut.is_empty() { ", its end is cut off (" (parts::text(&row.cut)) ")" }
        @if !row.missing.is_empty() { ", but now: " (parts::text(&row.missing)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(id: u64, state: JobState) -> JobBody {
        JobBody {
            id,
            state,
            ..JobBody::default()
        }
    }

    #[test]
    fn failures_come_first_and_the_queue_is_in_order() {
        let jobs = [
            job(6, JobState::Queued),
            job(5, JobState::Queued),
            job(4, JobState::Running),
            job(3, JobState::Done),
            job(2, JobState::Failed),
            JobBody {
                inputs_failed: 1,
                ..job(1, JobState::Done)
            },
        ];
        let html = live_part(&jobs).into_string();
        let places = [2, 1, 4, 5, 6, 3].map(|id| html.find(&format!("<h3>Load {id} ")));
        assert!(
            places.is_sorted() && !places.contains(&None),
            "{places:?}: {html}"
        );
    }

    #[test]
    fn a_load_says_what_it_waits_for() {
        let running = JobBody {
            stage: JobStage::Loading,
            bytes: 100,
            bytes_read: 40,
            left_ms: Some(120_000),
            waiting_for: vec!["growing.warc.gz".into()],
            ..job(1, JobState::Running)
        };
        let all = [running, job(2, JobState::Queued), job(3, JobState::Queued)];
        let shown = |at: usize| super::job(&all[at], &all).into_string();
        assert!(shown(0).contains("<p>About 2 min 00 s left.</p>"), "{}", shown(0));
        assert!(shown(0).contains("growing.warc.gz"), "{}", shown(0));
        let after_one = "Waits for load 1 (loading, 40 %, about 2 min 00 s left).";
        assert!(shown(1).contains(after_one), "{}", shown(1));
        let after_two = "left) and 1 queued load before it.";
        assert!(shown(2).contains(after_two), "{}", shown(2));
        let next = super::job(&all[1], &all[1..]).into_string();
        assert!(next.contains("Starts next."), "{next}");
    }
}
