// SPDX-License-Identifier: MIT OR Apache-2.0
//! The Universal Scalability Law (Gunther, *Guerrilla Capacity Planning*, 2007), fitted to a curve.
//!
//! X(n) = λ n / (1 + σ(n−1) + κ n(n−1)): λ is the speed of one CPU, σ the share that is serial
//! (contention), κ the price that each pair of CPUs pays to agree (coherency, crosstalk).
//!
//! Turned over, n/X(n) = a + b(n−1) + c n(n−1) with a = 1/λ, b = σ/λ, c = κ/λ is *linear*. So the fit
//! is least squares of the relative error of n/X with a, b, c ≥ 0, and three unknowns are few enough
//! to try every set of them that may be zero: exact, with no start value and no iteration to diverge.

/// The law has three unknowns: with as many counts it goes through every point, whatever they are, and
/// with one more nearly so. From here on R² says something.
pub const MIN_POINTS: usize = 5;
/// A κ whose peak lies further than this many times beyond the last count is not told from 0.
const PEAK_HORIZON: f64 = 10.0;
/// With every point within the first of these, the law holds; with one further off than the second it does not;
/// in between, if it accounts for this share of the variance.
const NEAR: f64 = 0.05;
const FAR: f64 = 0.2;
const EXPLAINS: f64 = 0.9;

/// A fitted law, and how well it fits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// X at one CPU, in the unit of the data.
    pub lambda: f64,
    /// Contention: the share of the work that is serial.
    pub sigma: f64,
    /// Coherency: what each pair of CPUs costs.
    pub kappa: f64,
    /// Share of the data's variance that the law accounts for; `None` where the data do not vary.
    pub r_squared: Option<f64>,
    /// The largest |measured ÷ fitted − 1|, and the count where it is.
    pub worst: (u32, f64),
    last: u32,
}

/// Where the fitted curve goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// σ and κ are nil: every CPU adds as much as the first.
    Linear,
    /// Rises ever more slowly towards this X.
    Saturates { limit: f64 },
    /// Highest at `cpus`, a whole number, where X is `at`.
    Peaks { cpus: u32, at: f64 },
}

impl Fit {
    pub fn at(&self, n: f64) -> f64 {
        self.lambda * n / (1.0 + self.sigma * (n - 1.0) + self.kappa * n * (n - 1.0))
    }

    /// Whether the law describes the curve: no point is far off, and where the points differ at all, it says why.
    pub fn holds(&self) -> bool {
        self.worst.1 <= NEAR || (self.worst.1 <= FAR && self.r_squared.is_none_or(|r| r >= EXPLAINS))
    }

    pub fn shape(&self) -> Shape {
        let horizon = PEAK_HORIZON * f64::from(self.last);
        let peak = ((1.0 - self.sigma).max(0.0) / self.kappa).sqrt();
        if self.kappa > 0.0 && peak <= horizon {
            let cpus = self.whole_peak(peak);
            return Shape::Peaks { cpus, at: self.at(f64::from(cpus)) };
        }
        if self.sigma * horizon < 0.1 { Shape::Linear } else { Shape::Saturates { limit: self.lambda / self.sigma } }
    }

    /// CPUs are whole: the better neighbour of the real-valued peak, at least 1.
    fn whole_peak(&self, peak: f64) -> u32 {
        let below = peak.floor().max(1.0);
        (if self.at(below) >= self.at(below + 1.0) { below } else { below + 1.0 }) as u32
    }
}

/// Fits the law to `(CPUs, X)`; the error is a sentence that says why there is no fit.
pub fn fit(points: &[(u32, f64)]) -> Result<Fit, String> {
    if let Some((n, x)) = points.iter().find(|(n, x)| *n == 0 || !x.is_finite() || *x <= 0.0) {
        return Err(format!("a value of {x} at {n} CPUs cannot be fitted"));
    }
    let mut counts: Vec<u32> = points.iter().map(|p| p.0).collect();
    counts.sort_unstable();
    counts.dedup();
    if counts.len() < MIN_POINTS {
        let few = counts.len();
        return Err(format!("{few} CPU counts are too few for a fit, which takes {MIN_POINTS} that finished"));
    }
    let [a, b, c] = non_negative_least_squares(&rows(points));
    let mut fit = Fit {
        lambda: 1.0 / a,
        sigma: b / a,
        kappa: c / a,
        r_squared: None,
        worst: (counts[0], 0.0),
        last: counts[counts.len() - 1],
    };
    fit.r_squared = r_squared(&fit, points);
    fit.worst = worst(&fit, points);
    Ok(fit)
}

