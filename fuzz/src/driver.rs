//! The plain driver: repeatedly mutates inputs of a corpus at random and passes them to a target.
//!
//! Invariant: the input of a step is a function of target, corpus, seed and step number.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, io, process, thread};

use parking_lot::Mutex;

use crate::mutate::{INPUT_BYTES_MAX, mutate};
use crate::random::Random;
use crate::targets::Target;

/// An input that takes longer is a failure, like a panic: readers promise time linear in their
/// input. The limit is generous, because machines are shared.
const STEP_TIME_MAX: Duration = Duration::from_secs(30);

/// Settings of a run.
#[derive(Debug, Clone)]
pub struct Driver {
    /// Seed of all inputs.
    pub seed: u64,
    /// Time limit, after the corpus itself has been tried.
    pub time_max: Duration,
    /// Maximum number of steps.
    pub steps_max: u64,
    /// Initial inputs in addition to the target's own seeds: files or folders in libFuzzer's
    /// layout.
    pub corpus: Vec<PathBuf>,
    /// Files or folders of real content, which the target converts to inputs.
    pub files: Vec<PathBuf>,
    /// Folder for inputs that fail.
    pub artifacts_dir: PathBuf,
}

/// The result of a run without failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Number of inputs in the corpus.
    pub corpus_inputs: usize,
    /// Number of mutated inputs tried.
    pub steps: u64,
}

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The target failed on an input.
    #[error("{target}, seed {seed}, step {step}: {message}; the input is saved as {}", artifact.display())]
    Refused {
        /// Name of the target.
        target: &'static str,
        /// Seed of the run.
        seed: u64,
        /// Number of the step, or of the input in the corpus.
        step: String,
        /// Message of the assertion or panic.
        message: String,
        /// File that holds the input.
        artifact: PathBuf,
    },
    /// The corpus could not be read, or an input could not be saved.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

/// The input being tried, for the watchdog.
type UnderWay = Arc<Mutex<Option<(Instant, Vec<u8>)>>>;

impl Driver {
    /// Tries the corpus, then mutated inputs until the limit on time or steps is reached.
    ///
    /// # Errors
    /// Fails on the first input that the target rejects, and if files cannot be read.
    pub fn run(&self, target: &Target) -> Result<Outcome, Failure> {
        let corpus = self.corpus(target)?;
        let under_way = UnderWay::default();
        self.watch(target, &under_way);
        for (number, input) in corpus.iter().enumerate() {
            self.step(target, input.clone(), &format!("corpus {number}"), &under_way)?;
        }
        let started = Instant::now();
        let mut steps = 0;
        while steps < self.steps_max && started.elapsed() < self.time_max {
            let input = self.input(target, &corpus, steps);
            self.step(target, input, &steps.to_string(), &under_way)?;
            steps += 1;
        }
        Ok(Outcome {
            corpus_inputs: corpus.len(),
            steps,
        })
    }

    /// Returns the input of a step.
    fn input(&self, target: &Target, corpus: &[Vec<u8>], step: u64) -> Vec<u8> {
        // Each step has its own random numbers, so that any step can be repeated without the
        // previous ones.
        let mut random = Random::new(self.seed.wrapping_add(step.wrapping_mul(0xa076_1d64_78bd_642f)));
        let mut input = corpus
            .get(random.below(corpus.len()))
            .cloned()
            .unwrap_or_default();
        mutate(&mut input, corpus, target.tokens, &mut random);
        input
    }

    fn step(&self, target: &Target, input: Vec<u8>, step: &str, under_way: &UnderWay) -> Result<(), Failure> {
        *under_way.lock() = Some((Instant::now(), input.clone()));
        let done = catch_unwind(AssertUnwindSafe(|| (target.run)(&input)));
        *under_way.lock() = None;
        let Err(panic) = done else { return Ok(()) };
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let message = text
            .or(panic.downcast_ref::<&str>().copied())
            .unwrap_or("a panic");
        Err(Failure::Refused {
            target: target.name,
            seed: self.seed,
            step: step.to_owned(),
            message: message.to_owned(),
            artifact: keep(&self.artifacts_dir, target.name, &input)?,
        })
    }

    /// Ends the process if an input takes too long: there is no other way to stop a hanging thread.
    fn watch(&self, target: &Target, under_way: &UnderWay) {
        let (name, dir, under_way) = (target.name, self.artifacts_dir.clone(), Arc::downgrade(under_way));
        thread::spawn(move || {
            while let Some(under_way) = under_way.upgrade() {
                let late = under_way
                    .lock()
                    .clone()
                    .filter(|(since, _)| since.elapsed() > STEP_TIME_MAX);
                if let Some((_, input)) = late {
                    eprintln!(
                        "{name}: an input took longer than {STEP_TIME_MAX:?}: {:?}",
                        keep(&dir, name, &input)
                    );
                    process::exit(101);
                }
                drop(under_way);
                thread::sleep(Duration::from_millis(200));
            }
        });
    }

    fn corpus(&self, target: &Target) -> Result<Vec<Vec<u8>>, Failure> {
        let mut corpus = (target.seeds)();
        corpus.extend(contents(&self.corpus)?);
        corpus.extend(contents(&self.files)?.into_iter().map(target.from_file));
        Ok(corpus)
    }
}

/// Returns the contents of the files and of the files in the folders.
fn contents(paths: &[PathBuf]) -> Result<Vec<Vec<u8>>, Failure> {
    let mut contents = Vec::new();
    for path in paths {
        for file in files(path)? {
            let mut bytes = fs::read(&file).map_err(|source| Failure::Io { path: file, source })?;
            bytes.truncate(INPUT_BYTES_MAX);
            contents.push(bytes);
        }
    }
    Ok(contents)
}

/// Returns the files in a folder in order of name, or the file itself.
fn files(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let failed = |source| Failure::Io {
        path: path.to_owned(),
        source,
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        if file.is_file() {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

/// Saves an input in the folder of artifacts. Its name depends on its content, as in libFuzzer.
fn keep(dir: &Path, target: &str, input: &[u8]) -> Result<PathBuf, Failure> {
    // FNV-1a: the name only needs to distinguish inputs.
    let sum = input.iter().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let dir = dir.join(target);
    let path = dir.join(format!("crash-{sum:016x}"));
    fs::create_dir_all(&dir)
        .and_then(|()| fs::write(&path, input))
        .map_err(|source| Failure::Io {
            path: path.clone(),
            source,
        })?;
    Ok(path)
}
