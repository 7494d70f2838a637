//! Sample statements from `docs/sql.md`.

use std::sync::LazyLock;

const PAGE: &str = include_str!("../../../docs/sql.md");

/// A statement with its title.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleQuestion {
    /// What it answers, in a few words.
    pub title: &'static str,
    /// The statement.
    pub statement: String,
}

/// The sample statements of `docs/sql.md`, in order.
pub static QUESTIONS: LazyLock<Vec<SampleQuestion>> = LazyLock::new(|| {
    let mut title = "";
    let mut questions = Vec::new();
    let mut lines = PAGE.lines();
    while let Some(line) = lines.next() {
        title = line.strip_prefix("### ").unwrap_or(title);
        if line == "```sql" {
            let statement: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            questions.push(SampleQuestion {
                title,
                statement: statement.join("\n"),
            });
        }
    }
    questions
});
