// SPDX-License-Identifier: MIT OR Apache-2.0
fn main() {
    let threads = std::env::args().nth(1).expect("a number of threads").parse().expect("a number");
    println!("counted {}, mixed {}, flags: {}", pool::count(threads), pool::mixed(100), pool::flags());
}
