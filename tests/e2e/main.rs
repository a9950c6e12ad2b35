// SPDX-License-Identifier: MIT OR Apache-2.0
//! End-to-end tests: real programs, compiled by the built `corefold cc`, run by the built `corefold run`.
mod harness;

mod allocators;
mod assembly;
mod case;
mod compilers;
mod conformance;
mod demo;
mod determinism;
mod docs;
mod duration;
mod endings;
mod explore;
mod host;
mod json;
mod leveldb;
mod libraries;
mod library_locks;
mod limits;
mod lmdb;
mod locks;
mod machine;
mod mechanisms;
mod memory_order;
mod mimalloc;
mod names;
mod negatives;
mod openmp;
mod programs;
mod progress;
mod projects;
mod scaling;
mod spins;
mod tsan;
mod xz;
mod zstd;
