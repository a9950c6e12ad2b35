// SPDX-License-Identifier: MIT OR Apache-2.0

/// Compiles a file of C into a static library that is linked, with the compiler that the crate `cc` would call.
pub fn compile(source: &str, name: &str) {
    let variable = |name: &str| std::env::var(name).ok();
    let target = variable("TARGET").unwrap().replace('-', "_");
    let compiler = variable(&format!("CC_{target}")).or(variable("CC")).unwrap_or("cc".into());
    let out = variable("OUT_DIR").unwrap();
    let object = format!("{out}/{name}.o");
    let run = |program: &str, args: &[&str]| {
        assert!(std::process::Command::new(program).args(args).status().unwrap().success(), "{program} {args:?}");
    };
    run(&compiler, &["-O2", "-fPIC", "-c", source, "-o", &object]);
    run("ar", &["crs", &format!("{out}/lib{name}.a"), &object]);
    println!("cargo::rustc-link-search=native={out}");
    println!("cargo::rustc-link-lib=static={name}");
}
