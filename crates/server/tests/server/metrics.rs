//! The documented list of metrics matches the exported metrics.

use std::collections::BTreeMap;

use crate::fake::{get, router, sample};

const BOARD: &str = include_str!("../../../../packaging/grafana/weft.json");
const ALERTS: &str = include_str!("../../../../packaging/prometheus/weft.rules.yml");
const DOCUMENT: &str = include_str!("../../../../docs/operations/metrics.md");

/// A row of the documented list.
#[derive(Default)]
struct Row {
    help: String,
    kind: String,
    labels: Vec<String>,
}

/// Returns the rows of an exported text in the document's format. The label `le` of histograms is
/// left out.
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
        "the list in docs/operations/metrics.md must be\n{}",
        exported.join("\n")
    );
}

/// Returns the labels of each documented metric, and those that Prometheus adds to every target.
fn labels_by_metric() -> BTreeMap<String, Vec<String>> {
    let rows = DOCUMENT.lines().filter(|line| line.starts_with("| `weft_"));
    rows.map(|row| {
        let mut cells = row.trim_matches('|').split('|').map(str::trim);
        let mut plain = || cells.next().expect("a cell").replace('`', "");
        let (name, kind, labels) = (plain(), plain(), plain());
        let mut labels: Vec<String> = labels.split(", ").map(str::to_owned).collect();
        labels.extend(["instance", "job"].map(str::to_owned));
        labels.extend((kind == "histogram").then(|| "le".to_owned()));
        (name, labels)
    })
    .collect()
}

/// Checks that every metric in an expression is documented and has the labels used.
fn check_expression(expression: &str, metrics: &BTreeMap<String, Vec<String>>) {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let named: Vec<&str> = expression
        .split(|c: char| !word(c))
        .filter(|name| name.starts_with("weft_"))
        .collect();
    let mut known = Vec::new();
    for name in named {
        let whole = ["_bucket", "_sum", "_count"]
            .iter()
            .find_map(|part| name.strip_suffix(part));
        let labels = metrics.get(name).or_else(|| metrics.get(whole?));
        known.extend(
            labels
                .unwrap_or_else(|| panic!("{name} of {expression} is not a metric"))
                .iter()
                .cloned(),
        );
    }
    assert!(
        !known.is_empty() || expression.starts_with("up{"),
        "{expression} uses none of our metrics"
    );
    let grouped = expression
        .split("by (")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    let matched = expression
        .split('{')
        .skip(1)
        .filter_map(|rest| rest.split('}').next());
    let matched = matched.flat_map(|labels| {
        labels
            .split(',')
            .filter_map(|label| label.split(['=', '!']).next())
    });
    for label in grouped.flat_map(|labels| labels.split(", ")).chain(matched) {
        assert!(
            expression.starts_with("up{") || known.iter().any(|known| known == label),
            "{label} of {expression} is not a label of it"
        );
    }
}

#[test]
fn board_and_alerts_ask_for_metrics_that_are_there() {
    let metrics = labels_by_metric();
    let board: serde_json::Value = serde_json::from_str(BOARD).expect("JSON");
    let panels = board["panels"].as_array().expect("panels");
    let targets = panels
        .iter()
        .filter_map(|panel| panel["targets"].as_array())
        .flatten();
    let asked = targets.map(|target| target["expr"].as_str().expect("an expression"));
    let alerts = ALERTS
        .lines()
        .filter_map(|line| line.trim().strip_prefix("expr: "));
    let mut expressions = 0;
    for expression in asked.chain(alerts) {
        check_expression(expression, &metrics);
        expressions += 1;
    }
    assert!(expressions > 40, "only {expressions} were found");
}
