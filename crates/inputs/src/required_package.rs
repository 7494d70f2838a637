//! Packages that other packages need (`relation.requires` in `datapackage.json`): crawls without
//! duplicates have revisits there, whose content is in packages of earlier crawls.

use crate::PACKAGE_REQUIRES;
use crate::discovery::DiscoveryWarning;

/// A package that another package needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequiredPackage {
    /// Name of the description that says it.
    pub name: String,
    /// File name of the package, not empty.
    pub filename: String,
}

impl RequiredPackage {
    /// Returns whether an input with this name is a member of the package.
    pub fn has_input(&self, name: &str) -> bool {
        name.match_indices(self.filename.as_str()).any(|(at, found)| {
            let is_whole_name = at == 0 || name[..at].ends_with(['/', '#']);
            is_whole_name && name[at + found.len()..].starts_with(['#', '?'])
        })
    }

    /// Returns what the description says, for readers.
    pub fn note(&self) -> String {
        format!(
            "needs {}: revisits here refer to content in that package",
            self.filename
        )
    }

    /// Returns the warning for a package that was not found.
    pub fn missing(&self) -> DiscoveryWarning {
        DiscoveryWarning {
            name: self.name.clone(),
            reason: PACKAGE_REQUIRES,
            detail: format!("{}; load it as well", self.note()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_the_package_are_recognised() {
        let required = RequiredPackage {
            name: "b.wacz#datapackage.json".into(),
            filename: "a.wacz".into(),
        };
        for (name, expected) in [
            ("a.wacz#archive/data.warc.gz", true),
            ("crawls/2024/a.wacz#archive/data.warc.gz", true),
            ("all.wacz#a.wacz#archive/data.warc.gz", true),
            ("https://h.example/a.wacz?v=1#archive/data.warc.gz", true),
            ("extra.wacz#archive/data.warc.gz", false),
            ("a.wacz.old#archive/data.warc.gz", false),
            ("a.wacz", false),
            ("", false),
        ] {
            assert_eq!(required.has_input(name), expected, "{name}");
        }
    }
}
