// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is said of a curve: ranks, knees, errors.

/// The middle of the values; `None` of none.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// Each value's place in the order; equal ones share the mean of their places.
fn ranks(values: &[f64]) -> Vec<f64> {
    values
        .iter()
        .map(|value| {
            let below = values.iter().filter(|other| *other < value).count();
            let equal = values.iter().filter(|other| *other == value).count();
            below as f64 + (equal as f64 - 1.0) / 2.0
        })
        .collect()
}

/// Spearman's rank correlation; `None` where one side does not vary.
pub fn rank_correlation(one: &[f64], other: &[f64]) -> Option<f64> {
    let (one, other) = (ranks(one), ranks(other));
    let mean = (one.len() as f64 - 1.0) / 2.0;
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>();
    let scale = (product(&one, &one) * product(&other, &other)).sqrt();
    (scale > 0.0).then(|| product(&one, &other) / scale)
}

/// Indices of points that all differ by more than their spreads (`low..=high`): the first of each group that
/// cannot be told apart.
pub fn distinct(spreads: &[(f64, f64)]) -> Vec<usize> {
    let mut kept: Vec<usize> = Vec::new();
    for (index, (low, high)) in spreads.iter().enumerate() {
        let overlaps = |other: &usize| spreads[*other].0 <= *high && *low <= spreads[*other].1;
        if !kept.iter().any(overlaps) {
            kept.push(index);
        }
    }
    kept
}

/// Where a curve stops to scale: the index of the first point after which throughput grows by less than half as
/// much as the threads do; the last point if it never stops. `points`: threads and throughput.
pub fn knee(points: &[(f64, f64)]) -> usize {
    let stops = |pair: &[(f64, f64)]| {
        let (threads, throughput) = (pair[1].0 / pair[0].0 - 1.0, pair[1].1 / pair[0].1 - 1.0);
        throughput < threads / 2.0
    };
    points.windows(2).position(stops).unwrap_or(points.len().saturating_sub(1))
}

/// How far `ours` is from `theirs`, as a share of theirs.
pub fn error(ours: f64, theirs: f64) -> f64 {
    ours / theirs - 1.0
}

/// By what factor the two differ, whichever is greater.
pub fn factor(ours: f64, theirs: f64) -> f64 {
    (ours / theirs).max(theirs / ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn ranks_agree_or_do_not() {
        assert_eq!(rank_correlation(&[1.0, 2.0, 3.0], &[10.0, 40.0, 41.0]), Some(1.0));
        assert_eq!(rank_correlation(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]), Some(-1.0));
        assert_eq!(rank_correlation(&[1.0, 2.0, 3.0], &[1.0, 3.0, 2.0]), Some(0.5));
        assert_eq!(rank_correlation(&[1.0, 1.0], &[1.0, 2.0]), None);
    }

    #[test]
    fn points_within_their_spread_are_one() {
        assert_eq!(distinct(&[(1.0, 2.0), (1.5, 3.0), (4.0, 5.0), (2.5, 3.5)]), [0, 2, 3]);
    }

    #[test]
    fn a_knee_is_where_more_threads_stop_to_help() {
        assert_eq!(knee(&[(1.0, 1.0), (2.0, 2.0), (4.0, 3.9), (8.0, 4.0), (16.0, 4.0)]), 2);
        assert_eq!(knee(&[(1.0, 1.0), (2.0, 0.3)]), 0);
        assert_eq!(knee(&[(1.0, 1.0), (2.0, 2.0)]), 1);
    }

    #[test]
    fn twice_and_half_are_equally_far() {
        assert_eq!(factor(2.0, 1.0), factor(1.0, 2.0));
        assert_eq!(error(1.5, 1.0), 0.5);
    }
}
