// SPDX-License-Identifier: MIT OR Apache-2.0
//! A seqlock whose data are read as a whole, in one volatile read: ends with 1 if a reader accepts a torn value.
use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*, fence};

const READS: usize = 200;

#[derive(Clone, Copy)]
#[repr(C)]
struct Quote {
    bid: u64,
    ask: u64,
    sizes: [u64; 6],
}

/// The last size lies on the next line.
#[repr(C, align(64))]
struct Feed {
    sequence: AtomicUsize,
    quote: UnsafeCell<Quote>,
}

// SAFETY: a reader tells by the sequence whether it has read what was written.
unsafe impl Sync for Feed {}

impl Feed {
    fn read(&self) -> Quote {
        loop {
            let begin = self.sequence.load(Acquire);
            if begin & 1 != 0 {
                std::thread::yield_now();
                continue;
            }
            // SAFETY: what is torn is not used.
            let quote = unsafe { ptr::read_volatile(self.quote.get()) };
            fence(Acquire);
            if begin == self.sequence.load(Relaxed) {
                return quote;
            }
        }
    }

    fn write(&self, value: u64) {
        let begin = self.sequence.load(Relaxed) + 1;
        self.sequence.store(begin, Relaxed);
        fence(Release);
        // SAFETY: there is one writer.
        let quote = unsafe { &mut *self.quote.get() };
        (quote.bid, quote.ask, quote.sizes[5]) = (value, value, value);
        self.sequence.store(begin + 1, Release);
    }
}

fn main() {
    static FEED: Feed =
        Feed { sequence: AtomicUsize::new(0), quote: UnsafeCell::new(Quote { bid: 0, ask: 0, sizes: [0; 6] }) };
    let (done, torn) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut value = 0;
            while !done.load(Acquire) {
                value += 1;
                FEED.write(value);
                for turn in 0..20 {
                    std::hint::black_box(turn);
                }
            }
        });
        let reader = scope.spawn(|| {
            for _ in 0..READS {
                let quote = FEED.read();
                torn.fetch_add(usize::from(quote.bid != quote.ask || quote.bid != quote.sizes[5]), Relaxed);
            }
        });
        reader.join().expect("a reader");
        done.store(true, Release);
    });
    println!("torn: {}", torn.load(Relaxed));
    std::process::exit(i32::from(torn.load(Relaxed) > 0));
}
