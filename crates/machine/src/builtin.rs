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

static PROFILES: [Builtin; 15] = [
    profile!("skylake-2s-80", 80, "two-socket Skylake-SP server, 2 x 20 cores x 2 threads at 2.1 GHz (2017)"),
    profile!("xeon-4s-80", 80, "four-socket Xeon of 2010 to 2016, 4 x 10 cores x 2 threads at 2.4 GHz"),
    profile!("skl-i7-6700hq", 8, "Skylake laptop, 4 cores x 2 threads at 2.6 GHz (2015)"),
    profile!("icl-i5-1035g4", 8, "Ice Lake laptop, 4 cores x 2 threads at 3.3 GHz (2019)"),
    profile!("wsm-2s-x5650", 24, "two-socket Westmere-EP server, 2 x 6 cores x 2 threads at 2.67 GHz (2010)"),
    profile!("nhm-2s-x5550", 16, "two-socket Nehalem-EP server, 2 x 4 cores x 2 threads at 2.67 GHz (2009)"),
    profile!("hsw-4s-e7-8895v3", 144, "four-socket Haswell-EX server, 4 x 18 cores x 2 threads at 2.6 GHz (2015)"),
    profile!("bdw-2s-e5-2680v4", 56, "two-socket Broadwell server, 2 x 14 cores x 2 threads at 2.4 GHz (2016)"),
    profile!("clx-2s-8275cl", 96, "two-socket Cascade Lake server, 2 x 24 cores x 2 threads at 3.0 GHz (2019)"),
    profile!("icx-2s-8375c", 128, "two-socket Ice Lake server, 2 x 32 cores x 2 threads at 2.9 GHz (2021)"),
    profile!(
        "skx-8s-8176",
        448,
        "eight-socket Skylake-SP server in two halves, 8 x 28 cores x 2 threads at 3.0 GHz (2017)"
    ),
    profile!(
        "rome-2s-7742",
        256,
        "two-socket Rome server, 2 x 64 cores in complexes of 4 x 2 threads at 3.4 GHz (2019)"
    ),
    profile!(
        "milan-2s-7r13",
        192,
        "two-socket Milan server, 2 x 48 cores in complexes of 8 x 2 threads at 3.6 GHz (2021)"
    ),
    profile!("graviton2", 64, "Graviton2 (Neoverse N1), 64 cores at 2.5 GHz (2020)"),
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
        assert_eq!(larger_than(449).unwrap().name, "generic-1024");
        assert_eq!(larger_than(80).unwrap().name, DEFAULT);
        assert!(larger_than(1025).is_none());
    }
}
