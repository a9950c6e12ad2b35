// SPDX-License-Identifier: MIT OR Apache-2.0
//! Four lines of a cache's set, from the newest to the oldest, in a register of the host: every x86-64 has these
//! instructions, and they need no memory but the chunk itself.
use core::arch::x86_64::{
    __m128i, _mm_and_si128, _mm_andnot_si128, _mm_castsi128_ps, _mm_cmpeq_epi32, _mm_cvtsi128_si32, _mm_movemask_ps,
    _mm_or_si128, _mm_set_epi32, _mm_set1_epi32, _mm_shuffle_epi32, _mm_slli_si128,
};

/// No line has this number.
pub(crate) const EMPTY: u32 = 0;

#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Chunk(__m128i);

/// The place at which lines enter a chunk.
#[derive(Clone, Copy)]
pub(crate) struct Entry(__m128i);

impl Entry {
    /// The place behind `unused` ones that stay empty.
    #[inline]
    pub fn before(unused: usize) -> Self {
        let at = |place: usize| if place == unused { -1 } else { 0 };
        // SAFETY: every x86-64 has SSE2, which these belong to.
        Entry(unsafe { _mm_set_epi32(at(3), at(2), at(1), at(0)) })
    }
}

impl Chunk {
    pub const PLACES: usize = 4;

    #[inline]
    pub fn empty() -> Self {
        // SAFETY: every x86-64 has SSE2, which these belong to.
        Chunk(unsafe { _mm_set1_epi32(EMPTY as i32) })
    }

    #[inline]
    pub fn first(&self) -> u32 {
        // SAFETY: every x86-64 has SSE2, which these belong to.
        unsafe { _mm_cvtsi128_si32(self.0) as u32 }
    }

    #[inline]
    pub fn last(&self) -> u32 {
        // SAFETY: every x86-64 has SSE2, which these belong to.
        unsafe { _mm_cvtsi128_si32(_mm_shuffle_epi32::<0b11_11_11_11>(self.0)) as u32 }
    }

    #[inline]
    fn places_of(&self, line: u32) -> __m128i {
        // SAFETY: every x86-64 has SSE2, which these belong to.
        unsafe { _mm_cmpeq_epi32(self.0, _mm_set1_epi32(line as i32)) }
    }

    #[inline]
    pub fn has(&self, line: u32) -> bool {
        // SAFETY: every x86-64 has SSE2, which these belong to.
        unsafe { _mm_movemask_ps(_mm_castsi128_ps(self.places_of(line))) != 0 }
    }

    /// All lines one place on, `line` at the entry.
    #[inline]
    fn with(&self, line: u32, entry: Entry) -> __m128i {
        // SAFETY: every x86-64 has SSE2, which these belong to.
        unsafe {
            let entering = _mm_and_si128(_mm_set1_epi32(line as i32), entry.0);
            _mm_or_si128(_mm_slli_si128::<4>(self.0), entering)
        }
    }

    /// Puts a line before the others; returns the last, which has to leave.
    #[inline]
    pub fn insert(&mut self, line: u32, entry: Entry) -> u32 {
        let leaves = self.last();
        self.0 = self.with(line, entry);
        leaves
    }

    /// Puts a line before the others, in place of `old`, which is one of them.
    #[inline]
    pub fn insert_up_to(&mut self, line: u32, old: u32, entry: Entry) {
        // SAFETY: every x86-64 has SSE2, which these belong to.
        self.0 = unsafe {
            let one = _mm_slli_si128::<4>(self.places_of(old));
            let two = _mm_or_si128(one, _mm_slli_si128::<4>(one));
            let behind = _mm_or_si128(two, _mm_slli_si128::<8>(two));
            _mm_or_si128(_mm_and_si128(behind, self.0), _mm_andnot_si128(behind, self.with(line, entry)))
        };
    }
}
