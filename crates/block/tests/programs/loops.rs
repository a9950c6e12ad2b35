// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loops as Rust programs have them, each run for a given number of rounds: see loops.c. What a loop calls is inlined.
#![allow(non_upper_case_globals)]
use std::collections::VecDeque;
use std::ffi::c_char;
use std::sync::atomic::{AtomicU64, Ordering::*};

const ROUNDS: usize = 800;

#[repr(C)]
pub struct Node {
    next: *const Node,
    value: u64,
}

#[repr(C)]
pub struct Statistics {
    hits: u64,
    bytes: u64,
    last: u32,
}

/// As in loops.h.
#[repr(C)]
pub struct Data {
    values: [u64; ROUNDS],
    counts: [u64; 64],
    result: u64,
    bytes: [u8; ROUNDS],
    copy: [u8; ROUNDS],
    words: [u32; ROUNDS],
    row: [f64; ROUNDS],
    column: [f64; ROUNDS * 8],
    copy_row: [f64; 16],
    a: f64,
    b: f64,
    statistics: Statistics,
    list: *const Node,
    nodes: [Node; ROUNDS],
}

#[repr(C)]
pub struct Loop {
    name: *const c_char,
    run: Option<extern "C" fn(&mut Data, usize)>,
}

unsafe impl Sync for Loop {}

macro_rules! loops {
    ($(fn $name:ident($data:ident, $rounds:ident) $body:block)*) => {
        // Modules, as they are what rustc makes codegen units of.
        $(mod $name {
            use super::*;

            #[inline(never)]
            #[unsafe(link_section = "timed")]
            pub(super) extern "C" fn run($data: &mut Data, $rounds: usize) $body
        })*
        const COUNT: usize = [$(stringify!($name)),*].len();
        #[unsafe(no_mangle)]
        pub static loops: [Loop; COUNT + 1] = [
            $(Loop { name: concat!(stringify!($name), "\0").as_ptr().cast(), run: Some($name::run) },)*
            Loop { name: std::ptr::null(), run: None },
        ];
    };
}

enum Step {
    Add(u64),
    Mix(u64),
    Swap,
}

impl Step {
    fn of(byte: u8) -> Step {
        match byte & 3 {
            0 => Step::Swap,
            1 => Step::Mix(byte.into()),
            _ => Step::Add(byte.into()),
        }
    }
}

impl Data {
    fn list(&self) -> impl Iterator<Item = &Node> {
        std::iter::successors(unsafe { self.list.as_ref() }, |node| unsafe { node.next.as_ref() })
    }

    fn shared(&self) -> &AtomicU64 {
        unsafe { AtomicU64::from_ptr((&raw const self.result).cast_mut()) }
    }
}

