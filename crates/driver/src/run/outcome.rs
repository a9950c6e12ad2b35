// SPDX-License-Identifier: MIT OR Apache-2.0
//! What became of a child: its own recording, or one made up that says why there is none.
use super::wait::{Ended, Stopped};
use corefold_launch as launch;
use corefold_launch::Launch;
use corefold_recording::{Note, Run, Status};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

pub fn run(launch: &Launch, ended: &Ended) -> Run {
    let read = std::fs::read(&launch.output);
    let unwritten = read.as_deref().ok().and_then(unwritten);
    let decoded = read.as_deref().map(corefold_recording::decode_run);
    let run = match decoded {
        _ if let Some(error) = unwritten => made_up(launch, ended, &why_unwritten(launch, error)),
        Ok(Ok(run)) => amended(run, ended),
        Ok(Err(e)) => made_up(launch, ended, &format!("The engine's recording cannot be read: {e}")),
        Err(_) => made_up(launch, ended, "The engine left no recording"),
    };
    interrupted(blocked(run, ended), ended)
}

/// The error that kept the engine from writing its recording. An empty file is what a full disk leaves.
fn unwritten(file: &[u8]) -> Option<i32> {
    if file.is_empty() { Some(libc::ENOSPC) } else { launch::error_of_unwritten(file) }
}

fn why_unwritten(launch: &Launch, error: i32) -> String {
    let directory = Path::new(&launch.output).parent().unwrap_or(Path::new("/")).display();
    let remedy = match error {
        libc::ENOSPC | libc::EDQUOT => "; free space there, or set TMPDIR to a directory with more",
        libc::EFBIG => "; raise the limit on the size of files (`ulimit -f`)",
        _ => "",
    };
    let error = std::io::Error::from_raw_os_error(error);
    format!("The engine could not write its recording to {directory}: {error}{remedy}")
}

/// The engine knows only that it was asked to end; whether by the time-out or by a signal to us, we know.
fn interrupted(mut run: Run, ended: &Ended) -> Run {
    if ended.stopped == Some(Stopped::Interrupt)
        && let Status::TimedOut { running, waiters, .. } = run.status
    {
        run.status = Status::Interrupted { running, waiters };
    }
    run
}

/// A run that was blocked in the kernel past the runtime, if that is why we stopped it, did what cannot be simulated.
fn blocked(mut run: Run, ended: &Ended) -> Run {
    let Some(blocked) = &ended.blocked else { return run };
    if !blocked.is_unsupported() || ended.stopped == Some(Stopped::Interrupt) {
        run.notes.push(note(blocked.words()));
        return run;
    }
    if let Status::TimedOut { running, .. } = &mut run.status {
        let stack = running.first_mut().map(|one| std::mem::take(&mut one.stack)).unwrap_or_default();
        run.status = Status::Unsupported { what: blocked.words(), stack };
    }
    run
}

/// A program can die after the engine wrote that it exited; and a program that we stopped as it ended
/// was stopped.
fn amended(mut run: Run, ended: &Ended) -> Run {
    if let (Status::Exited(_) | Status::Unfinished, Some(_)) = (&run.status, ended.status.signal()) {
        run.status = status(ended);
        run.notes.push(note(format!("The process {} after the recording was written.", how(ended))));
    }
    run
}

fn made_up(launch: &Launch, ended: &Ended, why: &str) -> Run {
    Run {
        argv: launch.argv.clone(),
        machine: launch.machine.name.clone(),
        clock_hz: launch.machine.clock_hz,
        cpus: launch.cpus,
        seed: launch.seed,
        status: status(ended),
        sample_period: launch.sample_period,
        notes: vec![note(format!("{why}; the process {}.", how(ended)))],
        ..Run::default()
    }
}

fn note(text: String) -> Note {
    Note { text, pc: 0, count: 1 }
}

/// What the process's end alone tells.
fn status(ended: &Ended) -> Status {
    if ended.stopped.is_some() {
        // Of the signal that asks for an end it dies only before the engine has begun.
        let advances = ended.status.signal() == Some(libc::SIGTERM);
        return Status::TimedOut { running: Vec::new(), waiters: Vec::new(), advances, unseen: None };
    }
    if let Some(signal) = ended.status.signal() {
        return Status::Crashed { signal, address: Some(0), thread: 0, stack: Vec::new(), overflow: false };
    }
    match ended.status.code().unwrap_or(launch::EXIT_ENGINE) {
        launch::EXIT_DEADLOCK => Status::Deadlock { waiters: Vec::new() },
        launch::EXIT_UNSUPPORTED => {
            Status::Unsupported { what: "see the runtime's message on standard error".into(), stack: Vec::new() }
        }
        launch::EXIT_LIVELOCK => Status::Livelock { spin: false, running: Vec::new(), waiters: Vec::new() },
        launch::EXIT_TIMED_OUT => {
            Status::TimedOut { running: Vec::new(), waiters: Vec::new(), advances: false, unseen: None }
        }
        launch::EXIT_OUT_OF_MEMORY => Status::OutOfMemory { bytes: 0, stack: Vec::new() },
        launch::EXIT_CRASHED | launch::EXIT_USE_AFTER_FREE => {
            Status::Crashed { signal: 0, address: Some(0), thread: 0, stack: Vec::new(), overflow: false }
        }
        _ => Status::Unfinished,
    }
}

