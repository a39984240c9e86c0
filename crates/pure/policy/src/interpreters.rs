//! Programs that are there to run the code they are given. A rule that names one of them and nothing else lets any code
//! run, as far as the sandbox and undo stand behind it.

/// Without versions: `python` stands for `python3.12`, too.
const INTERPRETERS: &[&str] = &[
    "R",
    "Rscript",
    "bb",
    "bun",
    "bunx",
    "clisp",
    "clj",
    "clojure",
    "deno",
    "elixir",
    "erl",
    "escript",
    "ghci",
    "groovy",
    "guile",
    "iex",
    "ipython",
    "irb",
    "java",
    "jshell",
    "julia",
    "kotlin",
    "lua",
    "luajit",
    "node",
    "nodejs",
    "npx",
    "ocaml",
    "octave",
    "perl",
    "php",
    "pipx",
    "pypy",
    "python",
    "racket",
    "ruby",
    "runghc",
    "runhaskell",
    "sbcl",
    "scala",
    "swipl",
    "tclsh",
    "ts-node",
    "tsx",
    "uvx",
];

/// Shells run files; of the texts they are given each command is judged.
const SHELLS: &[&str] =
    &[".", "ash", "bash", "dash", "fish", "ksh", "mksh", "rbash", "sh", "source", "zsh"];

/// By its name, without a directory.
pub fn is_interpreter(name: &str) -> bool {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.contains(&name) || INTERPRETERS.contains(&stem)
}

pub(super) fn runs_code(name: &str) -> bool {
    is_interpreter(name) || SHELLS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_count_and_other_programs_do_not() {
        for name in ["python", "python3", "python3.12", "node", "npx", "lua5.4", "R"] {
            assert!(is_interpreter(name) && runs_code(name), "{name}");
        }
        for name in ["bash", "source", "."] {
            assert!(!is_interpreter(name) && runs_code(name), "{name}");
        }
        for name in ["", "3", "xargs", "timeout", "awk", "make", "docker", "rm", "pythonx", "tmux"]
        {
            assert!(!runs_code(name), "{name}");
        }
    }
}
