//! Commands for the properties, and the commands of a script.

use ostler_policy::script::{Command, Compound, PipelineStage, Script};
use ostler_policy::{Act, Commands, Step, Touch};
use ostler_shell::steps;

/// Understood to the last word, and nothing in it does more than read.
pub fn is_harmless(text: &str) -> bool {
    only_reads(&steps(text))
}

pub fn only_reads(commands: &Commands) -> bool {
    let alone = |step: &Step| {
        let reads = |touch: &Touch| touch.act == Act::Read;
        step.variables.is_empty() && step.hosts.is_empty() && step.touches.iter().all(reads)
    };
    commands.only_reads() && commands.steps.iter().all(alone)
}

/// The files that a harmless text names.
pub fn reads(commands: &Commands) -> Vec<&str> {
    let touches = commands.steps.iter().flat_map(|step| &step.touches);
    touches.map(|touch| touch.path.as_str()).collect()
}

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
    "PATH=x",
    "PAGER=x git log",
    "cd src; ./x",
    "ls > out",
    "ls >> out",
    "ls 2> err",
    "ls >& out",
    "ls &> out",
    "ls $(x)",
    "ls `x`",
    "ls \"$x\"",
    "cat <(x)",
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
    "if true; then x; fi",
    "for i in 1; do rm $i; done",
    "while x; do ls; done",
    "ls() { x; }",
    "[[ -f $(x) ]]",
    "((x[`y`]))",
    "case a in a) x;; esac",
    "coproc x",
    "time x",
    "eval x",
    "exec x",
    "echo >&3",
    "cat <<E\n$(x)\nE",
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
                    PipelineStage::Simple(command) => found.push(command),
                    PipelineStage::Compound {
                        body: Compound::Group(inner) | Compound::Subshell(inner),
                        ..
                    } => {
                        found.extend(commands(inner));
                    }
                    PipelineStage::Compound { .. } => {}
                }
            }
        }
    }
    found
}
