//! Blocking input and output: a thread that would block is parked, the others go on.

/// Nothing in the program can run: waits for the world outside, if a thread waits for it.
pub fn wait_for_world() -> bool {
    false
}
