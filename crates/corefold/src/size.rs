// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sizes of memory: `512M`.

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
        other => return Err(format!("unknown suffix {other:?}: K, M, G or T")),
    };
    match number.checked_mul(1 << shift) {
        Some(0) => Err("a program needs some memory".into()),
        Some(bytes) => Ok(bytes),
        None => Err("more than 64 bits hold".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_count_in_1024s() {
        for (text, bytes) in [("1", 1), ("12b", 12), ("4K", 4096), ("2MiB", 2 << 20), ("3gb", 3 << 30), ("1T", 1 << 40)]
        {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for text in ["", "M", "-1", "1.5G", "5X", "0", "0M", "99999999T"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
