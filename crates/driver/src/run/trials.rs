// SPDX-License-Identifier: MIT OR Apache-2.0
//! The same run under several layouts of its objects, as many at once as the host has cores.
use super::child::Launched;
use super::{Options, jobs, outcome, signals, spare_memory, wait};
use crate::scratch::Scratch;
use crate::{cpus, program, runtime};
use anyhow::{Context, Result};
use corefold_launch::Relayout;
use corefold_recording::Run;
use indicatif::{ProgressBar, ProgressStyle};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Simulates `options` at the first of its counts, once for each of `layouts`: the runs in their order, fewer if a signal
/// ended it early, and that signal. What the program prints is not shown.
pub fn trials(options: &Options, layouts: &[Vec<Relayout>]) -> Result<(Vec<Run>, Option<i32>)> {
    cpus::check(&options.cpus, &options.machine)?;
    let program = program::check(&options.program)?;
    let runtime = runtime::find()?;
    let interrupts = signals::Interrupts::install().context("cannot watch for signals")?;
    let directory = Scratch::new()?;
    let placeholders = super::tsan::placeholders(&program.needs_tsan, directory.path())?;
    let jobs = jobs(options, layouts.len() as u64);
    let memory_limit = options.memory_limit.unwrap_or_else(|| spare_memory() / jobs as u64);
    let style = ProgressStyle::with_template("trying {wide_bar} {pos}/{len} layouts, {eta} left");
    let bar = ProgressBar::new(layouts.len() as u64).with_style(style.expect("the template is well formed"));
    bar.enable_steady_tick(Duration::from_millis(200));
    let one = |number: usize| -> Result<Run> {
        let own = directory.path().join(number.to_string());
        std::fs::create_dir(&own).with_context(|| format!("cannot make {}", own.display()))?;
        let launched = Launched {
            program: &program.path,
            runtime: &runtime,
            placeholders: &placeholders,
            directory: &own,
            memory_limit,
            alone: false,
        };
        let mut launch = launched.launch(options, options.cpus[0]);
        launch.relayouts.clone_from(&layouts[number]);
        let mut child = launched.start(options, &launch)?;
        let ended = wait::wait(&mut child, options.timeout, &interrupts)?;
        if ended.status.code() == Some(corefold_launch::EXIT_ENGINE) {
            bar.suspend(|| tell_fault(&launched.printed(launch.cpus)));
        }
        Ok(outcome::run(&launch, &ended))
    };
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Option<Result<Run>>>> = Mutex::new(layouts.iter().map(|_| None).collect());
    // The thread that starts a child waits for it: the kernel kills the child if that thread ends.
    let work = || loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= layouts.len() || interrupts.caught().is_some() {
            return;
        }
        let run = one(number);
        if interrupts.caught().is_some() {
            return;
        }
        done.lock().expect("no worker panics")[number] = Some(run);
        bar.inc(1);
    };
    std::thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(work))));
    bar.finish_and_clear();
    let runs = done.into_inner().expect("no worker panics").into_iter().map_while(|run| run);
    Ok((runs.collect::<Result<_>>()?, interrupts.caught()))
}

/// The runtime failed, not the program: that is said, whatever becomes of the layout.
fn tell_fault(printed: &Path) {
    let text = std::fs::read(printed).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let fault = text.lines().rfind(|line| line.starts_with("corefold: ")).unwrap_or("corefold: fault in the runtime");
    eprintln!("{fault}\ncorefold: that is an error of corefold, not of the program; the layout counts as failed");
}
