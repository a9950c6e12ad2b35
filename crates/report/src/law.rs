// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the Universal Scalability Law says of a curve, in words.
use crate::curve::Curve;
use crate::units;
use crate::usl::{Fit, Shape, fit};

/// Misses below this are not worth a place.
const EXACT: f64 = 0.001;
/// Coefficients below this are rounding.
const NIL: f64 = 1e-9;

/// Two sentences on contention, coherency and where the curve goes, or one on why there is no fit.
pub fn sentences(curve: &Curve) -> String {
    match fit(&curve.measurements()) {
        Ok(fit) if !fit.holds() => {
            format!("Universal Scalability Law: the law does not fit this curve ({}).", quality(&fit))
        }
        Ok(fit) => format!("Universal Scalability Law: {}. {}", coefficients(&fit), course(curve, &fit)),
        Err(why) => format!("Universal Scalability Law: {why}."),
    }
}

fn coefficients(fit: &Fit) -> String {
    let contention = match fit.sigma {
        s if s > 1.0 => format!("contention σ = {} (a second CPU costs more than it adds)", small(s)),
        s if s < NIL => "contention σ = 0 (no part is serial)".into(),
        s => format!("contention σ = {} ({} of the work is serial)", small(s), share(s)),
    };
    let coherency = match fit.kappa {
        k if k < NIL => "coherency κ = 0 (pairs of CPUs cost nothing)".into(),
        k => format!("coherency κ = {} (each pair of CPUs costs {} of one CPU's work)", small(k), share(k)),
    };
    format!("{contention}, {coherency}")
}

fn course(curve: &Curve, fit: &Fit) -> String {
    let value = |x: f64| {
        if curve.has_throughput() { units::rate(x) } else { units::factor(x) + "×" }
    };
    let last = curve.last().map_or(0, |p| p.cpus());
    let course = match fit.shape() {
        Shape::Linear => "So it grows with every CPU".into(),
        Shape::Saturates { limit } => format!("So it levels off towards {}", value(limit)),
        Shape::Peaks { cpus: 1, .. } => "So one CPU is the fastest".into(),
        Shape::Peaks { cpus, at } if cpus > last => {
            format!("So it would peak at {cpus} CPUs with {}, beyond what was run", value(at))
        }
        Shape::Peaks { cpus, at } => format!("So it peaks at {cpus} CPUs with {} and falls beyond", value(at)),
    };
    format!("{course} ({}).", quality(fit))
}

fn quality(fit: &Fit) -> String {
    let (cpus, miss) = fit.worst;
    let r_squared = fit.r_squared.map_or(String::new(), |r| format!("R² {}, ", r_text(r)));
    match miss {
        m if m < EXACT => format!("{r_squared}every point within {}", units::about(EXACT)),
        m => format!("{r_squared}at most {} off at {}", units::about(m), units::counted(cpus, "CPU")),
    }
}

/// Never rounded up to a perfect 1.
fn r_text(r: f64) -> String {
    if r > 0.999 && r < 0.9999 { "0.999".into() } else { format!("{r:.3}") }
}

/// A coefficient, to three significant digits.
fn small(x: f64) -> String {
    if x < 1e-4 { format!("{x:.1e}") } else { units::significant(x, 3) }
}

/// A share that may be very small.
fn share(x: f64) -> String {
    match x * 100.0 {
        p if p < 1e-4 => format!("{p:.0e}%"),
        p if p < 0.1 => format!("{}%", units::significant(p, 1)),
        _ => units::about(x),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Work;
    use crate::sample::timed;
    use corefold_explain::Explained;

    fn runs(cycles: impl Fn(f64) -> f64) -> Vec<Explained> {
        [1, 2, 4, 8, 16, 40, 80].map(|n| timed(n, (cycles(f64::from(n)) * 1e9) as u64)).to_vec()
    }

    fn said(cycles: impl Fn(f64) -> f64) -> String {
        sentences(&Curve::new(&runs(cycles), Work::Total))
    }

    #[test]
    fn each_shape_has_its_words() {
        let linear = said(|n| 1.0 / n);
        assert!(linear.contains("contention σ = 0 (no part is serial), coherency κ = 0"), "{linear}");
        assert!(linear.contains("So it grows with every CPU (R² 1.000, every point within 0.1%)."), "{linear}");
        let amdahl = said(|n| 0.1 + 0.9 / n);
        assert!(amdahl.contains("σ = 0.100 (10% of the work is serial)"), "{amdahl}");
        assert!(amdahl.contains("So it levels off towards 10.0×"), "{amdahl}");
        let collapse = said(|n| (1.0 + 0.05 * (n - 1.0) + 0.001 * n * (n - 1.0)) / n);
        assert!(collapse.contains("κ = 0.00100 (each pair of CPUs costs 0.1% of"), "{collapse}");
        assert!(collapse.contains("So it peaks at 31 CPUs with 9.0× and falls beyond"), "{collapse}");
        let beyond = said(|n| (1.0 + 0.00002 * n * (n - 1.0)) / n);
        assert!(beyond.contains("So it would peak at 224 CPUs with 112×, beyond what was run"), "{beyond}");
    }

    #[test]
    fn a_curve_that_the_law_does_not_fit_has_no_coefficients_and_no_peak() {
        let step = said(|n| if n > 20.0 { 0.5 } else { 1.0 / n });
        assert!(step.starts_with("Universal Scalability Law: the law does not fit this curve (R² "), "{step}");
        assert!(!step.contains("peak") && !step.contains('σ'), "{step}");
        // Points that scatter around a level: none far off, but the law does not describe them.
        let noise = said(|n| if (n as u32).is_power_of_two() && n > 2.0 { 1.15 } else { 1.0 });
        assert!(noise.contains("does not fit this curve"), "{noise}");
        let level = said(|n| if n > 4.0 { 1.02 } else { 1.0 });
        assert!(!level.contains("does not fit"), "{level}");
    }

    #[test]
    fn as_many_counts_as_unknowns_are_too_few() {
        let runs = [timed(1, 100), timed(2, 60), timed(4, 50)];
        let said = sentences(&Curve::new(&runs, Work::Total));
        let few = "Universal Scalability Law: 3 CPU counts are too few for a fit, which takes 5 that finished.";
        assert_eq!(said, few);
    }
}
