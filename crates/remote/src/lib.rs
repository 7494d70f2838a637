//! Inputs that are not local files: S3, HTTPS and our own store, read by ranges.
