//! The real program in several processes: killed, out of disk space, and running concurrently.

mod broken;
mod crash;
mod facts_in_store;
mod files;
mod files_objects;
mod full_disk;
#[cfg(target_os = "linux")]
mod hanging;
mod owed;
mod people;
mod policies;
mod posts;
mod program;
mod redact;
mod s3_server;
mod together;
#[cfg(target_os = "linux")]
mod watch_losses;
