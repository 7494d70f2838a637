//! The plain driver: changes inputs of a corpus at random and hands them to a target, again and again.
//!
//! Invariant: the input of a step is a function of target, corpus, seed and the step's number.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, io, process, thread};

use parking_lot::Mutex;

use crate::mutate::{INPUT_BYTES_MAX, mutate};
use crate::random::Random;
use crate::targets::Target;

/// An input that takes longer is a fault like a panic: readers promise time linear in their input. Generous, because
/// machines are shared.
const STEP_TIME_MAX: Duration = Duration::from_secs(30);

/// How to run a target.
#[derive(Debug, Clone)]
pub struct Driver {
    /// Decides all inputs.
    pub seed: u64,
    /// Ends after so long, once the corpus itself was tried.
    pub time_max: Duration,
    /// Ends after so many steps.
    pub steps_max: u64,
    /// Inputs to begin from, beside the target's own seeds: files or folders, as libFuzzer keeps them.
    pub corpus: Vec<PathBuf>,
    /// Files or folders of real content, of which the target makes inputs.
    pub files: Vec<PathBuf>,
    /// Where an input that fails is kept.
    pub artifacts_dir: PathBuf,
}

/// What a run without failure did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Inputs of the corpus.
    pub corpus_inputs: usize,
    /// Changed inputs that were tried.
    pub steps: u64,
}

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The target refused an input.
    #[error("{target}, seed {seed}, step {step}: {message}; the input is kept as {}", artifact.display())]
    Refused {
        /// Name of the target.
        target: &'static str,
        /// Seed of the run.
        seed: u64,
        /// Number of the step; `None` for an input of the corpus.
        step: String,
        /// What the target's assertion or panic said.
        message: String,
        /// File that holds the input.
        artifact: PathBuf,
    },
    /// The corpus could not be read, or an input not be kept.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// The input under way, for the watchdog.
type UnderWay = Arc<Mutex<Option<(Instant, Vec<u8>)>>>;

impl Driver {
    /// Tries the corpus, then changed inputs until time or steps are over.
    ///
    /// # Errors
    /// The first input that the target refuses, and files that cannot be read.
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

    /// The input of a step.
    fn input(&self, target: &Target, corpus: &[Vec<u8>], step: u64) -> Vec<u8> {
        // Each step has numbers of its own, so that any step can be made again without those before it.
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

    /// Ends the process when an input takes too long: a thread that does not come back cannot be stopped otherwise.
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

/// What is in the files and folders.
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

/// The files of a folder in the order of their names, or the file itself.
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

/// Writes an input into the folder of artifacts, named by its content, as libFuzzer does.
fn keep(dir: &Path, target: &str, input: &[u8]) -> Result<PathBuf, Failure> {
    // FNV-1a: the name only has to tell inputs apart.
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
