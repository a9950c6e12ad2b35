// SPDX-License-Identifier: MIT OR Apache-2.0
//! Starting a command under test as if from a terminal, and waiting for it, but not for ever. The end-to-end tests
//! include this file too.
#![allow(dead_code, reason = "each test program uses a part")]
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than any command of a test takes on a host that is busy with others. What takes longer hangs.
const LONGEST: Duration = Duration::from_secs(1800);

/// Gives the command the usual action of every signal. A test that is started with some ignored (`nohup`, a
/// background job of a script, some CI runners) would hand that down. The command dies with the test that started it.
pub fn with_usual_signals(command: &mut Command) -> &mut Command {
    let usual = || {
        (1..=libc::SIGRTMAX()).for_each(|signal| {
            // SAFETY: SIG_DFL is a valid action; for a number that has none the call does nothing.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        });
        // SAFETY: a system call that takes numbers.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        Ok(())
    };
    // SAFETY: the closure only makes system calls. std has emptied the mask of blocked signals already.
    unsafe { command.pre_exec(usual) }
}

/// Waits for the child, which is killed and said to hang after `longest`.
#[track_caller]
pub fn wait_for(child: &mut Child, longest: Duration) -> ExitStatus {
    let deadline = Instant::now() + longest;
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            panic!("a command hangs: it has not ended in {longest:?}");
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// `Command::output`, with an end.
#[track_caller]
pub fn output(command: &mut Command) -> Output {
    let longest = if std::env::var_os("COREFOLD_STRESS").is_some() { 6 * LONGEST } else { LONGEST };
    output_within(command, longest)
}

#[track_caller]
pub fn output_within(command: &mut Command, longest: Duration) -> Output {
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let reader = thread::spawn(move || {
        let mut bytes = Vec::new();
        err.read_to_end(&mut bytes).map(|_| bytes)
    });
    let other = thread::spawn(move || {
        let mut bytes = Vec::new();
        out.read_to_end(&mut bytes).map(|_| bytes)
    });
    let status = wait_for(&mut child, longest);
    // A process that outlives the command would keep its output open.
    let end = Instant::now() + longest;
    while !(reader.is_finished() && other.is_finished()) {
        assert!(Instant::now() < end, "{command:?} has ended, but something it started still holds its output");
        thread::sleep(Duration::from_millis(1));
    }
    Output { status, stdout: other.join().unwrap().unwrap(), stderr: reader.join().unwrap().unwrap() }
}
