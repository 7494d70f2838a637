//! The S3 face of the store.
