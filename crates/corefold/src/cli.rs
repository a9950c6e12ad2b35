// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the command line may say.
use crate::limits::{HostArgs, LimitArgs, seconds};
use clap::builder::TypedValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use corefold_driver::cc::{self, Language};
use corefold_driver::exit;
use std::ffi::OsString;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  corefold cc -O2 -o bench bench.c -pthread       compile for simulation
  CC=\"corefold cc\" CXX=\"corefold c++\" make        a whole project
  corefold run -- ./bench --threads {cpus}        a scaling curve, and what limits it
  corefold run --cpus 1,8-80:8 --json - -- ./bench {cpus} > curve.json
  corefold report corefold.rec                    print the last report again
  corefold explore --seeds 1-10000 -- ./test      many schedules of one program, until one fails
  corefold fix corefold.rec                       simulate other structure layouts, rank them
  corefold layout ./bench 'conn*' --stride slab   structures on cache lines, packed in a slab
  corefold case run percpu-limit                  reproduce a published result in simulation
  corefold machine show skylake-2s-80             a machine's parameters, each with its source";

const EXPLORE: &str = "\
Examples:
  corefold explore -- ./test                            1,000 schedules on 4 CPUs, until one fails
  corefold explore --seeds 1-10000 --cpus 8 -- ./test   10,000 schedules of a program of 8 threads
  corefold explore --keep-going --json found.json -- ./test
  corefold run --seed 4711 --cpus 4 -- ./test           replay the schedule of one seed

A schedule fails if the program exits with a status other than 0, crashes, uses memory after
freeing it, deadlocks, or livelocks. Exit codes: 0 if no schedule failed, 10 if one failed, 5 if
none failed but some did not finish in time, 6 if the program cannot be simulated, others as for
`corefold run`.";

const FIX: &str = "\
Examples:
  corefold fix corefold.rec                      what padding would gain, and where
  corefold fix corefold.rec --cpus 16            at 16 CPUs instead of the largest number
  corefold fix corefold.rec --also reads.rec     and what the same layouts do to another workload
  corefold fix corefold.rec --patch align.patch  write the best layout as a source patch
  corefold fix corefold.rec --patch align.patch --verify 'patch -p1 < align.patch && make'
  corefold fix corefold.rec --json - | jq '.layouts[0]'

The program is simulated once more for each layout. Its objects keep their addresses; fields that a
layout moves are simulated on other cache lines. So the figures hold for the workload, the machine
and the schedule of the recording. The source patch aligns or pads members of C and C++ structures
in place; where none can be made, the report says what to do instead.

Call it in the folder where the program was run. The program runs several times at once, without
standard input, and writes its files each time. Give --slack and --memory again if the recording
was made with them.";

const LAYOUT: &str = "\
Examples:
  corefold layout /sys/kernel/btf/vmlinux inode           one structure of the running kernel
  corefold layout ./server 'conn*' --expand               structures of a program built with -g
  corefold layout ./server conn --stride slab             the line of each field, packed in a slab
  corefold layout ./server inode --stride 592 --fields count,owner
  corefold layout --diff ./old ./new --stride slab        what changed between two builds
  corefold layout --diff ./old ./new --hot corefold.rec   ranked by what a recording waited for
  corefold layout ./server --json - | jq '.structures[] | select(.hole_bytes > 32) | .name'

Exit codes: 0; 2 if a file cannot be read or has no such structure, or if some of its debug
information is damaged (the rest is printed).";