/// One row a point, divided by its own n/X so that every point's *relative* error counts alike: the
/// right-hand side is 1.
fn rows(points: &[(u32, f64)]) -> Vec<[f64; 3]> {
    points
        .iter()
        .map(|&(n, x)| {
            let n = f64::from(n);
            [1.0, n - 1.0, n * (n - 1.0)].map(|column| column * x / n)
        })
        .collect()
}

/// The non-negative (a, b, c), a > 0, that brings the rows' products nearest to 1. The optimum lies on
/// one of the four faces (b and c each free or zero), so: solve each, keep the best admissible one.
fn non_negative_least_squares(rows: &[[f64; 3]]) -> [f64; 3] {
    const FACES: [&[usize]; 4] = [&[0], &[0, 1], &[0, 2], &[0, 1, 2]];
    let mut best = ([0.0; 3], f64::INFINITY);
    for face in FACES {
        let Some(solution) = least_squares(rows, face) else {
            continue;
        };
        let admissible = solution[0] > 0.0 && solution.iter().all(|v| *v >= 0.0);
        let error = squared_error(rows, &solution);
        if admissible && error < best.1 {
            best = (solution, error);
        }
    }
    best.0
}

fn squared_error(rows: &[[f64; 3]], solution: &[f64; 3]) -> f64 {
    rows.iter().map(|row| (dot(row, solution) - 1.0).powi(2)).sum()
}

fn dot(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Least squares over some columns by Gram-Schmidt, which keeps the digits that normal equations
/// square away; the other columns are zero. `None` where the columns do not differ enough.
fn least_squares(rows: &[[f64; 3]], columns: &[usize]) -> Option<[f64; 3]> {
    let mut q: Vec<Vec<f64>> = Vec::new();
    let mut r = [[0.0; 3]; 3];
    for (k, &column) in columns.iter().enumerate() {
        let mut v: Vec<f64> = rows.iter().map(|row| row[column]).collect();
        let before = norm(&v);
        for (j, unit) in q.iter().enumerate() {
            r[j][k] = inner(unit, &v);
            v.iter_mut().zip(unit).for_each(|(v, u)| *v -= r[j][k] * u);
        }
        r[k][k] = norm(&v);
        if r[k][k] <= before * 1e-12 {
            return None;
        }
        q.push(v.iter().map(|v| v / r[k][k]).collect());
    }
    let mut solution = [0.0; 3];
    for k in (0..columns.len()).rev() {
        let known: f64 = (k + 1..columns.len()).map(|j| r[k][j] * solution[columns[j]]).sum();
        solution[columns[k]] = (q[k].iter().sum::<f64>() - known) / r[k][k];
    }
    Some(solution)
}

fn inner(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(v: &[f64]) -> f64 {
    inner(v, v).sqrt()
}

fn r_squared(fit: &Fit, points: &[(u32, f64)]) -> Option<f64> {
    let mean = points.iter().map(|p| p.1).sum::<f64>() / points.len() as f64;
    let spread: f64 = points.iter().map(|p| (p.1 - mean).powi(2)).sum();
    let missed: f64 = points.iter().map(|&(n, x)| (x - fit.at(f64::from(n))).powi(2)).sum();
    (spread > (mean * 0.01).powi(2) * points.len() as f64).then(|| 1.0 - missed / spread)
}

fn worst(fit: &Fit, points: &[(u32, f64)]) -> (u32, f64) {
    let misses = points.iter().map(|&(n, x)| (n, (x / fit.at(f64::from(n)) - 1.0).abs()));
    misses.fold((points[0].0, 0.0), |worst, miss| if miss.1 > worst.1 { miss } else { worst })
}

#[cfg(test)]
mod tests;
