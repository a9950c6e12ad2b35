// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each request clones the server's `Arc<Config>`, and drops it at its end.
//! The twin: each worker clones it once.
use rust_culprits::{TWIN, arguments, check, on_threads, work};
use std::sync::Arc;

struct Config {
    limit: u64,
    name: String,
}

struct Server {
    config: Arc<Config>,
}

#[inline(never)]
fn serve(config: &Config, request: usize) -> u64 {
    u64::from(work(request as u64, 40) % config.limit < config.limit) * (config.name.len() as u64 - 3)
}

#[inline(never)]
fn handle(server: &Server, request: usize) -> u64 {
    let config = server.config.clone();
    serve(&config, request)
}

fn main() {
    let (threads, operations) = arguments();
    let server = Server { config: Arc::new(Config { limit: 1000, name: "main".into() }) };
    let served = on_threads(threads, operations, |_, share| {
        let config = server.config.clone();
        (0..share).map(|request| if TWIN { serve(&config, request) } else { handle(&server, request) }).sum()
    });
    check("requests", served, operations);
}