/// Shows why a multithreaded program stops scaling: runs it on a simulated machine with as many CPUs as you choose.
#[derive(Parser)]
#[command(name = "corefold", version, after_help = format!("{EXAMPLES}\n\n{}", exit::HELP))]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Compile or link C for simulation: gcc or clang, plus instrumentation.
    ///
    /// All arguments go to gcc, or to the compiler that COREFOLD_CC names, such as clang-19.
    #[command(disable_help_flag = true)]
    Cc {
        #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
    /// Compile or link C++ for simulation: g++ or clang++, plus instrumentation.
    ///
    /// All arguments go to g++, or to the compiler that COREFOLD_CXX names.
    #[command(name = "c++", disable_help_flag = true)]
    Cxx {
        #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
    /// Simulate a program at several numbers of CPUs, and print a report.
    #[command(after_help = exit::HELP)]
    Run(RunArgs),
    /// Run a program under many schedules, each generated from a seed, until one fails.
    #[command(after_help = EXPLORE)]
    Explore(ExploreArgs),
    /// Print the report of a recording.
    Report(ReportArgs),
    /// Show structures on cache lines: offsets, holes, line boundaries; in arrays and slabs; between two builds.
    #[command(after_help = LAYOUT)]
    Layout(crate::layout::LayoutArgs),
    /// Simulate other layouts of the structures that a recording waited for, without recompiling, and rank them.
    #[command(after_help = FIX)]
    Fix(FixArgs),
    /// Reproduce published results in simulation.
    #[command(subcommand)]
    Case(crate::case::Command),
    /// List, show and measure the machines that can be simulated.
    #[command(subcommand)]
    Machine(crate::machine::Command),
}

#[derive(Args)]
pub struct RunArgs {
    /// Numbers of CPUs to simulate, such as 1,2,4,8-80:8 [default: powers of two, full sockets, all cores, all CPUs].
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<String>,
    /// Seed of the schedule and of the program's random numbers: 0 is the plain schedule; any other delays threads at
    /// random, to make races fail.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Average cycles between two call-stack samples on a CPU, at least 16. Virtual time does not depend on it.
    #[arg(long, value_name = "CYCLES", default_value_t = corefold_driver::run::SAMPLE_PERIOD)]
    pub sample_period: u64,
    /// File to write the recording to.
    #[arg(short, long, value_name = "FILE", default_value = "corefold.rec")]
    pub output: PathBuf,
    /// Fail with exit code 11 if the speed-up at the largest number of CPUs is below this.
    #[arg(long, value_name = "FACTOR", value_parser = factor())]
    pub at_least: Option<f64>,
    #[command(flatten)]
    pub report: ReportOptions,
    #[command(flatten)]
    pub limits: LimitArgs,
    /// The program and its arguments; {cpus} stands for the number of CPUs.
    #[arg(value_name = "PROGRAM", required = true, trailing_var_arg = true)]
    pub program: Vec<OsString>,
}

#[derive(Args)]
pub struct ExploreArgs {
    /// Seeds to try, such as 1-10000 or 7,11,100-200.
    #[arg(long, value_name = "LIST", default_value = "1-1000")]
    pub seeds: String,
    /// CPUs of the simulated machine. To run all threads in parallel, give as many CPUs as the program has threads.
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub cpus: u32,
    /// Stop after this many failing schedules.
    #[arg(long, value_name = "N", default_value = "1", conflicts_with = "keep_going")]
    pub stop_after: NonZero<usize>,
    /// Try all seeds, however many fail.
    #[arg(long)]
    pub keep_going: bool,
    /// Also write the failures as JSON; - means standard output, instead of the text.
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
    #[command(flatten)]
    pub limits: LimitArgs,
    /// The program and its arguments; {cpus} stands for the number of CPUs.
    #[arg(value_name = "PROGRAM", required = true, trailing_var_arg = true)]
    pub program: Vec<OsString>,
}

#[derive(Args)]
pub struct FixArgs {
    /// A recording written by `corefold run`; the program must still exist, unchanged.
    #[arg(value_name = "FILE")]
    pub recording: PathBuf,
    /// Number of CPUs [default: the largest of the recording].
    #[arg(long, value_name = "N")]
    pub cpus: Option<u32>,
    /// Another recording of the same program, to which the layouts are applied, too.
    #[arg(long, value_name = "FILE")]
    pub also: Vec<PathBuf>,
    /// Do not repeat the best layouts at each offset on a line where an object may begin.
    #[arg(long)]
    pub no_slots: bool,
    /// Also write the best layout as a source patch, before --verify; if none can be made, the file is empty and nothing is
    /// verified.
    #[arg(long, value_name = "FILE")]
    pub patch: Option<PathBuf>,
    /// Afterwards run this shell command, which has to change the source and rebuild the program, and simulate the result: does
    /// it gain as much as predicted?
    #[arg(long, value_name = "COMMAND")]
    pub verify: Option<String>,
    /// Also write the result as JSON; - means standard output, instead of the text.
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
    /// The machine, if it is not one that comes with corefold [default: that of the recording].
    #[arg(long, value_name = "NAME|FILE")]
    pub machine: Option<String>,
    /// End a run after this many seconds of host time.
    #[arg(long, value_name = "SECONDS", value_parser = seconds())]
    pub timeout: Option<Duration>,
    #[command(flatten)]
    pub host: HostArgs,
}

#[derive(Args)]
pub struct ReportArgs {
    /// A recording written by `corefold run`.
    #[arg(value_name = "FILE")]
    pub recording: PathBuf,
    #[command(flatten)]
    pub options: ReportOptions,
}

#[derive(Args)]
pub struct ReportOptions {
    /// How the amount of work depends on the number of CPUs, for programs without progress points.
    ///
    /// The default is the setting of the recording; for a new recording it is `total`.
    #[arg(long, value_enum)]
    pub work: Option<Work>,
    /// Also write the report as JSON; - means standard output, instead of the text.
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
    /// Name functions by their full paths, with template or generic arguments.
    #[arg(long)]
    pub full_names: bool,
    /// Do not measure or report the host time spent in uninstrumented code and in the kernel.
    ///
    /// This is the only part of a report that differs from run to run.
    #[arg(long)]
    pub no_host_time: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Work {
    /// The total work is the same at every number of CPUs
    Total,
    /// The work per CPU is the same at every number of CPUs
    PerCpu,
}

impl From<Work> for corefold_recording::Work {
    fn from(work: Work) -> Self {
        match work {
            Work::Total => corefold_recording::Work::Total,
            Work::PerCpu => corefold_recording::Work::PerCpu,
        }
    }
}

/// A speed-up: a number above 0.
fn factor() -> impl TypedValueParser<Value = f64> {
    clap::builder::NonEmptyStringValueParser::new().try_map(|text| {
        text.parse().ok().filter(|f: &f64| f.is_finite() && *f > 0.0).ok_or("must be a number above 0, such as 12.5")
    })
}

/// The compiler's arguments, if this is a call of the compiler: by the name that the command was called by, as
/// `corefold-cc`, by that of its file (`own`), where a link has another name, or by the first argument.
pub fn compiler_call(
    mut args: impl Iterator<Item = OsString>,
    own: Option<PathBuf>,
) -> Option<(Language, Vec<OsString>)> {
    let called = args.next()?;
    let names = [Path::new(&called), own.as_deref().unwrap_or(Path::new(""))].map(Path::file_name);
    if let Some(language) = names.into_iter().flatten().find_map(cc::wrapper) {
        return Some((language, args.collect()));
    }
    let language = match args.next()?.to_str()? {
        "cc" => Language::C,
        "c++" => Language::Cxx,
        _ => return None,
    };
    Some((language, args.collect()))
}

/// The arguments for `as`, if a compiler calls this program in its place.
pub fn assembler_call(mut args: impl Iterator<Item = OsString>) -> Option<Vec<OsString>> {
    let first = args.nth(1)?;
    (first == corefold_driver::cc::ASSEMBLE).then(|| args.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    fn run(line: &str) -> Result<RunArgs, clap::Error> {
        Cli::try_parse_from(line.split(' ')).map(|cli| match cli.command {
            Command::Run(args) => args,
            _ => panic!("not run"),
        })
    }

    #[test]
    fn what_follows_the_program_is_the_programs() {
        let args = run("corefold run --cpus 1,2 -- ./a --cpus {cpus} -o x").unwrap();
        assert_eq!(args.program, ["./a", "--cpus", "{cpus}", "-o", "x"]);
        assert_eq!((args.cpus.as_deref(), args.output.to_str()), (Some("1,2"), Some("corefold.rec")));
        assert_eq!(run("corefold run ./a -x").unwrap().program, ["./a", "-x"]);
        assert!(run("corefold run --cpsu 1 -- ./a").is_err());
        assert!(run("corefold run --cpus 1").is_err());
    }

    #[test]
    fn seconds_may_be_fractions() {
        assert_eq!(run("corefold run --timeout 0.5 ./a").unwrap().limits.timeout, Some(Duration::from_millis(500)));
        for bad in ["0", "-1", "x", "nan", "inf", "1e300"] {
            assert!(run(&format!("corefold run --timeout={bad} ./a")).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_least_speed_up_is_a_number_above_0() {
        assert_eq!(run("corefold run --at-least 12.5 ./a").unwrap().at_least, Some(12.5));
        for bad in ["0", "-1", "x", "nan", "inf"] {
            assert!(run(&format!("corefold run --at-least={bad} ./a")).is_err(), "{bad}");
        }
    }

    #[test]
    fn compilers_are_called_by_name() {
        let call = |line: &str| compiler_call(line.split(' ').map(OsString::from), None);
        let linked = |line: &str| compiler_call(line.split(' ').map(OsString::from), Some("/bin/corefold-c++".into()));
        assert_eq!(call("/usr/bin/corefold-cc cc -x").unwrap(), (Language::C, ["cc", "-x"].map(OsString::from).into()));
        assert_eq!(call("corefold-c++").unwrap().0, Language::Cxx);
        assert_eq!(linked("g++ -c").unwrap().0, Language::Cxx);
        assert_eq!(
            call("corefold cc --help -- -x"),
            Some((Language::C, ["--help", "--", "-x"].map(OsString::from).into()))
        );
        assert_eq!(call("corefold c++").unwrap().0, Language::Cxx);
        assert_eq!(call("corefold run cc"), None);
        assert_eq!(call("corefold"), None);
    }
}
