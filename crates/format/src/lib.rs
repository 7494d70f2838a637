//! Values as people and other programs read them: dates, numbers, and text that is safe for a terminal.
//!
//! The same functions serve the terminal, the browser and the API, so one value looks the same in all of them.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod date;
mod date_text;
pub mod file_name;
pub mod number;
pub mod terminal;
mod text_part;
mod value;

pub use text_part::TextPart;
pub use value::ParseValueError;
