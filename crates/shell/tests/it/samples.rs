//! Commands for the properties, and the commands of a script.

use ostler_core::permission::script::{Command, Compound, Script, Stage};

pub const HARMLESS: &[&str] = &[
    "ls -la src",
    "cat Cargo.toml",
    "echo 'a; b' \"c | d\"",
    "printf '%s\\n' x",
    "pwd",
    "grep -rn 'rm -rf /' .",
    "rg -l TODO",
    "head -20 f 2>/dev/null",
    "sort -k2 -n f",
    "uniq -c",
    "wc -l < f",
    "git status -s",
    "git log --oneline -5",
    "! true",
    "{ ls; pwd; }",
    "( ls; git diff --stat )",
    "cat f 2>&1",
    "ls > /dev/null 2>&1",
];

pub const UNPROVED: &[&str] = &[
    "rm -rf x",
    "sudo id",
    "./ls",
    "x=1",
    "PAGER=x git log",
    "cd src",
    "ls > out",
    "ls >> out",
    "ls 2> err",
    "ls >& out",
    "ls &> out",
    "ls $(id)",
    "ls `id`",
    "ls \"$x\"",
    "cat <(id)",
    "git push",
    "git diff --output=x",
    "git -c a=b status",
    "sort -o f f",
    "uniq a b",
    "tail -f f",
    "rg --pre=./x y",
    "date -s x",
    "printf -v x y",
    "printf %n x",
    "if true; then ls; fi",
    "for i in 1; do ls; done",
    "while false; do ls; done",
    "f() { ls; }",
    "[[ -f x ]]",
    "((1))",
    "case a in a) ls;; esac",
    "coproc ls",
    "time ls",
    "eval ls",
    "exec ls",
    "echo >&3",
    "cat <<E\n$(id)\nE",
];

/// Every simple command, wherever it stands.
pub fn commands(script: &Script) -> Vec<&Command> {
    let mut found = Vec::new();
    for item in &script.items {
        for pipeline in
            std::iter::once(&item.first).chain(item.rest.iter().map(|(_, pipeline)| pipeline))
        {
            for stage in &pipeline.stages {
                match stage {
                    Stage::Simple(command) => found.push(command),
                    Stage::Compound {
                        body: Compound::Group(inner) | Compound::Subshell(inner),
                        ..
                    } => {
                        found.extend(commands(inner));
                    }
                    Stage::Compound { .. } => {}
                }
            }
        }
    }
    found
}