loops! {
    fn sum(data, rounds) {
        data.result = data.values[..rounds].iter().map(|value| value.wrapping_mul(3)).sum();
    }

    fn sum_indexed(data, rounds) {
        let mut total = 0u64;
        for i in 0..rounds {
            total = total.wrapping_add(data.values[i]);
        }
        data.result = total;
    }

    fn largest(data, rounds) {
        data.result = data.words[..rounds].iter().copied().max().unwrap_or(0).into();
    }

    fn odd(data, rounds) {
        data.result = data.words[..rounds].iter().filter(|word| *word & 1 == 1).count() as u64;
    }

    fn copy(data, rounds) {
        for (to, from) in data.copy[..rounds].iter_mut().zip(&data.bytes[..rounds]) {
            *to = from.to_ascii_uppercase();
        }
    }

    fn position(data, rounds) {
        data.result = data.bytes[..rounds].iter().position(|&byte| byte == b'z').unwrap_or(rounds) as u64;
    }

    fn hash(data, rounds) {
        let fnv = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(1_099_511_628_211);
        data.result = data.bytes[..rounds].iter().fold(14_695_981_039_346_656_037, fnv);
    }

    fn walk(data, _rounds) {
        data.result = data.list().map(|node| node.value).sum();
    }

    fn find(data, rounds) {
        let wanted = rounds as u64 + 7;
        let before = data.list().take_while(|node| node.value != wanted);
        data.result = before.filter(|node| node.value & 1 == 1).count() as u64;
    }

    fn polynomial(data, rounds) {
        let (a, b) = (data.a, data.b);
        data.a = (0..rounds).fold(1.0, |sum, _| sum * a + b);
    }

    fn dot(data, rounds) {
        data.a = data.row[..rounds].iter().zip(data.column.iter().step_by(8)).map(|(a, b)| a * b).sum();
    }

    fn scale(data, rounds) {
        let a = data.a;
        data.row[..rounds].iter().zip(&mut data.column).for_each(|(from, to)| *to = from * a);
    }

    fn windows(data, rounds) {
        data.result = data.words[..rounds].windows(2).filter(|pair| pair[0] < pair[1]).count() as u64;
    }

    fn histogram(data, rounds) {
        for byte in &data.bytes[..rounds] {
            data.counts[usize::from(byte & 63)] += 1;
        }
    }

    fn fields(data, rounds) {
        for i in 0..rounds {
            let statistics = std::hint::black_box(&mut data.statistics);
            statistics.hits += 1;
            statistics.bytes += i as u64;
            statistics.last = i as u32;
        }
    }

    fn steps(data, rounds) {
        let (mut a, mut b) = (0u64, 1u64);
        for &byte in &data.bytes[..rounds] {
            match Step::of(byte) {
                Step::Add(by) => a = a.wrapping_add(by),
                Step::Mix(by) => b ^= a.wrapping_mul(by),
                Step::Swap => std::mem::swap(&mut a, &mut b),
            }
        }
        data.result = a ^ b;
    }

    fn checked(data, rounds) {
        let add = |total: u64, word: &u32| total.checked_add((*word).into());
        data.result = data.words[..rounds].iter().try_fold(0, add).unwrap_or(1);
    }

    fn divide(data, rounds) {
        let divided = data.words[..rounds].iter().zip(1u32..).map(|(word, by)| u64::from(word / by));
        data.result = divided.sum();
    }

    fn generator(data, rounds) {
        data.result = (0..rounds).fold(data.values[1], |mut x, _| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^ x << 17
        });
    }

    fn bisect(data, rounds) {
        let rows = &data.row[..512];
        let mut found = 0;
        for i in 0..rounds / 10 {
            found += rows.partition_point(|value| value.to_bits() as usize & 511 < i);
        }
        data.result = found as u64;
    }

    fn queue(data, rounds) {
        let mut queue: VecDeque<u64> = VecDeque::with_capacity(16);
        let mut total = 0u64;
        for value in &data.values[..rounds] {
            if queue.len() == 8 {
                total ^= queue.pop_front().unwrap_or(0);
            }
            queue.push_back(*value);
        }
        data.result = total;
    }

    fn product(data, rounds) {
        for i in 0..rounds / 100 {
            let column = data.column[i % 16..].iter().step_by(16);
            data.copy_row[i % 16] = data.row[..100].iter().zip(column).map(|(a, b)| a * b).sum();
        }
    }

    fn characters(data, rounds) {
        let text = std::str::from_utf8(&data.bytes[..rounds]).unwrap_or("");
        data.result = text.chars().filter(|letter| "aeiou".contains(*letter)).count() as u64;
    }

    fn atomic_add(data, rounds) {
        for _ in 0..rounds {
            data.shared().fetch_add(1, Relaxed);
        }
    }

    fn atomic_update(data, rounds) {
        for i in 0..rounds {
            let value = data.values[i];
            _ = data.shared().fetch_update(SeqCst, Relaxed, |old| Some(old.wrapping_add(value)));
        }
    }

    fn atomic_peak(data, rounds) {
        for i in 0..rounds {
            data.shared().fetch_max(data.values[i], Relaxed);
        }
    }
}
