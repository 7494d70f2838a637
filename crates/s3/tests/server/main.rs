//! Tests of the server as clients see it: on real volumes and a loopback port, with third-party
//! clients.

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
