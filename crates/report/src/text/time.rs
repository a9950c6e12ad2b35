// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the threads' time went, as one bar.
use super::screen::Screen;
use crate::curve::Point;
use crate::units;

const FILLS: [&str; 4] = ["█", "▓", "▒", "░"];
const ASCII_FILLS: [&str; 4] = ["#", "=", "~", "."];
const NAMES: [&str; 4] = ["compute", "stall", "spin", "block"];

pub fn section(screen: &Screen, point: &Point) -> String {
    let run = &point.explained.run;
    let total = run.time.total();
    if total == 0 {
        return String::new();
    }
    let parts = [run.time.compute, run.time.stall, run.time.spin, run.time.block];
    let fills = if screen.options.ascii { ASCII_FILLS } else { FILLS };
    let width = screen.width() - 4;
    let bar: String = (0..4).map(|i| fills[i].repeat(cells(&parts, i, width))).collect();
    let legend: Vec<String> = (0..4)
        .map(|i| format!("{} {} {}", fills[i], NAMES[i], units::percent(units::share(parts[i], total))))
        .collect();
    let (cpus, threads) = (units::counted(run.cpus, "CPU"), units::counted(run.threads, "thread"));
    let title = screen.title(&format!("Where the time goes at {cpus} (time of {threads})"));
    format!("{title}  {bar}\n  {}\n", legend.join("   "))
}

/// Cells of part `i`, so that all of them fill `width`: each ends where the sum up to it ends.
fn cells(parts: &[u64; 4], i: usize, width: usize) -> usize {
    let total: u64 = parts.iter().sum();
    let end = |upto: usize| (units::share(parts[..upto].iter().sum(), total) * width as f64).round() as usize;
    end(i + 1) - end(i)
}

#[cfg(test)]
mod tests {
    use super::cells;

    #[test]
    fn parts_fill_the_bar_exactly() {
        for parts in [[1, 1, 1, 0], [7, 0, 0, 93], [0, 0, 0, 1], [333, 333, 333, 1]] {
            assert_eq!((0..4).map(|i| cells(&parts, i, 96)).sum::<usize>(), 96, "{parts:?}");
        }
    }
}
