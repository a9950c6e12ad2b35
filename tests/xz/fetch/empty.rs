// SPDX-License-Identifier: MIT OR Apache-2.0
//! Empty: this package exists for what it depends on.
