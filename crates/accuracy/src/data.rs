// SPDX-License-Identifier: MIT OR Apache-2.0
//! Published curves: CSV files with a header line, and lines of comment that begin with `#`.
use anyhow::{Context, Result, bail};
use std::path::Path;

/// A published point: nanoseconds an operation, as one thread sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub threads: u32,
    pub value: f64,
    /// The least and the most that the source saw, or two of its quantiles; the value, if it has none.
    pub spread: (f64, f64),
}

/// The points of `series` (the column `impl`), or all of a file that has but one.
pub fn read(file: &Path, series: Option<&str>) -> Result<Vec<Point>> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    points(&text, series).with_context(|| format!("in {}", file.display()))
}

fn points(text: &str, series: Option<&str>) -> Result<Vec<Point>> {
    let mut lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let header: Vec<&str> = lines.next().context("no header")?.split(',').collect();
    let column = |names: &[&str]| header.iter().position(|name| names.iter().any(|n| name.starts_with(n)));
    let threads = column(&["threads"]).context("no column `threads`")?;
    let value = column(&["ns_per_op", "median_ns", "ns"]).context("no column of nanoseconds")?;
    let (low, high) = (column(&["min", "p10", "low"]), column(&["max", "p90", "high"]));
    let name = column(&["impl"]);
    let mut points = Vec::new();
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        if let (Some(at), Some(series)) = (name, series)
            && cells[at] != series
        {
            continue;
        }
        let cell = |at: usize| cells.get(at).with_context(|| format!("a short line: {line}"));
        let number = |at: usize| -> Result<f64> { cell(at)?.parse().with_context(|| format!("no number in: {line}")) };
        let at = number(value)?;
        let limit = |at: Option<usize>, or: f64| at.map_or(Ok(or), number);
        points.push(Point {
            threads: cell(threads)?.parse().with_context(|| format!("no number of threads in: {line}"))?,
            value: at,
            spread: (limit(low, at)?, limit(high, at)?),
        });
    }
    points.sort_by_key(|point| point.threads);
    match (points.is_empty(), series) {
        (true, Some(series)) => bail!("no points of `{series}`"),
        (true, None) => bail!("no points"),
        _ => Ok(points),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_of_several() {
        let text = "# from there\nimpl,threads,median_ns_per_op,p10,p90\na,2,3.5,3,4\nb,1,9,8,10\na,1,2,2,2\n";
        let read = points(text, Some("a")).unwrap();
        assert_eq!(read[0], Point { threads: 1, value: 2.0, spread: (2.0, 2.0) });
        assert_eq!(read[1], Point { threads: 2, value: 3.5, spread: (3.0, 4.0) });
        assert!(points(text, Some("c")).unwrap_err().to_string().contains("no points of `c`"));
    }

    #[test]
    fn without_a_spread() {
        let read = points("threads,ns_per_op\n4,1.5\n", None).unwrap();
        assert_eq!(read, [Point { threads: 4, value: 1.5, spread: (1.5, 1.5) }]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert!(format!("{:#}", points("threads\n1\n", None).unwrap_err()).contains("nanoseconds"));
        assert!(format!("{:#}", points("threads,ns\n1,x\n", None).unwrap_err()).contains("no number in: 1,x"));
    }
}
