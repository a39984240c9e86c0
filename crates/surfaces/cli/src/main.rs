//! The program `ostler`: command line, terminal, exit codes. `ostler-profile` makes options of flags, settings and
//! environment.

mod args;
mod commands;
mod exit;
mod output;
mod terminal;

use std::process::ExitCode;

/// Our environment holds the credential: commands of the same user must not read it out of /proc.
fn hide_from_commands() {
    // Where this is refused, nothing is worse than before.
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

fn main() -> ExitCode {
    // First: in the supervisor's copy of this program this does not return.
    let init = ostler::init();
    hide_from_commands();
    // Many sessions need many files; where this is refused, there are fewer. Commands get the limit that we were given.
    let _ = ostler::raise_open_file_limit();
    std::panic::set_hook(Box::new(exit::report_panic));
    let words: Vec<_> = std::env::args_os().collect();
    let args = match args::Args::of(&words) {
        Ok(args) => args,
        Err(error) if error.use_stderr() && args::agent_sdk::is_wanted(words.into_iter()) => {
            // Programs that drive us through pipes know one code for everything that went wrong.
            let _ = error.print();
            return ExitCode::FAILURE;
        }
        Err(error) => error.exit(),
    };
    let code = match std::panic::catch_unwind(|| commands::run(&init, args)) {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => exit::report(&error),
        Err(_) => exit::Code::Internal,
    };
    terminal::restore();
    output::printer::end();
    code.into()
}
