//! What is fuzzed: one function a target, which says in a word how it went or which law was broken.

use ostler_config::{permissions_yaml, settings_json};
use ostler_core::permission::{
    Anchors, Commands, Effect, Lexical, Mode, Policy, Rule, Source, Tier, Verdict, Workspace,
    decide,
};
use std::fmt::Write;
use std::path::Path;
use std::sync::LazyLock;

pub struct Target {
    pub name: &'static str,
    /// Texts that mean something to it.
    pub words: &'static [&'static str],
    pub run: fn(&str) -> Result<String, String>,
}

pub static ALL: &[Target] = &[
    Target { name: "shell", words: SHELL, run: shell },
    Target { name: "rules", words: RULES, run: rules },
];

const SHELL: &[&str] = &[
    " ",
    "\n",
    "\t",
    ";",
    "&",
    "&&",
    "||",
    "|",
    "|&",
    "(",
    ")",
    "((",
    "))",
    "{ ",
    "; }",
    "[[ ",
    " ]]",
    "$(",
    "`",
    "${",
    "}",
    "$((",
    "$[",
    "'",
    "\"",
    "$'",
    "$\"",
    "\\",
    "\\\n",
    "<<E\n",
    "<<'E'\n",
    "<<-E\n",
    "\nE\n",
    "<<<",
    "<",
    ">",
    ">>",
    ">&",
    "2>&1",
    "&>",
    "<(",
    ">(",
    "#",
    "!",
    "*",
    "?",
    "[a]",
    "{a,b}",
    "{1..3}",
    "~",
    "$x",
    "${x:-y}",
    "${x@P}",
    "${!x}",
    "x=1 ",
    "x=(a b)",
    "a[0]=1",
    "if ",
    "then ",
    "fi",
    "for x in ",
    "do ",
    "done",
    "while ",
    "case x in ",
    "a) ",
    ";;",
    "esac",
    "f() ",
    "function f ",
    "coproc ",
    "select x in ",
    "time ",
    "eval ",
    "exec ",
    "env ",
    "timeout 5 ",
    "xargs ",
    "sudo ",
    "bash -c ",
    "rm -rf /",
    "git status",
    "ls",
    "cat ",
    "echo ",
    "--",
    "-x",
    "sed -n ",
    "1,2p",
    "s/a/b/",
    "find . ",
    "-exec ",
    "\\;",
    "awk ",
    "sort ",
    "-o ",
    "test ",
    "-v ",
    "-eq ",
    "declare -i ",
    "printf -v ",
    "read ",
    "trap ",
    "> f",
];

const RULES: &[&str] = &[
    "default: ",
    "ask",
    "read",
    "deny",
    "allow",
    "always_deny:\n",
    "always_allow:\n",
    "ask_user:\n",
    "  - pattern: ",
    "    reason: ",
    "    tool: ",
    "    examples: {match: [\"a\"], miss: [\"b\"]}\n",
    "  - rule: ",
    "\"",
    "'",
    "\n",
    "  ",
    ": ",
    "- ",
    "{",
    "}",
    "[",
    "]",
    ",",
    "#",
    "&a",
    "*a",
    "!!str",
    "|\n",
    ">\n",
    "---\n",
    "permissions",
    "\"allow\": [",
    "\"deny\": [",
    "\"env\": {",
    "Bash(",
    ":*)",
    "Bash(git status:*)",
    "Edit(./**)",
    "Read(~/.ssh/**)",
    "WebFetch(domain:",
    "mcp__a__*",
    "(a|b)*",
    "^",
    "$",
    ".*",
    "\\\\",
    "{1,9}",
    "(?i)",
    "[a-z]",
    "null",
    "true",
    "1e9",
];

static WORKSPACE: LazyLock<Workspace> = LazyLock::new(|| Workspace {
    cwd: "/ws".into(),
    roots: vec!["/ws".into()],
    home: "/home/dev".into(),
    tools: ostler::known_tools(),
    ..Workspace::default()
});

fn anchors() -> Anchors<'static> {
    Anchors::of(&WORKSPACE)
}

