//! Runs a command for a file, without a shell.
//!
//! The command gets a separate process group. It has ended when its outputs are closed too, so
//! programs that it started are waited for. If it takes too long, prints too much or is stopped,
//! the whole group is killed.

use std::io::Read;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use super::outcome::{ActError, CheckedFile, Outcome};
use crate::condition::name_of;
use crate::path::path_of;
use crate::rules::CommandLimits;

/// Number of bytes kept from the end of standard error. The log shows their last line.
const TAIL_BYTES: usize = 4096;

/// Maximum interval at which to check whether a command has ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Time that a command has to end after SIGTERM before it is killed.
const GRACE: Duration = Duration::from_secs(5);

/// Runs a command for a file, without a shell.
pub(super) fn run_command(
    words: &[String],
    limits: CommandLimits,
    ready: &CheckedFile<'_>,
    stop: &AtomicBool,
) -> Result<Outcome, ActError> {
    let path = path_of(&ready.item.path);
    let mut arguments = words.iter().map(|argument| substitute(argument, ready));
    let program = arguments.next().unwrap_or_default();
    let failed =
        |why: String| ActError::Failed(format!("{} for {}: {why}", program.display(), path.display()));
    let child = Command::new(&program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| ActError::failed(&format!("{} cannot be run", program.display()), error))?;
    let mut running = RunningCommand::new(child);
    let ended = running.wait(limits, stop);
    let last_line = running.last_line();
    match ended {
        Ok(status) if status.success() => Ok(Outcome::new(format!(
            "{} said that it was done",
            program.display()
        ))),
        Ok(status) => Err(failed(format!("{status}: {last_line}"))),
        Err(why) => Err(failed(format!("{why}; it said last: {last_line}"))),
    }
}

/// Why a command did not end by itself.
#[derive(Debug, thiserror::Error)]
enum CommandError {
    /// It exceeded its limit of output.
    #[error("killed: it printed more than {max_bytes} bytes (output_max)")]
    Output { max_bytes: u64 },
    /// It exceeded its limit of time.
    #[error("killed: it took more than {} s (time_max)", *max_ms as f64 / 1000.0)]
    Time { max_ms: u64 },
    /// The run was stopped.
    #[error("killed: the run was stopped")]
    Stop,
    /// Its status could not be read.
    #[error(transparent)]
    Status(#[from] std::io::Error),
}

/// A command that has been started.
struct RunningCommand {
    child: Child,
    output: Arc<CommandOutput>,
}

/// The output of a command.
#[derive(Default)]
struct CommandOutput {
    bytes: AtomicU64,
    /// Number of closed outputs, of two.
    closed: AtomicU64,
    /// The end of its standard error.
    tail: parking_lot::Mutex<Vec<u8>>,
}

impl RunningCommand {
    fn new(mut child: Child) -> RunningCommand {
        let output = Arc::new(CommandOutput::default());
        let outputs: [(Option<Box<dyn Read + Send>>, bool); 2] = [
            (child.stdout.take().map(|pipe| Box::new(pipe) as _), false),
            (child.stderr.take().map(|pipe| Box::new(pipe) as _), true),
        ];
        for (pipe, is_kept) in outputs {
            let output = output.clone();
            // The thread is not joined, because a program that left the group may hold the output
            // open forever.
            std::thread::spawn(move || {
                if let Some(pipe) = pipe {
                    output.read(pipe, is_kept);
                }
                output.closed.fetch_add(1, Relaxed);
            });
        }
        RunningCommand { child, output }
    }

    /// Waits until the command and the processes it started have ended. Kills them if they exceed a
    /// limit.
    fn wait(&mut self, limits: CommandLimits, stop: &AtomicBool) -> Result<ExitStatus, CommandError> {
        let began = system::now();
        let mut pause = Duration::from_millis(1);
        let why = loop {
            if self.has_ended() && self.output.closed.load(Relaxed) == 2 {
                return Ok(self.child.wait()?);
            }
            if self.output.bytes.load(Relaxed) > limits.output_bytes {
                break CommandError::Output {
                    max_bytes: limits.output_bytes,
                };
            }
            if system::since(began) >= Duration::from_millis(limits.time_ms) {
                break CommandError::Time {
                    max_ms: limits.time_ms,
                };
            }
            if stop.load(Relaxed) {
                break CommandError::Stop;
            }
            system::pause(pause);
            pause = (pause * 2).min(LOOK_EVERY);
        };
        self.kill();
        Err(why)
    }

    /// Returns whether the command itself has ended. It stays a zombie, so that its process id is
    /// not reused.
    fn has_ended(&self) -> bool {
        let Some(pid) = self.pid() else { return true };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(rustix::process::waitid(WaitId::Pid(pid), options), Ok(None))
    }

    /// Terminates the process group, then kills it.
    fn kill(&mut self) {
        let Some(group) = self.pid() else { return };
        // An error means that no process is left.
        let _ = rustix::process::kill_process_group(group, Signal::TERM);
        let asked = system::now();
        while system::since(asked) < GRACE && !(self.has_ended() && self.output.closed.load(Relaxed) == 2) {
            system::pause(LOOK_EVERY);
        }
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
        let _ = self.child.wait();
    }

    fn pid(&self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.child.id()).ok()?)
    }

    fn last_line(&self) -> String {
        let tail = self.output.tail.lock();
        let text = String::from_utf8_lossy(&tail);
        let line = text.lines().next_back().unwrap_or("nothing");
        line.chars().take(300).collect()
    }
}

impl CommandOutput {
    fn read(&self, mut pipe: Box<dyn Read + Send>, is_kept: bool) {
        let mut piece = [0; 8192];
        while let Ok(read @ 1..) = pipe.read(&mut piece) {
            self.bytes.fetch_add(read as u64, Relaxed);
            if is_kept {
                let mut tail = self.tail.lock();
                tail.extend_from_slice(&piece[..read]);
                let excess = tail.len().saturating_sub(TAIL_BYTES);
                tail.drain(..excess);
            }
        }
    }
}

/// Replaces `{path}`, `{name}`, `{size}` and `{tree}` in an argument.
fn substitute(argument: &str, ready: &CheckedFile<'_>) -> std::ffi::OsString {
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
