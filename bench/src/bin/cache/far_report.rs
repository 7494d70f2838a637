//! Prints the table of the groups, next to Momo's figures.

use anyhow::Context;

use crate::far::QUESTIONS;
use crate::link::Counted;
use crate::requests::Kind;

/// One run of a question.
pub(crate) struct Run {
    pub(crate) seconds: f64,
    /// Traffic through the link.
    pub(crate) passed: Counted,
}

/// All runs of all questions.
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) questions: Vec<Vec<Run>>,
    /// Size of the cache's directory.
    pub(crate) disk_bytes: Option<u64>,
}

/// The first run, and the mean of the others.
struct Means {
    first_s: f64,
    warm_s: f64,
    first_bytes: u64,
    warm_bytes: f64,
    /// Requests for data, HEADs and lists in the first run; the next field has those of the others.
    first_requests: [u64; 3],
    warm_requests: [f64; 3],
}

impl Group {
    fn means(&self, question: usize) -> anyhow::Result<Means> {
        let runs = self.questions.get(question).context("a query without runs")?;
        let (first, warm) = runs.split_first().context("no runs")?;
        let mean = |of: &dyn Fn(&Run) -> f64| warm.iter().map(of).sum::<f64>() / warm.len().max(1) as f64;
        let kinds = [Kind::Data, Kind::Head, Kind::List].map(|kind| kind as usize);
        Ok(Means {
            first_s: first.seconds,
            warm_s: mean(&|run| run.seconds),
            first_bytes: first.passed.bytes[Kind::Data as usize],
            warm_bytes: mean(&|run| run.passed.bytes[Kind::Data as usize] as f64),
            first_requests: kinds.map(|kind| first.passed.requests[kind]),
            warm_requests: kinds.map(|kind| mean(&|run| run.passed.requests[kind] as f64)),
        })
    }
}

/// Prints groups, compared with the one that is called `no cache`.
///
/// # Errors
/// There is no such group.
pub(crate) fn print(groups: &[Group]) -> anyhow::Result<()> {
    let without = groups
        .iter()
        .find(|group| group.name == "no cache")
        .context("there is no group without a cache")?;
    println!(
        "\n{:<20}{:<17}{:>8}{:>8}{:>9}{:>8}{:>12}{:>9}{:>16}{:>16}",
        "question",
        "group",
        "first s",
        "warm s",
        "speed-up",
        "hits %",
        "first MB",
        "warm MB",
        "GET/HEAD/list",
        "warm"
    );
    for (index, (question, _)) in QUESTIONS.iter().enumerate() {
        let base = without.means(index)?;
        for group in groups {
            let means = group.means(index)?;
            let hits = if base.warm_bytes > 0.0 {
                100.0 * (1.0 - means.warm_bytes / base.warm_bytes)
            } else {
                0.0
            };
            let [get, head, list] = means.first_requests;
            let [warm_get, warm_head, warm_list] = means.warm_requests;
            println!(
                "{question:<20}{:<17}{:>8.2}{:>8.2}{:>9.1}{hits:>8.1}{:>12.1}{:>9.1}{:>16}{:>16}",
                group.name,
                means.first_s,
                means.warm_s,
                base.warm_s / means.warm_s,
                means.first_bytes as f64 / 1e6,
                means.warm_bytes / 1e6,
                format!("{get}/{head}/{list}"),
                format!("{warm_get:.0}/{warm_head:.0}/{warm_list:.0}")
            );
        }
    }
    for group in groups {
        if let Some(bytes) = group.disk_bytes {
            println!("{}: {} MB on disk", group.name, bytes / 1_000_000);
        }
    }
    println!(
        "speed-up compared with no cache (aim: 4; Alluxio at Momo: 1.5 to 3 on the same nodes, none with 5 \
         to 10 GB); first run (aim: at most 1.1 times the time without a cache)"
    );
    Ok(())
}
