//! A command that is run for a file, without a shell.

use std::process::{Command, Stdio};

use super::act::{Done, Not, Ready};
use crate::condition::name_of;
use crate::plan::path_of;

/// Runs a command for a file, without a shell.
pub(super) fn run_command(command: &[String], ready: &Ready<'_>) -> Result<Done, Not> {
    let path = path_of(&ready.item.path);
    let mut arguments = command.iter().map(|argument| fill(argument, ready));
    let program = arguments.next().unwrap_or_default();
    let output = Command::new(&program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .map_err(|error| Not::failed(&format!("{} cannot be run", program.display()), error))?;
    if output.status.success() {
        return Ok(Done::new(format!("{} said that it was done", program.display())));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said
        .lines()
        .last()
        .unwrap_or("without a word")
        .chars()
        .take(300)
        .collect::<String>();
    Err(Not::Failed(format!(
        "{} for {}: {}: {said}",
        program.display(),
        path.display(),
        output.status
    )))
}

/// Puts what a command is to know in the place of `{path}`, `{name}`, `{size}` and `{tree}`.
fn fill(argument: &str, ready: &Ready<'_>) -> std::ffi::OsString {
    let mut out = Vec::new();
    let mut rest = argument;
    while let Some(open) = rest.find('{') {
        out.extend_from_slice(&rest.as_bytes()[..open]);
        rest = &rest[open..];
        let size = ready.file.size_bytes.to_string();
        let known: [(&str, &[u8]); 4] = [
            ("{path}", &ready.item.path),
            ("{name}", name_of(&ready.item.path)),
            ("{size}", size.as_bytes()),
            ("{tree}", &ready.item.tree),
        ];
        match known.iter().find(|(name, _)| rest.starts_with(name)) {
            Some((name, value)) => {
                out.extend_from_slice(value);
                rest = &rest[name.len()..];
            }
            None => {
                out.push(b'{');
                rest = &rest[1..];
            }
        }
    }
    out.extend_from_slice(rest.as_bytes());
    std::os::unix::ffi::OsStringExt::from_vec(out)
}
