// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sessions in one `Mutex<HashMap>`, in which each request finds its own.
//! The twin: each worker has a map of the sessions that it serves.
use rust_culprits::{TWIN, arguments, check, on_threads, work};
use std::collections::HashMap;
use std::sync::Mutex;

#[derive(Default)]
struct Session {
    requests: u64,
}

#[derive(Default)]
struct Server {
    sessions: Mutex<HashMap<u64, Session>>,
}

impl Server {
    fn touch(&self, id: u64) {
        self.sessions.lock().unwrap().entry(id).or_default().requests += 1;
    }

    fn requests(&self) -> u64 {
        self.sessions.lock().unwrap().values().map(|session| session.requests).sum()
    }
}

fn main() {
    let (threads, operations) = arguments();
    let shared = Server::default();
    let served = on_threads(threads, operations, |t, share| {
        let own = Server::default();
        let server = if TWIN { &own } else { &shared };
        (0..share).for_each(|request| server.touch(work((t * share + request) as u64, 40) % 1000));
        own.requests()
    });
    check("requests", served + shared.requests(), operations);
}
