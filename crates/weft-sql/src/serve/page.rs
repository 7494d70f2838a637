//! The page: a statement, its result as a table and a chart, the available tables, and sample
//! statements. It works without scripts.

use std::time::{Duration, Instant};

use format::number::{counted, duration_ms};
use maud::{Markup, html};
use sql::arrow::array::{Array as _, ArrayRef, RecordBatch};
use sql::arrow::datatypes::{DataType, SchemaRef, TimeUnit};
use sql::arrow::error::ArrowError;
use sql::arrow::util::display::{ArrayFormatter, FormatOptions};
use sql::{QUESTIONS, SqlError, TableInfo};
use ui::{Frame, Parts, Section, clean, cut};

use super::chart::Chart;
use super::statements::{StatementOptions, StatementRunner};

/// Maximum number of rows on the page; downloads have all rows.
const ROWS_MAX: usize = 1000;

/// Maximum number of characters of a cell on the page.
const CELL_CHARS_MAX: usize = 240;

/// Formats to download, with their labels.
const DOWNLOADS: [(&str, &str); 4] = [
    ("csv", "CSV"),
    ("json", "JSON"),
    ("parquet", "Parquet"),
    ("arrow", "Arrow"),
];

/// The rows of a result shown on the page.
pub(super) struct PageResult {
    epoch: u64,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    /// Whether there are more rows.
    is_cut: bool,
    took: Duration,
}

/// Executes a statement for the page.
pub(super) async fn result(
    runner: &StatementRunner,
    statement: &str,
    options: StatementOptions,
    begun: Instant,
) -> Result<PageResult, SqlError> {
    let running = runner.begin(statement, options).await?;
    let (epoch, schema) = (running.epoch, running.schema.clone());
    let (batches, is_cut) = running.first_rows(ROWS_MAX).await?;
    Ok(PageResult {
        epoch,
        schema,
        batches,
        is_cut,
        took: system::since(begun),
    })
}

/// Renders the page.
pub(super) fn page(
    parts: Parts,
    statement: &str,
    at_epoch: Option<u64>,
    result: Option<&Result<PageResult, SqlError>>,
    tables: Result<&Vec<(TableInfo, SchemaRef)>, &SqlError>,
) -> Markup {
    let shown = result.and_then(|result| result.as_ref().ok());
    let frame = Frame {
        title: "SQL",
        section: Section::Sql,
        parts,
        // Only the proxying server knows the user.
        viewer: None,
        query: "",
        epoch: shown.map(|shown| shown.epoch),
    };
    let rows = statement.lines().count().clamp(5, 24);
    let position = match result {
        Some(Err(SqlError::Statement {
            line: line @ 1..,
            column,
            ..
        })) => Some((line, column)),
        _ => None,
    };
    frame.around(html! {
        header.page-head {
            h1 { "SQL" }
            p.soft { "Query the archive in SQL: every capture and link ever loaded, the current views, and \
                      the files on the disk. Within a statement all tables of the archive are of the same \
                      epoch." }
        }
        div.with-aside.wide {
            div.main-column {
                form.statement action="/sql" method="get" {
                    label.hidden for="statement" { "Statement" }
                    textarea #statement name="q" rows=(rows) spellcheck="false" autocapitalize="off" autocomplete="off"
                        placeholder="select url, title, inlinks from pages order by inlinks desc limit 20"
                        data-line=[position.map(|(line, _)| line)] data-column=[position.map(|(_, column)| column)]
                        aria-describedby="statement-keys" { "\n" (statement) }
                    @if let Some(epoch) = at_epoch { input type="hidden" name="at_epoch" value=(epoch); }
                    div.actions {
                        button type="submit" { "Run" }
                        span #statement-keys .soft.keys { kbd { "Ctrl" } " " kbd { "Enter" } " to run" }
                    }
                }
                @match result {
                    None => (questions()),
                    Some(Err(error)) => div.callout.problem role="alert" { p { strong { "Failed: " } (clean(&error.to_string())) } },
                    Some(Ok(shown)) => (answer(shown, statement, at_epoch, parts)),
                }
            }
            aside {
                (columns(tables))
                @if result.is_some() { (questions()) }
            }
        }
    })
}

fn answer(shown: &PageResult, statement: &str, at_epoch: Option<u64>, parts: Parts) -> Markup {
    let rows: usize = shown.batches.iter().map(RecordBatch::num_rows).sum();
    let took_ms = u64::try_from(shown.took.as_millis()).unwrap_or(u64::MAX);
    let took = match took_ms {
        0..1000 => format!("{took_ms} ms"),
        _ => duration_ms(took_ms),
    };
    html! {
        section aria-label="Answer" {
            p.summary role="status" {
                @if shown.is_cut { "The first " }
                (counted(rows as u64, "row", "rows")) " of epoch " span.epoch { (format::number::count(shown.epoch)) } " in " (took)
                @if shown.is_cut { ". The whole answer is there to download." }
            }
            @if rows > 0 {
                p.downloads {
                    "Download: "
                    @for (format, name) in DOWNLOADS {
                        a href=(download(format, statement, at_epoch)) download { (name) } " "
                    }
                }
            }
            @if let Some(chart) = Chart::from_rows(&shown.schema, &shown.batches) { (chart.render()) }
            @match cells(shown) {
                Ok(cells) => (table(shown, &cells, parts)),
                Err(error) => p.bad { "The rows cannot be shown: " (clean(&error.to_string())) },
            }
        }
    }
}

