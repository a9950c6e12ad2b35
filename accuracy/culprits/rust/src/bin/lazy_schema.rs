// SPDX-License-Identifier: MIT OR Apache-2.0
//! A value that is computed once, behind a `Mutex<Option>` that is locked at each use.
//! The twin: a `OnceLock`.
use rust_culprits::{TWIN, arguments, check, on_threads, work};
use std::sync::{Mutex, OnceLock};

struct Schema {
    columns: u64,
}

static SCHEMA: Mutex<Option<&'static Schema>> = Mutex::new(None);
static SCHEMA_ONCE: OnceLock<Schema> = OnceLock::new();

fn load() -> Schema {
    Schema { columns: work(7, 1000) | 1 }
}

fn schema() -> &'static Schema {
    if TWIN {
        return SCHEMA_ONCE.get_or_init(load);
    }
    SCHEMA.lock().unwrap().get_or_insert_with(|| Box::leak(Box::new(load())))
}

fn main() {
    let (threads, operations) = arguments();
    let rows = on_threads(threads, operations, |_, share| {
        (0..share).map(|row| (work(row as u64, 40) | schema().columns) & 1).sum()
    });
    check("rows", rows, operations);
}
