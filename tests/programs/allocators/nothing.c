// SPDX-License-Identifier: MIT OR Apache-2.0
// Stands for a library that is made of other sources.
