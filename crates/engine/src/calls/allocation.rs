// SPDX-License-Identifier: MIT OR Apache-2.0
//! malloc and its family, over a heap laid out as glibc lays its own out.
pub mod arenas;
pub mod heap;
pub mod libraries;
pub mod malloc;
pub mod operators;
pub mod shim;