fn download(format: &str, statement: &str, at_epoch: Option<u64>) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("format", format);
    if let Some(epoch) = at_epoch {
        query.append_pair("at_epoch", &epoch.to_string());
    }
    query.append_pair("q", statement);
    format!("/api/v1/sql?{}", query.finish())
}

/// Formats all cells; `None` for NULL.
fn cells(shown: &PageResult) -> Result<Vec<Vec<Option<String>>>, ArrowError> {
    let options = FormatOptions::new().with_timestamp_tz_format(Some("%Y-%m-%d %H:%M:%S"));
    let mut rows = Vec::new();
    for batch in &shown.batches {
        let columns = batch.columns();
        let formatters = columns
            .iter()
            .map(|column| ArrayFormatter::try_new(column, &options));
        let formatters = formatters.collect::<Result<Vec<_>, _>>()?;
        for row in 0..batch.num_rows() {
            let cells = formatters.iter().zip(columns);
            let cells =
                cells.map(|(cell, column)| (!is_null(column, row)).then(|| cell.value(row).to_string()));
            rows.push(cells.collect());
        }
    }
    Ok(rows)
}

/// Returns whether a value is NULL. Columns of type Null have no validity bitmap.
fn is_null(column: &ArrayRef, row: usize) -> bool {
    *column.data_type() == DataType::Null || column.is_null(row)
}

fn table(shown: &PageResult, rows: &[Vec<Option<String>>], parts: Parts) -> Markup {
    let fields = shown.schema.fields();
    html! {
        @if rows.is_empty() { p.soft { "No matching rows." } }
        @else {
            div.scrolled tabindex="0" role="region" aria-label="Rows" {
                table.rows {
                    thead { tr { @for field in fields { th.number[field.data_type().is_numeric()] scope="col" { (clean(field.name())) } } } }
                    tbody {
                        @for row in rows {
                            tr {
                                @for (cell, field) in row.iter().zip(fields) {
                                    td.number[field.data_type().is_numeric()].time[field.data_type().is_temporal()] {
                                        @match cell {
                                            None => span.soft { "null" },
                                            Some(text) => (value(field.name(), text, parts)),
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Renders a value. URLs link to their page.
fn value(column: &str, text: &str, parts: Parts) -> Markup {
    let (short, is_cut) = cut(text, CELL_CHARS_MAX);
    let shown = html! { (clean(short)) @if is_cut { "\u{2026}" } };
    let is_url = ["url", "source_url", "target_url"].contains(&column);
    if parts.archive && is_url {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.append_pair("url", text);
        return html! { a href=(format!("/page?{}", query.finish())) { (shown) } };
    }
    shown
}

fn questions() -> Markup {
    html! {
        section.questions {
            h2 { "Sample queries" }
            ul.lines {
                @for question in QUESTIONS.iter() {
                    @let mut query = url::form_urlencoded::Serializer::new(String::new());
                    li { a href=(format!("/sql?{}", query.append_pair("q", &question.statement).finish())) { (question.title) } }
                }
            }
        }
    }
}

fn columns(tables: Result<&Vec<(TableInfo, SchemaRef)>, &SqlError>) -> Markup {
    html! {
        section.schema {
            h2 { "Tables" }
            @match tables {
                Err(error) => p.bad { (clean(&error.to_string())) },
                Ok(tables) => {
                    @for (table, schema) in tables {
                        details {
                            summary { code { (table.name) } }
                            p.soft { (table.row) }
                            ul {
                                @for field in schema.fields() {
                                    li { code data-insert=(field.name()) { (field.name()) } " " span.soft { (type_name(field.data_type())) } }
                                }
                            }
                        }
                    }
                },
            }
            details {
                summary { "Functions" }
                ul {
                    li { code { "url_key(url)" } " " code { "host(url)" } " " code { "domain(url)" } }
                    li { code { "from search('words')" } " " span.soft { "full-text search, best match \
                                                                          first" } }
                    li { code { "from inlinks('url')" } " " span.soft { "links to a page" } }
                }
            }
        }
    }
}

/// Returns a common name of a data type.
pub(super) fn type_name(r#type: &DataType) -> String {
    match r#type {
        DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8 => "text".into(),
        DataType::Timestamp(TimeUnit::Microsecond, _) => "time".into(),
        DataType::Boolean => "boolean".into(),
        r#type if r#type.is_integer() => "number".into(),
        r#type => r#type.to_string().to_lowercase(),
    }
}
