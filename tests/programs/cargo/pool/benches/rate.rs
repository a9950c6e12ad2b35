// SPDX-License-Identifier: MIT OR Apache-2.0
fn main() {
    assert!(std::env::args().any(|word| word == "--bench"), "cargo says what it runs for");
    println!("benchmark counted {}", pool::count(2));
}
