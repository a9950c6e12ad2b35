// SPDX-License-Identifier: MIT OR Apache-2.0
//! Routes in an `RwLock`, which all requests take to read and nobody to write.
//! The twin: each worker reads a snapshot, an `Arc` that it has cloned once.
use rust_culprits::{TWIN, arguments, check, on_threads, work};
use std::collections::BTreeMap;
use std::sync::{Arc, RwLock};

struct Router {
    routes: RwLock<Arc<BTreeMap<u64, u64>>>,
}

impl Router {
    fn find(&self, key: u64) -> Option<u64> {
        self.routes.read().unwrap().get(&key).copied()
    }
}

fn main() {
    let (threads, operations) = arguments();
    let router = Router { routes: RwLock::new(Arc::new((0..64).map(|key| (key, key + 1)).collect())) };
    let found = on_threads(threads, operations, |_, share| {
        let snapshot = router.routes.read().unwrap().clone();
        let find = |key| {
            if TWIN { snapshot.get(&key).copied() } else { router.find(key) }
        };
        (0..share).filter(|&request| find(work(request as u64, 40) % 64).is_some()).count() as u64
    });
    check("routes", found, operations);
}
