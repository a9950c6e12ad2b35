// SPDX-License-Identifier: MIT OR Apache-2.0
//! The curve as a picture in the terminal: CPUs to the right, speed-up upwards, the ideal dotted.
use crate::style::Style;

/// Rows and columns of characters of the plotting area.
const ROWS: usize = 12;
const COLUMNS: usize = 64;
/// Dots of one braille character.
const DOTS_X: usize = 2;
const DOTS_Y: usize = 4;
/// Braille bits by row and column of the dot.
const BITS: [[u8; DOTS_X]; DOTS_Y] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// Draws the `(CPUs, speed-up)` points; nothing where there are fewer than two.
pub fn plot(points: &[(u32, f64)], width: usize, ascii: bool, style: Style) -> String {
    let Some(&(last, _)) = points.last() else {
        return String::new();
    };
    if points.len() < 2 || points[0].0 == last {
        return String::new();
    }
    let top = top(points);
    let label = tick_text(top, tick_step(top)).len();
    let columns = COLUMNS.min(width.saturating_sub(label + 12)).max(16);
    let mut area = Area::new(columns, f64::from(last), top);
    area.ideal();
    for pair in points.windows(2) {
        area.segment(pair[0], pair[1]);
    }
    for &point in points {
        area.mark(point);
    }
    let mut out = format!("  {}\n", style.dim("speed-up (dotted: every CPU as good as the first)"));
    for row in 0..ROWS {
        let tick = y_tick(row, top);
        let axis = if ascii {
            if tick.is_empty() { "|" } else { "+" }
        } else if tick.is_empty() {
            "│"
        } else {
            "┤"
        };
        out += &format!("  {} {}\n", style.dim(&format!("{tick:>label$} {axis}")), area.row(row, ascii, style));
    }
    out + &x_axis(points, columns, label, ascii, style)
}

/// The highest value that is drawn: a little over the data, so that a flat curve is not a line at the
/// bottom of an empty picture, but never over the ideal unless the data are.
fn top(points: &[(u32, f64)]) -> f64 {
    let highest = points.iter().map(|p| p.1).fold(0.0, f64::max);
    let last = f64::from(points[points.len() - 1].0);
    if highest > 0.5 * last { highest.max(last) } else { (highest * 1.25).max(2.0) }
}

/// The plotting area: what each character cell holds.
struct Area {
    columns: usize,
    last: f64,
    top: f64,
    curve: Vec<u8>,
    ideal: Vec<u8>,
    marks: Vec<bool>,
}

impl Area {
    fn new(columns: usize, last: f64, top: f64) -> Area {
        let cells = columns * ROWS;
        Area { columns, last, top, curve: vec![0; cells], ideal: vec![0; cells], marks: vec![false; cells] }
    }

    /// Position in dots, from the left and from the top. The left edge is zero CPUs.
    fn place(&self, (n, speed): (f64, f64)) -> (i64, i64) {
        let (width, height) = ((self.columns * DOTS_X - 1) as f64, (ROWS * DOTS_Y - 1) as f64);
        ((n / self.last * width).round() as i64, (height - speed / self.top * height).round() as i64)
    }

    /// The cell of a dot, and the dot's bit in it; `None` outside.
    fn dot(&self, x: i64, y: i64) -> Option<(usize, u8)> {
        let (x, y) = (usize::try_from(x).ok()?, usize::try_from(y).ok()?);
        let (column, row) = (x / DOTS_X, y / DOTS_Y);
        (column < self.columns && row < ROWS).then(|| (row * self.columns + column, BITS[y % DOTS_Y][x % DOTS_X]))
    }

    /// Every third dot of speed-up = CPUs, by distance along the steeper direction.
    fn ideal(&mut self) {
        let (start, end) = (self.place((0.0, 0.0)), self.place((self.last, self.last)));
        let steps = (end.0 - start.0).max(start.1 - end.1);
        for step in (0..=steps).step_by(3) {
            let part = step as f64 / steps as f64;
            if let Some((cell, bit)) = between(start, end, part).and_then(|(x, y)| self.dot(x, y)) {
                self.ideal[cell] |= bit;
            }
        }
    }

    fn segment(&mut self, from: (u32, f64), to: (u32, f64)) {
        let (start, end) = (self.place((f64::from(from.0), from.1)), self.place((f64::from(to.0), to.1)));
        let steps = (end.0 - start.0).abs().max((end.1 - start.1).abs()).max(1);
        for step in 0..=steps {
            let dot = between(start, end, step as f64 / steps as f64).and_then(|(x, y)| self.dot(x, y));
            if let Some((cell, bit)) = dot {
                self.curve[cell] |= bit;
            }
        }
    }

    fn mark(&mut self, (n, speed): (u32, f64)) {
        let (x, y) = self.place((f64::from(n), speed));
        if let Some((cell, _)) = self.dot(x, y) {
            self.marks[cell] = true;
        }
    }

