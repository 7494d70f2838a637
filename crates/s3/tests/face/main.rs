//! The server as its clients see it: over real volumes, on a loopback port, with other people's programs.

mod away;
mod boto3;
mod bytes;
mod clients;
mod connections;
mod gateway;
mod gateway_reads;
mod log;
mod object_store_client;
mod ranges;
mod sign;
mod signatures;
mod strict;
mod support;
mod tls;
