// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nothing: cargo wants a target.
