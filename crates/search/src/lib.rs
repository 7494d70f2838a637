//! Full-text search over pages.
