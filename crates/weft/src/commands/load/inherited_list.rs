//! Path lists from a pipe (`@/dev/stdin`, or a shell's `@<(...)`). This command reads them, because
//! the owner of the archive may be another process, which does not have the pipe.

use std::ffi::OsString;

use anyhow::{Context as _, bail};
use inputs::{path_text, read_inherited_list};

/// Replaces every list from a pipe by its lines.
pub(super) fn expand(arguments: &[OsString]) -> anyhow::Result<Vec<OsString>> {
    let mut expanded = Vec::new();
    for argument in arguments {
        match read_inherited_list(argument) {
            Some(lines) => {
                let lines = lines.with_context(|| format!("read {}", path_text(argument.as_ref())))?;
                expanded.extend(lines);
            }
            None => expanded.push(argument.clone()),
        }
    }
    if expanded.is_empty() && !arguments.is_empty() {
        bail!("nothing to load: the list is empty");
    }
    Ok(expanded)
}
