// SPDX-License-Identifier: MIT OR Apache-2.0
//! The finding: what limits scaling, how much, and what to try against it, in a few sentences.
mod cause;
mod kind;
mod remedy;
mod words;

pub use cause::{cpu_time, unrecorded};
pub use words::how_it_failed;

use crate::accuracy::CodeKind;
use crate::curve::Curve;
use cause::cause;

/// The finding, as a few sentences.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Finding {
    /// What kind of cause, for programs: [`cause::Cause::name`], or `unknown` if no run finished; `seed` if it cannot be told.
    pub name: &'static str,
    /// `None`: no one kind.
    pub kind: Option<CodeKind>,
    /// How much faster than on the fewest CPUs; empty with one count only.
    pub speed: String,
    pub cause: String,
    /// What to try against it; empty where nothing is known, or the cause says it.
    pub remedy: String,
    /// A run that failed, in words.
    pub failure: String,
}

impl Finding {
    /// The sentences that there are, as one paragraph.
    pub fn text(&self) -> String {
        let parts = [&self.failure, &self.speed, &self.cause, &self.remedy];
        parts.into_iter().filter(|s| !s.is_empty()).map(String::as_str).collect::<Vec<_>>().join(" ")
    }
}

pub fn finding(curve: &Curve) -> Finding {
    let failure = words::failure(curve);
    if let Some(cause) = words::held_up(curve) {
        return Finding { name: "seed", cause, failure, ..Finding::default() };
    }
    let speed = words::speed(curve);
    let (name, kind, cause, remedy) = match curve.last() {
        Some(point) => {
            let cause = cause(curve, point);
            (cause.name(), kind::kind(&cause), words::cause(curve, point, &cause), remedy::remedy(point, &cause))
        }
        None => ("unknown", None, String::new(), String::new()),
    };
    // Beside a failure the sentence must say which run it is about; an empty one says nothing.
    let cause = match curve.last() {
        Some(_) if !failure.is_empty() && speed.is_empty() && name == "nothing" => String::new(),
        Some(point) if !failure.is_empty() && speed.is_empty() => {
            format!("{}: {}", words::at(point.cpus()), words::within(&cause))
        }
        _ => cause,
    };
    Finding { name, kind, speed, cause, remedy, failure }
}

#[cfg(test)]
mod tests;
