//! What agents write: pipelines, lists, quotes, substitutions, loops, here-documents.

use crate::random::Random;

const NAMES: &[&str] = &["prog", "alpha", "beta", "gamma", "cat", "grep", "git", "make", "ls"];

const WORDS: &[&str] = &[
    "src",
    "a.txt",
    "-la",
    "--opt=val",
    "'single quoted'",
    "\"double quoted\"",
    "\"with $x inside\"",
    "*.txt",
    "src/*",
    "{a,b}",
    "a{1..3}.txt",
    "pre{x,y}post",
    "file\\ name",
    "$'a\\tb'",
    "\"it's\"",
    "'say \"hi\"'",
    "HEAD~1",
    "HEAD@{1}",
    "$HOME/x",
    "${x:-default}",
    "\"${x}\"",
    "$((1+2))",
    "~/x",
    "key=value",
    "@{u}",
    "s/a/b/g",
    "'{print $1}'",
    "\"a;b|c&d\"",
    "--format=\"%h %s\"",
    "é日本",
    "\"\\$x \\\\ \\`\"",
    "[a-c]*",
    "a#b",
    "'%s\\n'",
    "'$x'",
    "2",
    "-n",
    "--",
    ".",
    "..",
    "'a\nb'",
    "\"a\nb\"",
    "\"\"",
    "''",
    "-m",
    "'fix: x (y)'",
    "origin/main..HEAD",
    "'^[a-z]+$'",
    "\"^foo\\.bar$\"",
    "{}",
    "\\;",
    "'*.rs'",
    "-exec",
    "+",
    "%h",
    "a,b",
    "host:~/x",
    "p=a:~/x",
    "-I{}",
    "x=$x",
    "\"${x%.*}\"",
    "${#x}",
    "!",
    "=",
    "\"!\"",
    "@",
    "C:\\\\x",
    "'it'\\''s'",
    "\"$@\"",
    "$?",
    "\"$(prog in)\"",
    "$(alpha b)",
    "`beta c`",
    "\"a $(gamma \"x y\") b\"",
    "$(cat a.txt | grep x)",
];

const REDIRECTS: &[&str] = &[
    ">out",
    " > out",
    "2>/dev/null",
    ">> log",
    "2>&1",
    "< a.txt",
    "&>all",
    "<<< word",
    "> /dev/null 2>&1",
    ">&2",
    "<<<\"$x y\"",
];

pub fn line(random: &mut Random) -> String {
    let mut text = String::new();
    for index in 0..1 + random.below(3) {
        if text.ends_with('&') {
            text.push_str(random.pick(&[" ", "\n"]));
        } else if index > 0 && !text.ends_with('\n') {
            text.push_str(random.pick(&["; ", "\n", " ;", "\n\n", "; # note\n", " # it's\n"]));
        }
        text.push_str(&statement(random, 2));
    }
    text
}

fn command(random: &mut Random) -> String {
    let mut text = String::new();
    if random.percent(8) {
        text.push_str(random.pick(&["x=1 ", "A=b C='d e' ", "x=\"$y\" ", "LC_ALL=C "]));
    }
    text.push_str(random.pick(NAMES));
    for _ in 0..random.below(5) {
        text.push_str(random.pick(&[" ", " ", " ", "  ", " \\\n  "]));
        text.push_str(random.pick(WORDS));
    }
    if random.percent(20) {
        text.push(' ');
        text.push_str(random.pick(REDIRECTS));
    }
    text
}

fn joined(random: &mut Random) -> String {
    let mut text = command(random);
    for _ in 0..random.below(3) {
        text.push_str(random.pick(&[
            " | ",
            " | ",
            " |\n  ",
            " && ",
            " && ",
            " || ",
            " |& ",
            " && \\\n  ",
        ]));
        text.push_str(&command(random));
    }
    text
}

fn document(random: &mut Random) -> String {
    let (open, close) =
        *[("<<'EOF'", "EOF"), ("<<EOF", "EOF"), ("<<-\"END\"", "\tEND"), ("<< 'X_1'", "X_1")]
            .get(random.below(4))
            .unwrap();
    let more = random.pick(&["", " >out", " | grep x", " && beta done"]);
    let body = random.pick(&[
        "plain text\n",
        "it's $x and $(prog inner)\n",
        "a \\$x \"quoted\" `alpha q`\n",
        "",
        "if x; then\n  y\nfi\n",
        "# no comment\n\ttab\n",
    ]);
    format!("cat {open}{more}\n{body}{close}\n")
}

fn statement(random: &mut Random, depth: usize) -> String {
    let kind = if depth == 0 { random.below(6) } else { random.below(24) };
    let inner = |random: &mut Random| {
        let text = statement(random, depth - 1);
        if text.ends_with('\n') {
            text
        } else if text.ends_with('&') {
            text + " "
        } else {
            format!("{text}; ")
        }
    };
    match kind {
        0..=8 => joined(random),
        9 => {
            let values = format!("{} {}", random.pick(WORDS), random.pick(WORDS));
            format!("for f in {values}; do {}done", inner(random))
        }
        10 => {
            let test = random.pick(&[
                "[ -f a.txt ]",
                "test -d src",
                "[[ -n $x ]]",
                "prog q",
                "! beta",
                "[[ $x == a* && -f b.txt ]]",
            ]);
            let body = inner(random);
            let other =
                if random.percent(40) { format!("else {}", inner(random)) } else { String::new() };
            format!("if {test}; then {body}{other}fi")
        }
        11 => format!("while false; do {}done", inner(random)),
        12 => format!("case \"$x\" in a|b) {};; *) {};; esac", command(random), command(random)),
        13 => format!("( {})", inner(random)),
        14 => format!("{{ {}}}", inner(random)),
        15 => format!("x=$({}); {} \"$x\"", joined(random), random.pick(NAMES)),
        16 => format!("! {}", command(random)),
        17 => format!("[ -f a.txt ] && {}", command(random)),
        18 | 19 => document(random),
        20 => format!("f() {{ {}}}; f a", inner(random)),
        21 => format!("{} &", command(random)),
        22 => format!(
            "git commit -m \"$(cat <<'EOF'\n{}\nEOF\n)\"",
            random.pick(&["fix (x)", "it's", "a \"b\" `c`", "done $x)"])
        ),
        _ => format!("{} <(ls src) <({})", random.pick(NAMES), command(random)),
    }
}
