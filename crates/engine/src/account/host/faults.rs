// SPDX-License-Identifier: MIT OR Apache-2.0
//! Page faults of the runtime's own memory: as many as it has pages. It gives hardly any back, and the kernel counts all
//! of the thread's together.
use crate::layout::{ARGUMENTS, BLOCK_COSTS, SHADOW, SHADOW_BYTES};
use crate::sys;

const PAGE_KIB: u64 = 4;
const HUGE_PAGE_KIB: u64 = 2048;

/// What a line of /proc/PID/smaps tells.
enum Line {
    Mapping { ours: bool },
    Resident(u64),
    Huge(u64),
    Other,
}

fn parse(line: &[u8]) -> Line {
    let number = |text: &[u8]| {
        let digits = text.iter().copied().skip_while(u8::is_ascii_whitespace).take_while(u8::is_ascii_digit);
        digits.fold(0u64, |n, digit| 10 * n + u64::from(digit - b'0'))
    };
    if let Some(rest) = line.strip_prefix(b"Rss:") {
        return Line::Resident(number(rest));
    }
    if let Some(rest) = line.strip_prefix(b"AnonHugePages:") {
        return Line::Huge(number(rest));
    }
    let hex = line.iter().take_while(|c| c.is_ascii_hexdigit());
    let digits = hex.clone().count();
    if digits == 0 || line.get(digits) != Some(&b'-') {
        return Line::Other;
    }
    let begin = hex.fold(0u64, |n, c| n << 4 | u64::from((*c as char).to_digit(16).unwrap_or(0)));
    // The runtime's tables and memory lie there, and nothing else.
    let ours = (SHADOW..SHADOW + SHADOW_BYTES).contains(&begin) || (BLOCK_COSTS..ARGUMENTS).contains(&begin);
    Line::Mapping { ours }
}

/// Page faults by which the runtime's memory became resident; 0 if the kernel does not tell.
pub fn own() -> u64 {
    let Ok(fd) = i32::try_from(sys::open(b"/proc/self/smaps\0", libc::O_RDONLY | libc::O_CLOEXEC, 0)) else { return 0 };
    if fd < 0 {
        return 0;
    }
    let (mut ours, mut small, mut huge) = (false, 0, 0);
    each_line(fd, |line| match parse(line) {
        Line::Mapping { ours: is } => ours = is,
        Line::Resident(kib) if ours => small += kib,
        Line::Huge(kib) if ours => huge += kib,
        _ => {}
    });
    sys::close(fd);
    small.saturating_sub(huge) / PAGE_KIB + huge / HUGE_PAGE_KIB
}

/// Lines are cut off at 256 bytes, as only paths are longer. Nothing is allocated.
fn each_line(fd: i32, mut with: impl FnMut(&[u8])) {
    let (mut piece, mut line, mut length) = ([0u8; 2048], [0u8; 256], 0);
    loop {
        let got = sys::read(fd, &mut piece);
        if got <= 0 {
            return;
        }
        for byte in &piece[..got as usize] {
            if *byte == b'\n' {
                with(&line[..length]);
                length = 0;
            } else if length < line.len() {
                line[length] = *byte;
                length += 1;
            }
        }
    }
}
