// SPDX-License-Identifier: MIT OR Apache-2.0
//! The profiles that come with corefold.

/// The machine of a run that names none.
pub const DEFAULT: &str = "skylake-2s-80";

#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    pub name: &'static str,
    /// One line.
    pub description: &'static str,
    /// CPUs that the machine has.
    pub cpus: u32,
    pub(crate) file: &'static str,
    pub(crate) text: &'static str,
}

macro_rules! profile {
    ($name:literal, $cpus:literal, $description:literal) => {
        Builtin {
            name: $name,
            description: $description,
            cpus: $cpus,
            file: concat!("machines/", $name, ".toml"),
            text: include_str!(concat!("../../../machines/", $name, ".toml")),
        }
    };
}

static PROFILES: [Builtin; 3] = [
    profile!("skylake-2s-80", 80, "two-socket Skylake-SP server, 2 x 20 cores x 2 threads at 2.1 GHz (2017)"),
    profile!("xeon-4s-80", 80, "four-socket Xeon of 2010 to 2016, 4 x 10 cores x 2 threads at 2.4 GHz"),
    profile!("generic-1024", 1024, "eight sockets of 64 cores x 2 threads at 2.5 GHz: mostly estimated"),
];

/// The built-in profiles, the default first.
pub fn builtin() -> &'static [Builtin] {
    &PROFILES
}

/// The smallest built-in machine that has `cpus`, or none.
pub fn larger_than(cpus: u32) -> Option<&'static Builtin> {
    PROFILES.iter().filter(|b| b.cpus >= cpus).min_by_key(|b| b.cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The list must say what the files say: it is read without parsing them.
    #[test]
    fn the_list_agrees_with_the_profiles() {
        assert_eq!(PROFILES[0].name, DEFAULT);
        for b in builtin() {
            let p = crate::load(b.name).unwrap();
            assert_eq!((p.machine.name.as_str(), p.machine.cpus()), (b.name, b.cpus));
            assert_eq!(p.description, b.description, "{}", b.name);
            assert_eq!(p.warnings, Vec::<String>::new(), "{}", b.name);
        }
    }

    #[test]
    fn the_smallest_machine_that_fits_is_named() {
        assert_eq!(larger_than(81).unwrap().name, "generic-1024");
        assert_eq!(larger_than(80).unwrap().name, DEFAULT);
        assert!(larger_than(1025).is_none());
    }
}
