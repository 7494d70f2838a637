//! Limits of workers.

/// Limits for one document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Time, in seconds.
    pub seconds: u64,
    /// Address space of a worker, in MiB; the program itself takes a part of it.
    pub memory_mebibytes: u64,
}

impl Default for Limits {
    /// 10 s and 512 MiB: seventy times the time of the slowest of some fifty sample files (0.14 s
    /// for 70 KB of text), and memory for a document of 16 MiB that unpacks to ten times as much.
    fn default() -> Limits {
        Limits {
            seconds: 10,
            memory_mebibytes: 512,
        }
    }
}
