// SPDX-License-Identifier: MIT OR Apache-2.0
//! A mean and its 95 % confidence interval, by Student's t.

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub mean: f64,
    /// None: of one figure nothing is known but itself.
    pub half: Option<f64>,
}

/// The 97.5 % point of Student's t, below 0.0001 off.
fn student(degrees: usize) -> f64 {
    const EXACT: [f64; 10] = [12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281];
    if let Some(point) = EXACT.get(degrees - 1) {
        return *point;
    }
    // Abramowitz and Stegun 26.7.5.
    let (z, v) = (1.959_964_f64, degrees as f64);
    let z2 = z * z;
    z + z * (z2 + 1.0) / 4.0 / v
        + z * ((5.0 * z2 + 16.0) * z2 + 3.0) / 96.0 / v.powi(2)
        + z * (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / 384.0 / v.powi(3)
}

pub fn interval(figures: &[f64]) -> Interval {
    let count = figures.len() as f64;
    let mean = figures.iter().sum::<f64>() / count;
    if figures.len() < 2 {
        return Interval { mean, half: None };
    }
    let squares: f64 = figures.iter().map(|figure| (figure - mean).powi(2)).sum();
    Interval { mean, half: Some(student(figures.len() - 1) * (squares / (count - 1.0) / count).sqrt()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_by_hand() {
        let got = interval(&[8.0, 10.0, 10.0, 12.0]);
        assert!((got.mean - 10.0).abs() < 1e-12);
        assert!((got.half.unwrap() - 1.632_993_2 / 2.0 * 3.1824).abs() < 1e-4, "{got:?}");
        assert_eq!(interval(&[3.0]), Interval { mean: 3.0, half: None });
    }

    #[test]
    fn students_t_is_that_of_the_tables() {
        for (degrees, point) in [(1, 12.706), (10, 2.228), (11, 2.201), (19, 2.093), (30, 2.042), (120, 1.980)] {
            assert!((student(degrees) - point).abs() < 0.0006, "{degrees}: {}", student(degrees));
        }
    }
}
