// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;

const COUNTS: [u32; 9] = [1, 2, 4, 8, 16, 24, 40, 64, 80];

fn law(lambda: f64, sigma: f64, kappa: f64) -> impl Fn(u32) -> f64 {
    move |n| {
        let n = f64::from(n);
        lambda * n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0))
    }
}

fn curve(counts: &[u32], x: impl Fn(u32) -> f64) -> Vec<(u32, f64)> {
    counts.iter().map(|&n| (n, x(n))).collect()
}

#[track_caller]
fn assert_near(found: f64, wanted: f64, tolerance: f64) {
    assert!((found - wanted).abs() <= tolerance, "{found} is not within {tolerance} of {wanted}");
}

#[test]
fn known_coefficients_come_back() {
    for (lambda, sigma, kappa) in
        [(1.0, 0.0, 0.0), (1e7, 0.05, 0.0), (2.5e6, 0.0, 1e-4), (3e3, 0.02, 2e-4), (1.0, 0.9, 0.01), (1e-6, 1.5, 0.2)]
    {
        let fit = fit(&curve(&COUNTS, law(lambda, sigma, kappa))).unwrap();
        assert_near(fit.lambda / lambda, 1.0, 1e-9);
        assert_near(fit.sigma, sigma, 1e-9);
        assert_near(fit.kappa, kappa, 1e-9);
        assert_near(fit.worst.1, 0.0, 1e-9);
    }
}

#[test]
fn noise_of_five_percent_moves_them_little() {
    // Alternating, so that it is neither of the law's shapes.
    let (sigma, kappa) = (0.03, 3e-4);
    let clean = law(1e6, sigma, kappa);
    let noisy: Vec<_> =
        COUNTS.iter().enumerate().map(|(i, &n)| (n, clean(n) * if i % 2 == 0 { 1.05 } else { 0.95 })).collect();
    let fit = fit(&noisy).unwrap();
    assert_near(fit.sigma, sigma, 0.3 * sigma);
    assert_near(fit.kappa, kappa, 0.3 * kappa);
    assert!(fit.r_squared.unwrap() > 0.98);
    assert!(fit.worst.1 > 0.03 && fit.worst.1 < 0.15);
}

#[test]
fn the_curve_need_not_start_at_one() {
    let fit = fit(&curve(&[8, 16, 24, 40, 80], law(5e6, 0.04, 1e-4))).unwrap();
    assert_near(fit.sigma, 0.04, 1e-9);
    assert_near(fit.lambda, 5e6, 1.0);
}

#[test]
fn a_peak_is_a_whole_count_and_no_neighbour_is_higher() {
    let fit = fit(&curve(&COUNTS, law(1.0, 0.02, 0.002))).unwrap();
    let Shape::Peaks { cpus, at } = fit.shape() else { panic!("{:?}", fit.shape()) };
    assert_eq!(cpus, 22);
    assert!(at >= fit.at(f64::from(cpus - 1)) && at >= fit.at(f64::from(cpus + 1)));
}

#[test]
fn a_peak_beyond_all_sight_is_none() {
    let near = fit(&curve(&COUNTS, law(1.0, 0.0, 1e-5))).unwrap();
    assert!(matches!(near.shape(), Shape::Peaks { cpus: 316, .. }), "{:?}", near.shape());
    let far = fit(&curve(&COUNTS, law(1.0, 0.05, 1e-9))).unwrap();
    let Shape::Saturates { limit } = far.shape() else { panic!("{:?}", far.shape()) };
    assert_near(limit, 20.0, 0.01);
}

#[test]
fn superlinear_data_fit_as_linear() {
    let fit = fit(&curve(&[1, 2, 4, 8, 16], |n| f64::from(n).powf(1.2))).unwrap();
    assert_eq!((fit.sigma, fit.kappa), (0.0, 0.0));
    assert_eq!(fit.shape(), Shape::Linear);
    assert!(fit.worst.1 > 0.1, "and the misfit is seen: {:?}", fit.worst);
}

#[test]
fn flat_data_are_all_serial() {
    let fit = fit(&curve(&COUNTS, |_| 7.0)).unwrap();
    assert_near(fit.sigma, 1.0, 1e-6);
    assert_near(fit.kappa, 0.0, 1e-9);
    assert_eq!(fit.r_squared, None);
}

#[test]
fn a_collapse_at_the_second_cpu_peaks_at_one() {
    let fit = fit(&curve(&COUNTS, |n| if n == 1 { 10.0 } else { 2.0 })).unwrap();
    assert!(fit.sigma > 1.0);
    assert!(!matches!(fit.shape(), Shape::Linear));
    let falling = super::fit(&curve(&COUNTS, law(1.0, 1.2, 0.1))).unwrap();
    assert!(matches!(falling.shape(), Shape::Peaks { cpus: 1, .. }), "{:?}", falling.shape());
}

#[test]
fn too_little_or_impossible_data_say_why() {
    assert!(fit(&[(1, 1.0), (2, 2.0)]).unwrap_err().contains("2 CPU counts"));
    assert!(fit(&[(1, 1.0), (2, 2.0), (4, 3.0), (8, 4.0), (8, 4.1)]).unwrap_err().contains("4 CPU counts"));
    assert!(fit(&[]).unwrap_err().contains("0 CPU counts"));
    assert!(fit(&[(1, 1.0), (2, 0.0), (4, 2.0)]).unwrap_err().contains("at 2 CPUs"));
    assert!(fit(&[(1, 1.0), (2, f64::NAN), (4, 2.0)]).is_err());
}

#[test]
fn no_admissible_point_nearby_beats_the_fit() {
    let points = [(1, 1.0), (2, 1.9), (4, 3.1), (8, 5.2), (16, 5.0), (40, 3.3), (80, 2.6)];
    let rows = rows(&points);
    let best = non_negative_least_squares(&rows);
    let error = squared_error(&rows, &best);
    for i in 0..3 {
        for step in [-1e-3, -1e-5, 1e-5, 1e-3] {
            let mut moved = best;
            moved[i] = (moved[i] * (1.0 + step)).max(0.0);
            assert!(squared_error(&rows, &moved) >= error, "{best:?} is not least at {i}, {step}");
        }
    }
}
