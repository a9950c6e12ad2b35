// SPDX-License-Identifier: MIT OR Apache-2.0
//! liburcu's source, for programs that are compiled together with it: its grace periods cost what they cost, and its
//! accesses are seen.
use super::suite::unpacked;
use std::sync::OnceLock;

/// What its configure script would find out.
const CONFIG: &str = "#define CONFIG_RCU_SMP 1\n#define CONFIG_RCU_TLS __thread\n\
    #define CONFIG_RCU_HAVE_CLOCK_GETTIME 1\n#define CONFIG_RCU_HAVE_FUTEX 1\n";
/// The flavour "memb", and what it needs.
const SOURCES: [&str; 5] = ["urcu.c", "urcu-pointer.c", "compat_arch.c", "compat_futex.c", "wfcqueue.c"];

/// Options for the compiler, sources included; `None` where the source package cannot be had, and that is said.
pub fn liburcu() -> Option<&'static [String]> {
    static OPTIONS: OnceLock<Option<Vec<String>>> = OnceLock::new();
    OPTIONS.get_or_init(options).as_deref()
}

fn options() -> Option<Vec<String>> {
    let source = unpacked("liburcu")?;
    let configured = source.join("configured");
    std::fs::create_dir_all(configured.join("urcu")).unwrap();
    std::fs::write(configured.join("urcu/config.h"), CONFIG).unwrap();
    std::fs::write(configured.join("config.h"), "").unwrap();
    let mut options = vec!["-D_GNU_SOURCE".to_owned(), "-DRCU_MEMBARRIER".to_owned()];
    for directory in [configured, source.join("include"), source.join("src")] {
        options.extend(["-I".to_owned(), directory.display().to_string()]);
    }
    options.extend(SOURCES.map(|name| source.join("src").join(name).display().to_string()));
    Some(options)
}
