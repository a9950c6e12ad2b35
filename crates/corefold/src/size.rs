// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sizes of memory: `512M`.

/// What a program really uses is looked at whenever it has asked for so much more (the engine's `limit.rs`).
const LEAST: u64 = 16 << 20;

/// Bytes, with a suffix of 1024s: K, M, G or T, as `KiB` and `kb` too.
pub fn parse(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits.parse().map_err(|_| "must be a number of bytes, like 512M".to_string())?;
    let shift = match text[digits.len()..].to_ascii_lowercase().trim_end_matches('b').trim_end_matches('i') {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        other => return Err(format!("unknown suffix {other:?}: must be K, M, G or T")),
    };
    match number.checked_mul(1 << shift) {
        Some(bytes) if bytes < LEAST => Err("must be at least 16M: memory use is checked in steps of that size".into()),
        Some(bytes) => Ok(bytes),
        None => Err("too large: does not fit in 64 bits".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_count_in_1024s() {
        let sizes = [("16777216", LEAST), ("20000000b", 20_000_000), ("32768K", 32 << 20)];
        for (text, bytes) in sizes.into_iter().chain([("20MiB", 20 << 20), ("3gb", 3 << 30), ("1T", 1 << 40)]) {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for text in ["", "M", "-1", "1.5G", "5X", "0", "0M", "1K", "15M", "99999999T"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
