// SPDX-License-Identifier: MIT OR Apache-2.0
//! `tasks THREADS`: threads that poll the same tasks in turn, each one step at a time.
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

struct Server {
    requests: AtomicU64,
}

impl Server {
    async fn handle(&self, steps: u64) {
        for _ in 0..steps {
            self.requests.fetch_add(1, Ordering::Relaxed);
            Step(false).await;
        }
    }
}

/// Ready when it is polled once more.
struct Step(bool);

impl Future for Step {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

async fn serve(server: Arc<Server>, steps: u64) {
    server.handle(steps).await;
}

fn work(tasks: &Mutex<VecDeque<Task>>) {
    loop {
        let Some(mut task) = tasks.lock().unwrap().pop_front() else { return };
        if task.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
            tasks.lock().unwrap().push_back(task);
        }
    }
}

fn main() {
    let threads: u64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let server = Arc::new(Server { requests: AtomicU64::new(0) });
    let task = |steps| -> Task { Box::pin(serve(server.clone(), steps)) };
    let tasks = Mutex::new((0..2 * threads).map(|n| task(200 + n)).collect());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| work(&tasks));
        }
    });
    println!("{} requests", server.requests.load(Ordering::Relaxed));
}
