// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of objects, as the program or the runtime has given them.
use crate::carrier::Carrier;
use alloc::vec::Vec;
use corefold_recording::Label;

static LABELS: Carrier<Vec<Label>> = Carrier::new(Vec::new());

pub fn add(label: Label) {
    LABELS.with(|labels| labels.push(label));
}

/// An object may be named again.
pub fn add_once(label: Label) {
    LABELS.with(|labels| {
        if !labels.contains(&label) {
            labels.push(label);
        }
    });
}

pub fn all() -> Vec<Label> {
    LABELS.with(|labels| labels.clone())
}
