// SPDX-License-Identifier: MIT OR Apache-2.0
//! memcmp, strlen, strchr and their like.
use super::entry::{accounted, searched};
use crate::bytes::{length, length_within};
use crate::code::cost::work;
use crate::hooks::access::range_read;
use crate::scheduling::program_memory::read_value;

fn read(from: u64, bytes: u64, pc: u64) {
    work(bytes);
    range_read(from, pc, bytes);
}

/// Bytes that are equal in both, up to `most`.
fn common(left: u64, right: u64, most: u64) -> u64 {
    let mut at = 0;
    while at + 8 <= most && read_value(left + at, 8) == read_value(right + at, 8) {
        at += 8;
    }
    while at < most && read_value(left + at, 1) == read_value(right + at, 1) {
        at += 1;
    }
    at
}

fn compared(left: u64, right: u64, most: u64, pc: u64) {
    let looked_at = (common(left, right, most) + 1).min(most);
    work(looked_at);
    range_read(left, pc, looked_at);
    range_read(right, pc, looked_at);
}

fn strings_compared(left: u64, right: u64, pc: u64) {
    compared(left, right, length(left).min(length(right)) + 1, pc);
}

fn strings_compared_within(left: u64, right: u64, most: u64, pc: u64) {
    let shorter = length_within(left, most).min(length_within(right, most));
    compared(left, right, (shorter + 1).min(most), pc);
}

/// Letters of either case are equal to these: the whole shorter string is taken to be read.
fn compared_by_letter(left: u64, right: u64, pc: u64) {
    both_read(left, right, length(left).min(length(right)) + 1, pc);
}

fn compared_by_letter_within(left: u64, right: u64, most: u64, pc: u64) {
    let shorter = length_within(left, most).min(length_within(right, most));
    both_read(left, right, (shorter + 1).min(most), pc);
}

fn both_read(left: u64, right: u64, bytes: u64, pc: u64) {
    read(left, bytes, pc);
    range_read(right, pc, bytes);
}

accounted! {
    memcmp(left, right, bytes) "rcx" compared;
    bcmp(left, right, bytes) "rcx" compared;
    strcmp(left, right) "rdx" strings_compared;
    strcoll(left, right) "rdx" strings_compared;
    strncmp(left, right, most) "rcx" strings_compared_within;
    strcasecmp(left, right) "rdx" compared_by_letter;
    strncasecmp(left, right, most) "rcx" compared_by_letter_within;
}

fn measured(from: u64, length: u64, pc: u64) {
    read(from, length + 1, pc);
}

fn measured_within(from: u64, most: u64, length: u64, pc: u64) {
    read(from, (length + 1).min(most), pc);
}

/// Up to the byte found, or to the string's end.
fn sought(from: u64, _byte: u64, found: u64, pc: u64) {
    let end = if found == 0 { from + length(from) } else { found };
    read(from, end - from + 1, pc);
}

fn sought_in_all(from: u64, _byte: u64, _found: u64, pc: u64) {
    read(from, length(from) + 1, pc);
}

fn sought_within(from: u64, _byte: u64, most: u64, found: u64, pc: u64) {
    read(from, if found == 0 { most } else { found - from + 1 }, pc);
}

fn sought_from_end(from: u64, _byte: u64, most: u64, found: u64, pc: u64) {
    let begin = if found == 0 { from } else { found };
    read(begin, from + most - begin, pc);
}

fn text_sought(from: u64, text: u64, found: u64, pc: u64) {
    let bytes = length(text);
    let end = if found == 0 { from + length(from) + 1 } else { found + bytes };
    read(from, end - from, pc);
    range_read(text, pc, bytes + 1);
}

fn any_sought(from: u64, set: u64, found: u64, pc: u64) {
    let end = if found == 0 { from + length(from) } else { found };
    read(from, end - from + 1, pc);
    range_read(set, pc, length(set) + 1);
}

fn bytes_sought(from: u64, most: u64, text: u64, bytes: u64, found: u64, pc: u64) {
    read(from, if found == 0 { most } else { found + bytes - from }, pc);
    range_read(text, pc, bytes);
}

/// strspn and its like: the result is how many bytes at the beginning do.
fn spanned(from: u64, set: u64, bytes: u64, pc: u64) {
    read(from, bytes + 1, pc);
    range_read(set, pc, length(set) + 1);
}

searched! {
    strlen(from) "rsi" measured;
    strnlen(from, most) "rdx" measured_within;
    strchr(from, byte) "rdx" sought;
    index(from, byte) "rdx" sought;
    strchrnul(from, byte) "rdx" sought;
    rawmemchr(from, byte) "rdx" sought;
    __rawmemchr(from, byte) "rdx" sought;
    strrchr(from, byte) "rdx" sought_in_all;
    rindex(from, byte) "rdx" sought_in_all;
    memchr(from, byte, most) "rcx" sought_within;
    memrchr(from, byte, most) "rcx" sought_from_end;
    strstr(from, text) "rdx" text_sought;
    strpbrk(from, set) "rdx" any_sought;
    memmem(from, most, text, bytes) "r8" bytes_sought;
    strspn(from, set) "rdx" spanned;
    strcspn(from, set) "rdx" spanned;
}
