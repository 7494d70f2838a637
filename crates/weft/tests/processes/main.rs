//! The real program in several processes: killed, short of disk, and at work together.

mod broken;
mod crash;
mod full_disk;
mod program;
mod together;
