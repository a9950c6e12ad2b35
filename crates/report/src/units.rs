// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers as people read them: three significant digits and a unit.
//!
//! Everything that prints a quantity goes through here, so that the same quantity looks the same in
//! the table, the sentences and the plot.

const LARGE: [&str; 6] = ["", "k", "M", "G", "T", "P"];

/// `x` with so many significant digits and no exponent: `0.0312`, `3.12`, `31.2`, `312`, `3120`.
pub fn significant(x: f64, digits: i32) -> String {
    if x == 0.0 || !x.is_finite() {
        return format!("{x:.0}");
    }
    let magnitude = rounded(x, digits).abs().log10().floor() as i32;
    let decimals = (digits - 1 - magnitude).clamp(0, 9) as usize;
    format!("{x:.decimals$}")
}

fn three_digits(x: f64) -> String {
    significant(x, 3)
}

/// `x` rounded to so many significant digits: 999.7 in three is 1000, and must look like it.
fn rounded(x: f64, digits: i32) -> f64 {
    let scale = 10f64.powi(digits - 1 - x.abs().log10().floor() as i32);
    // The product of two roundings may fall a hair short of a power of ten, as 0.9999999999.
    (x * scale).round() / scale * (1.0 + 4.0 * f64::EPSILON)
}

fn round_to_three(x: f64) -> f64 {
    rounded(x, 3)
}

/// `1 CPU`, `80 CPUs`.
pub fn counted(n: impl Into<u64>, what: &str) -> String {
    match n.into() {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}

/// So many of something, with the count's SI prefix: `1 wait`, `12.3k waits`.
pub fn counts(n: u64, what: &str) -> String {
    format!("{} {what}{}", count(n as f64), if n == 1 { "" } else { "s" })
}

/// A count with its SI prefix: `42`, `12.3k`, `1.20M`. Whole numbers below a thousand stay whole.
pub fn count(x: f64) -> String {
    if x.fract() == 0.0 && x.abs() < 1000.0 {
        return format!("{x:.0}");
    }
    let (value, prefix) = large(x);
    format!("{}{prefix}", three_digits(value))
}

/// A rate: `12.3 M/s`.
pub fn rate(per_second: f64) -> String {
    let (value, prefix) = large(per_second);
    match prefix {
        "" => format!("{} /s", three_digits(value)),
        _ => format!("{} {prefix}/s", three_digits(value)),
    }
}

fn large(x: f64) -> (f64, &'static str) {
    let mut value = x;
    for prefix in LARGE {
        if value == 0.0 || round_to_three(value).abs() < 1000.0 || prefix == LARGE[LARGE.len() - 1] {
            return (value, prefix);
        }
        value /= 1000.0;
    }
    unreachable!("the last prefix takes whatever is left")
}

/// A span of time: `812 ns`, `3.10 µs`, `12.0 ms`, `1.50 s`.
pub fn duration(seconds: f64) -> String {
    for (unit, scale) in [("ns", 1e9), ("µs", 1e6), ("ms", 1e3)] {
        let value = seconds * scale;
        if value == 0.0 || round_to_three(value).abs() < 1000.0 {
            return format!("{} {unit}", three_digits(value));
        }
    }
    format!("{} s", three_digits(seconds))
}

/// A hertz figure: `2.40 GHz`.
pub fn hertz(hz: f64) -> String {
    let (value, prefix) = large(hz);
    format!("{} {prefix}Hz", three_digits(value))
}

/// A share in a table, as `perf report` writes it: `71.20%`.
pub fn percent(share: f64) -> String {
    format!("{:.2}%", share * 100.0)
}

/// A share in a sentence: `71%`, `3.1%`, `<0.1%`.
pub fn about(share: f64) -> String {
    let p = share * 100.0;
    if p == 0.0 {
        "0%".into()
    } else if p < 0.1 {
        "<0.1%".into()
    } else if p < 9.95 {
        format!("{p:.1}%")
    } else {
        format!("{p:.0}%")
    }
}

/// A factor, without its sign: `0.42`, `3.1`, `38.4`, `120`.
pub fn factor(x: f64) -> String {
    match x.abs() {
        a if a < 0.995 => format!("{x:.2}"),
        a if a < 99.95 => format!("{x:.1}"),
        _ => format!("{x:.0}"),
    }
}

/// `part / whole`, 0 where there is no whole.
pub fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_carry_their_prefix() {
        let cases = [
            (0.0, "0"),
            (42.0, "42"),
            (999.0, "999"),
            (999.7, "1.00k"),
            (1000.0, "1.00k"),
            (12_345.0, "12.3k"),
            (999_600.0, "1.00M"),
            (7.5, "7.50"),
            (2.5e15, "2.50P"),
            (2.5e18, "2500P"),
        ];
        for (x, text) in cases {
            assert_eq!(count(x), text, "{x}");
        }
        assert_eq!((counts(1, "wait"), counts(12_345, "wait")), ("1 wait".into(), "12.3k waits".into()));
    }

    #[test]
    fn times_take_the_unit_that_leaves_three_digits() {
        let cases = [
            (0.0, "0 ns"),
            (4e-10, "0.400 ns"),
            (812e-9, "812 ns"),
            (999.9e-9, "1.00 µs"),
            (3.1e-6, "3.10 µs"),
            (0.012, "12.0 ms"),
            (1.5, "1.50 s"),
            (7200.0, "7200 s"),
        ];
        for (seconds, text) in cases {
            assert_eq!(duration(seconds), text, "{seconds}");
        }
    }

    #[test]
    fn rates_and_frequencies() {
        assert_eq!(rate(12_340_000.0), "12.3 M/s");
        assert_eq!(rate(0.5), "0.500 /s");
        assert_eq!(hertz(2.4e9), "2.40 GHz");
    }

    #[test]
    fn shares_in_tables_and_in_sentences() {
        assert_eq!(percent(0.712), "71.20%");
        let shares = [(0.0, "0%"), (0.0004, "<0.1%"), (0.031, "3.1%"), (0.0996, "10%"), (0.712, "71%"), (1.0, "100%")];
        for (x, text) in shares {
            assert_eq!(about(x), text);
        }
        assert_eq!(share(1, 4), 0.25);
        assert_eq!(share(1, 0), 0.0);
    }

    #[test]
    fn significant_digits_survive_rounding() {
        for (x, text) in [(0.1, "0.100"), (0.09999999999999998, "0.100"), (0.000123, "0.000123"), (2.0094, "2.01")] {
            assert_eq!(significant(x, 3), text, "{x}");
        }
        assert_eq!(counted(1u32, "CPU"), "1 CPU");
        assert_eq!(counted(0u32, "CPU"), "0 CPUs");
    }

    #[test]
    fn factors_keep_two_or_three_digits() {
        for (x, text) in [(0.42, "0.42"), (0.999, "1.0"), (3.16, "3.2"), (38.44, "38.4"), (120.2, "120")] {
            assert_eq!(factor(x), text);
        }
    }
}
