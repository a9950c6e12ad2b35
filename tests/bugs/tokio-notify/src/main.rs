// SPDX-License-Identifier: MIT OR Apache-2.0
//! One call of `notify_waiters` wakes those that wait, and none that begins to wait when one of these has been woken.
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use tokio::sync::{futures::Notified, Notify};

/// A batch and some: the lock is let go between batches.
const WAITERS: usize = 40;

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn poll(future: &mut Pin<Box<Notified<'_>>>, woken: &Arc<Woken>) -> bool {
    future.as_mut().poll(&mut Context::from_waker(&Waker::from(woken.clone()))).is_ready()
}

fn main() {
    let notify = Notify::new();
    let woken = Arc::new(Woken(AtomicBool::new(false)));
    let mut waiters: Vec<_> = (0..WAITERS).map(|_| Box::pin(notify.notified())).collect();
    waiters.iter_mut().for_each(|waiter| assert!(!poll(waiter, &woken)));
    std::thread::scope(|scope| {
        let notifier = scope.spawn(|| notify.notify_waiters());
        while !woken.0.load(Ordering::SeqCst) {
            std::hint::spin_loop();
        }
        let mut late = Box::pin(notify.notified());
        let at_once = poll(&mut late, &woken);
        notifier.join().unwrap();
        assert!(!at_once && !poll(&mut late, &woken), "who waits after the first was woken is woken, too");
    });
}
