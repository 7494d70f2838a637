//! The questions of docs/sql.md.

use std::path::Path;

use anyhow::Context;

/// A question.
pub(crate) struct Question {
    pub(crate) title: String,
    pub(crate) statement: String,
}

/// Questions that any engine can answer with the same statement: over facts only, without Weft's
/// functions.
const SHARED: [&str; 10] = [
    "Captures by top-level domain",
    "Largest domains",
    "Languages of pages",
    "Media types, declared and detected",
    "Status codes",
    "Captures of a host",
    "Duplicate content",
    "Growth by month",
    "Links between domains",
    "Links from one domain to another",
];

pub(crate) fn is_shared(question: &Question) -> bool {
    SHARED.contains(&&*question.title)
}

pub(crate) fn all() -> anyhow::Result<Vec<Question>> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/sql.md");
    let text = std::fs::read_to_string(&page).with_context(|| format!("read {}", page.display()))?;
    let (mut title, mut questions) = (String::new(), Vec::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(heading) = line.strip_prefix("### ") {
            title = heading.to_owned();
        }
        if line == "```sql" {
            let statement: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            let statement = statement.join("\n");
            // The archive has no catalogue of files.
            if !statement.contains("FROM file_") {
                questions.push(Question {
                    title: title.clone(),
                    statement,
                });
            }
        }
    }
    Ok(questions)
}