    /// One row of characters; a cell that holds both lines shows the curve.
    fn row(&self, row: usize, ascii: bool, style: Style) -> String {
        let cells = row * self.columns..(row + 1) * self.columns;
        let used = cells.clone().rev().find(|&c| self.marks[c] || self.curve[c] != 0 || self.ideal[c] != 0);
        let end = used.map_or(cells.start, |c| c + 1);
        (cells.start..end).map(|c| self.cell(c, ascii, style)).collect()
    }

    fn cell(&self, c: usize, ascii: bool, style: Style) -> String {
        let dots = |bits: u8| char::from_u32(0x2800 + u32::from(bits)).unwrap_or(' ').to_string();
        match (self.marks[c], self.curve[c], self.ideal[c]) {
            (true, ..) => style.accent(if ascii { "o" } else { "●" }),
            (_, 0, 0) => " ".into(),
            (_, 0, ideal) => style.dim(&if ascii { ".".into() } else { dots(ideal) }),
            (_, curve, _) => style.accent(&if ascii { "*".into() } else { dots(curve) }),
        }
    }
}

fn between(start: (i64, i64), end: (i64, i64), part: f64) -> Option<(i64, i64)> {
    let along = |a: i64, b: i64| (a as f64 + (b - a) as f64 * part).round();
    let (x, y) = (along(start.0, end.0), along(start.1, end.1));
    (x.is_finite() && y.is_finite()).then_some((x as i64, y as i64))
}

/// 1, 2 or 5 times a power of ten, so that there are three to six ticks below `top`.
fn tick_step(top: f64) -> f64 {
    let rough = top / 5.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|m| m * power >= rough * 0.999);
    step.unwrap_or(10.0) * power
}

fn tick_text(value: f64, step: f64) -> String {
    if step < 1.0 { format!("{value:.1}×") } else { format!("{value:.0}×") }
}

/// The label of the tick that falls into this row, if any.
fn y_tick(row: usize, top: f64) -> String {
    let step = tick_step(top);
    let ticks = (0..=(top / step * 1.0001) as usize).map(|i| i as f64 * step);
    let row_of = |value: f64| {
        let dots = (ROWS * DOTS_Y - 1) as f64;
        (dots - value / top * dots).round() as usize / DOTS_Y
    };
    let tick = ticks.into_iter().find(|&value| row_of(value) == row);
    tick.map_or(String::new(), |value| tick_text(value, step))
}

/// The line below, and the measured counts under it where they have room.
fn x_axis(points: &[(u32, f64)], columns: usize, label: usize, ascii: bool, style: Style) -> String {
    let (corner, dash) = if ascii { ("+", "-") } else { ("└", "─") };
    let area = Area::new(columns, f64::from(points[points.len() - 1].0), 1.0);
    let mut numbers = vec![' '; columns + 8];
    // The ends matter most, then the larger counts: the small ones crowd at the left.
    let ends = [points.len() - 1, 0].into_iter();
    for (n, _) in ends.chain((0..points.len()).rev()).map(|i| points[i]) {
        let text = n.to_string();
        let column = area.place((f64::from(n), 0.0)).0 as usize / DOTS_X;
        let start = column.saturating_sub(text.len() / 2);
        let around = start.saturating_sub(1)..start + text.len() + 1;
        if numbers[around].iter().all(|c| *c == ' ') {
            text.chars().enumerate().for_each(|(i, c)| numbers[start + i] = c);
        }
    }
    let numbers: String = numbers.into_iter().collect();
    let margin = " ".repeat(label + 3);
    let axis = format!("{margin}{corner}{}", dash.repeat(columns + 1));
    let names = format!("{margin}  {} CPUs", numbers.trim_end());
    format!("{}\n{}\n", style.dim(&axis), style.dim(&names))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Style = Style { color: false };

    #[test]
    fn a_point_alone_makes_no_plot() {
        assert_eq!(plot(&[(1, 1.0)], 100, false, PLAIN), "");
        assert_eq!(plot(&[], 100, false, PLAIN), "");
        assert_eq!(plot(&[(8, 1.0), (8, 1.1)], 100, false, PLAIN), "");
    }

    #[test]
    fn a_collapse_in_ascii() {
        let points = [(1, 1.0), (2, 1.9), (4, 3.4), (8, 5.0), (16, 5.2), (40, 3.4), (80, 3.1)];
        insta::assert_snapshot!(plot(&points, 60, true, PLAIN));
    }

    #[test]
    fn a_linear_curve_in_braille() {
        let points = [(1, 1.0), (20, 20.0), (40, 40.0), (60, 47.0), (80, 55.0)];
        insta::assert_snapshot!(plot(&points, 60, false, PLAIN));
    }

    #[test]
    fn no_row_is_wider_than_the_screen() {
        let points = [(1, 1.0), (512, 300.0), (1024, 290.0)];
        for width in [60, 80, 200] {
            let text = plot(&points, width, false, PLAIN);
            assert!(text.lines().all(|l| l.chars().count() <= width), "{text}");
        }
    }

    #[test]
    fn ticks_are_round() {
        for (top, step) in [(5.2, 2.0), (80.0, 20.0), (2.0, 0.5), (1024.0, 500.0)] {
            assert_eq!(tick_step(top), step, "{top}");
        }
    }
}
