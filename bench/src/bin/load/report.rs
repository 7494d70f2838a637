//! Prints the table: Weft's figures, the cluster's, and their ratio.

use crate::Form;
use crate::measured::Measured;

/// WebIndex on Fluo, long run of May 2016: 20 workers of 4 cores; 273.6 million pages, 3.54 billion
/// links.
const CLUSTER_PAGES_PER_S: f64 = 950.0;
const CLUSTER_LINKS_PER_S: f64 = 12_292.0;
const CLUSTER_BYTES_PER_LINK: f64 = 159.0;
const CLUSTER_BYTES_PER_PAGE: f64 = 2060.0;

/// The project's targets on 2 idle cores, with links to other domains: for a million pages, the
/// last one for three million.
const AIM_PAGES_PER_S: f64 = 9500.0;
const AIM_CPU_US_PER_PAGE: f64 = 210.0;
const AIM_BYTES_PER_LINK: f64 = 45.0;
const AIM_WRITTEN: f64 = 2.0;
const AIM_MEMORY_MIB: f64 = 1024.0;
const AIM_LAST_TENTH: f64 = 0.80;

/// The project's targets for search, in both formats.
const AIM_INDEXED: f64 = 1.1;
const AIM_DELETED_PERCENT: f64 = 5.0;

/// Prints the measurements.
pub(crate) fn print(form: Form, measured: &Measured) {
    let pages = measured.number("pages") as f64;
    let links = measured.number("links") as f64;
    let seconds = measured.seconds().max(1e-9);
    let archive = measured.archive_bytes();
    println!(
        "\nload: {}, {} links, {} cores",
        form.word(),
        form.links(),
        cores()
    );
    println!(
        "{pages:.0} pages and {links:.0} links from {:.1} MiB in {seconds:.1} s ({:.1} s including start \
         and end)",
        mib(measured.input_bytes),
        measured.wall.as_secs_f64()
    );
    // The cluster read WAT and kept links to other domains, so its figures are printed only for the
    // same job.
    let compared = form == Form::Wat;
    heading(compared);
    row(
        "pages/s",
        pages / seconds,
        compared.then_some(CLUSTER_PAGES_PER_S),
        Some(AIM_PAGES_PER_S),
        compared,
    );
    row(
        "links/s",
        links / seconds,
        compared.then_some(CLUSTER_LINKS_PER_S),
        None,
        compared,
    );
    let bytes = archive as f64;
    row(
        "bytes on disk per page",
        bytes / pages,
        compared.then_some(CLUSTER_BYTES_PER_PAGE),
        None,
        compared,
    );
    row(
        "bytes on disk per link",
        bytes / links,
        compared.then_some(CLUSTER_BYTES_PER_LINK),
        Some(AIM_BYTES_PER_LINK),
        compared,
    );
    row(
        "bytes written / size",
        measured.seen.written_bytes as f64 / bytes,
        None,
        Some(AIM_WRITTEN),
        compared,
    );
    row(
        "CPU us per page",
        measured.cpu_us_per_page(),
        None,
        Some(AIM_CPU_US_PER_PAGE),
        compared,
    );
    row(
        "peak memory, MiB",
        mib(measured.seen.memory_bytes),
        None,
        Some(AIM_MEMORY_MIB),
        compared,
    );
    let (first, last) = (measured.rate_between(0.0, 0.1), measured.rate_between(0.9, 1.0));
    row("pages/s, first tenth", first, None, None, compared);
    row("pages/s, last tenth", last, None, None, compared);
    row(
        "last tenth / first",
        last / first,
        None,
        Some(AIM_LAST_TENTH),
        compared,
    );
    println!("MiB/s read: {:.1}", mib(measured.input_bytes) / seconds);
    print_search(measured, pages);
    let parts: Vec<String> = measured
        .parts
        .iter()
        .map(|part| format!("{} {:.1} MiB", part.name, mib(part.bytes)))
        .collect();
    println!("archive: {:.1} MiB ({})", mib(archive), parts.join(", "));
    print_stages(measured);
}

fn print_search(measured: &Measured, pages: f64) {
    let search = measured.search;
    println!(
        "search: a page was indexed {:.2} times (aim: {AIM_INDEXED}), {:.1} % of the documents on disk are \
         deleted (aim: {AIM_DELETED_PERCENT})",
        search.indexed / pages,
        100.0 * search.deleted / search.on_disk.max(1.0)
    );
}

fn heading(compared: bool) {
    if compared {
        println!(
            "{:<24}{:>12}{:>14}{:>9}{:>12}",
            "", "Weft", "20 nodes", "ratio", "aim"
        )
    } else {
        println!("{:<24}{:>12}", "", "Weft")
    }
}

fn row(name: &str, found: f64, cluster: Option<f64>, aim: Option<f64>, compared: bool) {
    let mut line = format!("{name:<24}{:>12}", number(found));
    if compared {
        match cluster {
            Some(cluster) => line.push_str(&format!("{:>14}{:>8.2}x", number(cluster), found / cluster)),
            None => line.push_str(&format!("{:>14}{:>9}", "", "")),
        }
        line.push_str(&format!("{:>12}", aim.map(number).unwrap_or_default()));
    }
    println!("{}", line.trim_end());
}

fn print_stages(measured: &Measured) {
    let Some(stages) = measured.job.get("stages").and_then(|stages| stages.as_array()) else {
        return;
    };
    println!(
        "{:<12}{:>8}{:>12}{:>12}{:>12}",
        "stage", "threads", "items", "ms per item", "batch mean"
    );
    for stage in stages {
        let text = |name: &str| {
            stage
                .get(name)
                .and_then(|value| value.as_str())
                .unwrap_or_default()
        };
        let value = |name: &str| {
            stage
                .get(name)
                .and_then(serde_json::Value::as_f64)
                .unwrap_or_default()
        };
        println!(
            "{:<12}{:>8}{:>12}{:>12.3}{:>12.1}",
            text("stage"),
            value("threads"),
            value("done"),
            value("ms_per_item"),
            value("batch_mean")
        );
    }
}

/// Formats a number with two decimals if it is small, and none if it is large.
fn number(value: f64) -> String {
    if value.abs() < 10.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.0}")
    }
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
