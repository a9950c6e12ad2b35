fn main() {
    let path = std::env::args().nth(1).unwrap().into();
    let t = std::time::Instant::now();
    let types = corefold_dwarf::Types::open(&corefold_dwarf::Request { path, ..Default::default() }).unwrap();
    eprintln!("{} structures, {:?}, damage {:?}", types.structures().len(), t.elapsed(), types.damage().first());
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    eprintln!("{}", status.lines().find(|l| l.starts_with("VmHWM")).unwrap());
    let mut names: Vec<_> = types.structures().iter().map(|s| &s.name).collect();
    names.sort();
    let n = names.len();
    names.dedup();
    eprintln!("{} distinct names of {n}", names.len());
}