static POLICY: LazyLock<Policy> = LazyLock::new(|| {
    let parse = |text: &str| Rule::parse(text, &WORKSPACE).ok();
    Policy {
        allow: ["Bash(ls:*)", "Bash(cat:*)", "Bash(make:*)", "Edit(./**)"]
            .iter()
            .filter_map(|text| parse(text))
            .collect(),
        deny: parse("Bash(sudo:*)").into_iter().collect(),
        ..Policy::default()
    }
});

fn verdict(commands: Commands) -> Verdict {
    let places = Lexical { workspace: &WORKSPACE };
    let mut commands = commands;
    commands.look_up(&places);
    let access = commands.access(&places, |tree| POLICY.spoken_of(tree));
    decide("Bash", &access, &POLICY, Mode::Default, &WORKSPACE).verdict
}

fn shell(text: &str) -> Result<String, String> {
    let ours = ostler_shell::parse(text);
    match (&ours, ostler_shell::agreed(text)) {
        (Ok(ours), Ok(agreed)) if *ours != agreed => {
            return Err("both readings agree on another script".into());
        }
        (Err(_), Ok(_)) => return Err("what we cannot read was agreed on".into()),
        _ => {}
    }
    let commands = ostler_shell::steps(text);
    let mut way = String::new();
    for step in commands.steps.iter().take(4) {
        let effect = match &step.effect {
            Effect::Reads => "r",
            Effect::Writes => "w",
            Effect::Ruin(_) => "!",
            Effect::Unknown(why) => why.get(..12).unwrap_or("u"),
            Effect::Nothing => "n",
        };
        let _ = write!(way, "{effect}{:?}{} ", step.position, step.transparent);
    }
    let _ = write!(
        way,
        "{} {:.30}",
        commands.steps.len().min(6),
        commands.doubts.first().map_or("", String::as_str)
    );
    let clear = commands.doubts.is_empty();
    let alone = verdict(commands);
    // Whatever follows, a denied command before it stays denied, or the whole is not understood.
    let joined = ostler_shell::steps(&format!("sudo id\n{text}"));
    let denied = verdict(joined.clone());
    if denied == Verdict::Allow || (clear && joined.doubts.is_empty() && denied != Verdict::Deny) {
        return Err(format!("behind a denied command it is {denied:?}"));
    }
    // Whoever is allowed alone may not become worse than a question in a group of its own.
    if alone == Verdict::Allow
        && verdict(ostler_shell::steps(&format!("{{ {text}\n}}"))) == Verdict::Deny
    {
        return Err("allowed alone and denied in a group".into());
    }
    Ok(format!("{way} {alone:?}"))
}

fn rules(text: &str) -> Result<String, String> {
    let file = Path::new("permissions.yaml");
    let yaml = permissions_yaml::parse(text, file, anchors(), Tier::User, &|_, _, _| true);
    let yaml = match yaml {
        Ok((policy, _)) => format!(
            "{}{}{}",
            policy.deny.len().min(3),
            policy.ask.len().min(3),
            policy.allow.len().min(3)
        ),
        Err(error) => said(&error.to_string())?,
    };
    let json =
        match settings_json::parse(text, Path::new("settings.json"), anchors(), Tier::Project) {
            Ok(settings) => format!("{}{:?}", settings.policy.allow.len().min(3), settings.mode),
            Err(error) => said(&error.to_string())?,
        };
    for line in text.lines() {
        if let Ok(rule) = Rule::parse(line, &WORKSPACE) {
            let again = Rule::parse(rule.text(), &WORKSPACE);
            if again.as_ref() != Ok(&rule) {
                return Err(format!("the rule {line:?} is not what it says"));
            }
        }
        let _ = Rule::regex("Bash", line, Source::default());
    }
    Ok(format!("{yaml} {json}"))
}

/// An error is one line that begins with the file.
fn said(error: &str) -> Result<String, String> {
    let one_line = !error.contains('\n') && !error.contains('\u{1b}');
    let named = error.starts_with("permissions.yaml") || error.starts_with("settings.json");
    if !one_line || !named {
        return Err(format!("an error that is no line with its file: {error:?}"));
    }
    let without_numbers: String = error.chars().filter(|c| !c.is_ascii_digit()).take(60).collect();
    Ok(without_numbers)
}
