// SPDX-License-Identifier: MIT OR Apache-2.0
//! A scaling curve held against a bound: for tests and CI.
use crate::Options;
use crate::curve::Curve;
use crate::finding::finding;
use crate::units;
use corefold_explain::Explained;

/// What is to be said if the speed-up at the most CPUs is below `least`, or is not known.
pub fn below(runs: &[Explained], options: &Options, least: f64) -> Option<String> {
    let curve = Curve::new(runs, options.work);
    let (base, last) = (curve.base()?, curve.last()?);
    let how = curve.how();
    let (cpus, from) = (units::counted(last.cpus(), "CPU"), units::counted(base.cpus(), "CPU"));
    let said = match last.speedup {
        Some(speedup) if speedup >= least => return None,
        Some(speedup) => {
            format!(
                "the speed-up from {from} to {cpus} is {}×, below {}×",
                units::factor(speedup),
                units::factor(least)
            )
        }
        None => format!("the speed-up from {from} to {cpus} is not known"),
    };
    Some(format!("{said} ({how})\n{}", finding(&curve).text()).trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::timed;

    #[test]
    fn the_speed_up_at_the_most_cpus_is_held_against_the_bound() {
        let runs = [timed(16, 50), timed(1, 1000), timed(4, 250)];
        assert_eq!(below(&runs, &Options::default(), 20.0), None);
        let said = below(&runs, &Options::default(), 20.5).expect("it is below");
        assert_eq!(below(&runs[..1], &Options::default(), 20.0).map(|said| said.contains("is not known")), Some(true));
        assert!(said.starts_with("the speed-up from 1 CPU to 16 CPUs is 20.0×, below 20.5× (time for the"), "{said}");
    }
}
