// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two threads that take two locks, each in another order: a deadlock.
use std::sync::{Arc, Barrier, Mutex};

struct Accounts {
    from: Mutex<u64>,
    to: Mutex<u64>,
    both: Barrier,
}

impl Accounts {
    #[inline(never)]
    fn pay(&self) {
        let mut from = self.from.lock().unwrap();
        self.both.wait();
        *self.to.lock().unwrap() += 1;
        *from -= 1;
    }

    #[inline(never)]
    fn pay_back(&self) {
        let mut to = self.to.lock().unwrap();
        self.both.wait();
        *self.from.lock().unwrap() += 1;
        *to -= 1;
    }
}

fn main() {
    let accounts = Arc::new(Accounts { from: Mutex::new(1), to: Mutex::new(1), both: Barrier::new(2) });
    std::thread::scope(|scope| {
        scope.spawn(|| accounts.pay());
        scope.spawn(|| accounts.pay_back());
    });
}
