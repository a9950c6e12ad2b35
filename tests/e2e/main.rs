// SPDX-License-Identifier: MIT OR Apache-2.0
//! End-to-end tests: real programs, compiled by the built `corefold cc`, run by the built `corefold run`.
mod harness;

mod assembly;
mod case;
mod compilers;
mod conformance;
mod demo;
mod determinism;
mod docs;
mod endings;
mod explore;
mod json;
mod leveldb;
mod libraries;
mod limits;
mod lmdb;
mod locks;
mod machine;
mod mimalloc;
mod names;
mod negatives;
mod openmp;
mod programs;
mod projects;
mod scaling;
mod sharing;
mod spins;
mod tsan;
mod xz;
mod zstd;