/// `was stopped at its timeout and killed by signal 9 (SIGKILL)`.
fn how(ended: &Ended) -> String {
    let stopped = match ended.stopped {
        Some(Stopped::Timeout) => "was stopped at its timeout and ",
        Some(Stopped::Stuck) => "was stopped because it made no progress and ",
        Some(Stopped::Interrupt) => "was stopped by an interrupt and ",
        None => "",
    };
    let end = match (ended.status.signal(), ended.status.code()) {
        (Some(libc::SIGKILL), _) if stopped.is_empty() => {
            "was killed by SIGKILL, perhaps because the host ran out of memory".into()
        }
        (Some(signal), _) => format!("was ended by signal {signal}"),
        (None, Some(code)) => format!("exited with status {code}"),
        (None, None) => "ended".into(),
    };
    format!("{stopped}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::ExitStatus;

    fn launch(output: &std::path::Path) -> Launch {
        Launch {
            machine: corefold_machine::load(corefold_machine::DEFAULT).unwrap().machine,
            cpus: 8,
            seed: 7,
            sample_period: 100,
            slack: 0,
            argv: vec!["./a".into(), "8".into()],
            output: output.display().to_string(),
            memory_limit: 0,
            longest: 0,
            quiet: false,
            measure_host: false,
            explores: false,
            step_by_step: false,
            relayouts: Vec::new(),
            parking: Vec::new(),
        }
    }

    /// `wait`'s encoding: a signal as it is, an exit status shifted.
    fn ended(raw: i32, stopped: Option<Stopped>) -> Ended {
        Ended { status: ExitStatus::from_raw(raw), stopped, blocked: None }
    }

    #[test]
    fn the_engines_own_recording_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("8.run");
        let written = Run { cpus: 8, cycles: 1234, status: Status::Exited(3), ..Run::default() };
        std::fs::write(&file, corefold_recording::encode_run(&written)).unwrap();
        assert_eq!(run(&launch(&file), &ended(3 << 8, None)), written);
        let died = run(&launch(&file), &ended(11, None));
        assert!(matches!(died.status, Status::Crashed { signal: 11, .. }) && died.cycles == 1234);
    }

    #[test]
    fn without_a_recording_the_end_is_told() {
        let file = std::path::Path::new("/no/such/file");
        let crashed = run(&launch(file), &ended(11, None));
        assert!(matches!(crashed.status, Status::Crashed { signal: 11, .. }));
        assert_eq!((crashed.cpus, crashed.seed, crashed.argv.len()), (8, 7, 2));
        assert_eq!(crashed.notes[0].text, "The engine left no recording; the process was ended by signal 11.");
        let stopped = run(&launch(file), &ended(9, Some(Stopped::Timeout)));
        assert!(matches!(stopped.status, Status::TimedOut { .. }));
        let interrupted = run(&launch(file), &ended(9, Some(Stopped::Interrupt)));
        assert!(matches!(interrupted.status, Status::Interrupted { .. }));
        let locked = run(&launch(file), &ended(corefold_launch::EXIT_DEADLOCK << 8, None));
        assert!(matches!(locked.status, Status::Deadlock { .. }));
        assert_eq!(run(&launch(file), &ended(0, None)).status, Status::Unfinished);
    }

    #[test]
    fn a_full_disk_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("8.run");
        for left in [String::new(), corefold_launch::unwritten(libc::ENOSPC.into())] {
            std::fs::write(&file, left).unwrap();
            let run = run(&launch(&file), &ended(0, None));
            assert_eq!(run.status, Status::Unfinished);
            let text = &run.notes[0].text;
            assert!(text.contains("No space left on device") && text.contains("TMPDIR"), "{text}");
        }
    }

    #[test]
    fn a_damaged_recording_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("8.run");
        std::fs::write(&file, [0xff; 3]).unwrap();
        let run = run(&launch(&file), &ended(0, None));
        assert_eq!(run.status, Status::Unfinished);
        assert!(run.notes[0].text.contains("cut short or damaged"), "{}", run.notes[0].text);
    }
}
