//! The documented list of metrics is what is exported.

use std::collections::BTreeMap;

use crate::fake::{get, router, sample};

const DOCUMENT: &str = include_str!("../../../../docs/operations.md");

/// A row of the documented list.
#[derive(Default)]
struct Row {
    help: String,
    kind: String,
    labels: Vec<String>,
}

/// The rows of an exported text, in the document's form, with the histograms' own label left out.
fn rows(text: &str) -> Vec<String> {
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    for line in text.lines() {
        if let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|line| line.split_once(' ')) {
            rows.entry(name).or_default().help = help.trim_end_matches('.').to_owned();
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|line| line.split_once(' '))
        {
            rows.entry(name).or_default().kind = kind.to_owned();
        } else if let Some((name, labels)) = line.split_once('{') {
            let whole = ["_bucket", "_sum", "_count"]
                .iter()
                .filter_map(|part| name.strip_suffix(part))
                .find(|name| rows.contains_key(name));
            let row = rows
                .get_mut(whole.unwrap_or(name))
                .expect("a head before its lines");
            row.labels = labels
                .split("=\"")
                .filter_map(|piece| piece.rsplit(['"', ',']).next())
                .filter(|label| !label.is_empty() && *label != "le" && !label.contains('}'))
                .map(str::to_owned)
                .collect();
        }
    }
    let row = |(name, Row { help, kind, labels }): (&str, Row)| {
        let labels: Vec<String> = labels.iter().map(|label| format!("`{label}`")).collect();
        format!("| `{name}` | {kind} | {} | {help} |", labels.join(", "))
    };
    rows.into_iter().map(row).collect()
}

#[tokio::test]
async fn every_metric_is_documented_and_no_other() {
    let router = router(sample);
    get(&router, "/api/v1/search?q=a").await;
    let exported = rows(&get(&router, "/metrics").await.body);
    let documented: Vec<&str> = DOCUMENT
        .lines()
        .filter(|line| line.starts_with("| `weft_"))
        .collect();
    assert!(
        documented == exported,
        "the list in docs/operations.md must be\n{}",
        exported.join("\n")
    );
}
