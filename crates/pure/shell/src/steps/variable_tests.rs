//! Variables that bash evaluates or gives a meaning to, in every way one can be set, and assignments inside expansions.

use super::notation_tests::shown;
use super::steps;

const MEANT: &str = "RANDOM SECONDS SRANDOM HISTCMD OPTIND LINENO BASHPID BASH_ENV ENV PATH IFS CDPATH PS4 \
    PROMPT_COMMAND GLOBIGNORE LC_ALL LC_CTYPE LANG LANGUAGE EPOCHSECONDS DIRSTACK GROUPS FUNCNEST TMOUT TIMEFORMAT \
    COMP_WORDBREAKS HISTFILE BASH_ARGV0 BASH_XTRACEFD SHELLOPTS BASHOPTS POSIXLY_CORRECT HOME PWD LD_PRELOAD \
    GIT_DIR NODE_OPTIONS http_proxy npm_config_x histchars _";

/// `N` is the variable.
const WAYS: &[&str] = &[
    "for N in 'a[$(touch P)]'; do :; done",
    "for N in a; do ls; done",
    "if true; then for N in a; do :; done; fi",
    "f() { for N in a; do :; done; }",
    "bash -c 'for N in a; do :; done'",
    "read N < f",
    "read -r x N < f",
    "while read N; do :; done < f",
    "mapfile -t N < f",
    "readarray N < f",
    "printf -v N %s x",
    "printf -vN %s x",
    "getopts a N",
    "declare N=x",
    "declare -n N=x",
    "export N=x",
    "export N",
    "readonly N=x",
    "local N=x",
    "unset N",
    "coproc N { ls; }",
    "wait -n -p N",
    "exec {N}> /dev/null",
    "ls {N}< f",
    ": ${N:=x}",
    ": ${N=x}",
    ": \"${N:=x}\"",
    ": ${q:-${N:=x}}",
    ": ${q+${N=x}}",
    ": ${q#${N:=x}}",
    ": ${q/a/${N:=x}}",
    "(( N = 1 ))",
    "echo $((N = 1))",
    "for ((N=0; N<1; N++)); do :; done",
    "let N=1",
    "select N in a; do :; done < f",
];

#[test]
fn no_way_sets_a_variable_that_means_something() {
    let mut tried = 0;
    for name in MEANT.split(' ') {
        for way in WAYS {
            let text = way.replace('N', name);
            let found = steps(&text);
            assert!(!found.only_reads(), "{text}: {:?}", shown(&found));
            tried += 1;
        }
    }
    assert!(tried > 1000, "{tried}");
}

#[test]
fn the_same_ways_are_fine_with_a_variable_of_the_texts_own() {
    for name in ["x", "file", "some_name", "fileName", "FILE", "DIR"] {
        for way in [
            "for N in a; do ls; done",
            "read -r N < f",
            "while read N; do :; done < f",
            "mapfile -t N < f",
            ": ${N:=x}",
            "N=1; echo $N",
        ] {
            let text = way.replace('N', name);
            let found = steps(&text);
            assert!(found.only_reads(), "{text}: {:?} {:?}", shown(&found), found.doubts);
        }
    }
}

/// `S` sets `s` inside of another expansion.
#[test]
fn an_assignment_inside_an_expansion_is_a_doubt() {
    const INSIDE: &[&str] = &[
        "${q:-${s:=1e touch P}}",
        "${q-${s=1e touch P}}",
        "${q:-${r:-${s:=1e touch P}}}",
        "${q:+${s:=x}}",
        "${q%${s:=x}}",
        "${q^${s:=x}}",
        "${q/${s:=x}/y}",
        "\"${q:-${s:=x}}\"",
        "${q:-\"${s:=x}\"}",
        "${q:-a${s:=x}b}",
        "${q:=${s:=x}}",
        "${a[${s:=0}]}",
        "${q:${s:=0}}",
        "${q:0:${s:=0}}",
        "$((${s:=1}))",
        "$[${s:=1}]",
    ];
    const PLACES: &[&str] = &[
        ": S",
        "echo S",
        ": <<< S",
        ": <<E\nS\nE",
        "cat < S",
        "x=S",
        "x=(S)",
        "x[S]=1",
        "x=([S]=1)",
        "[[ -n S ]]",
        "[[ a == S ]]",
        "[[ a =~ S ]]",
        "[ -n S ]",
        "case S in a) ;; esac",
        "case a in S) ;; esac",
        "for i in S; do :; done",
        "(( S ))",
        "for ((i=S; i<1; i++)); do :; done",
        "echo {a,S}",
        "if : S; then :; fi",
        "{ :; } < S",
        "declare x=(S)",
    ];
    for place in PLACES {
        for inside in INSIDE {
            let text = place.replace('S', inside);
            let found = steps(&text);
            assert!(!found.only_reads(), "{text}: {:?}", shown(&found));
        }
    }
}

#[test]
fn an_empty_value_is_not_a_constant() {
    for text in [
        "s=; : ${s:=1e touch P}; sed \"$s\" f",
        "s=''; sed \"$s\" f",
        "s=; : ${q:-${s:=.env}}; cat \"$s\"",
        "for s in ''; do : ${s:=1e touch P}; sed \"$s\" f; done",
        ": ${q:-${CDPATH:=/etc}}; cd ssh && cat ssh_config",
    ] {
        let found = steps(text);
        assert!(!found.only_reads(), "{text}: {:?}", shown(&found));
    }
}

#[test]
fn a_locale_that_reads_a_backslash_differently_is_a_doubt() {
    for text in [
        "LC_CTYPE=zh_CN.gbk\necho a",
        "LC_ALL=zh_TW.big5; echo a",
        "LANG=ja_JP.SJIS; echo a",
        "LANG=$x; echo a",
        "LC_ALL=zh_TW.big5 bash -c 'echo a'",
        "LC_ALL=zh_TW.big5 eval 'echo a'",
        "env LC_ALL=zh_TW.big5 bash -c 'echo a'",
        "export LC_ALL=zh_TW.big5; echo a",
        "export LC_ALL; echo a",
    ] {
        let found = steps(text);
        assert!(!found.only_reads(), "{text}: {:?}", shown(&found));
    }
    for text in [
        "LC_ALL=C sort f",
        "LC_ALL=C; sort f",
        "export LANG=en_US.UTF-8; ls",
        "env LC_ALL=C.UTF-8 ls",
    ] {
        let found = steps(text);
        assert!(found.only_reads(), "{text}: {:?} {:?}", shown(&found), found.doubts);
    }
}

#[test]
fn braces_make_a_bounded_number_of_words() {
    for text in [
        "ls {1..100000000}",
        "echo {1..100000000}",
        ": {1..99999999999999999999999999999999999999999}",
        "for i in {1..100000000}; do :; done",
        "echo {0..9}{0..9}{0..9}{0..9}{0..9}",
        "echo {a,b}{1..100000000..2}",
        "echo {1..$x}{1..100000000}",
        "echo a{b,{1..100000000}}c",
        "echo {{1..100000000}",
        "echo {1..100000000}}",
        "echo {-50000000..50000000}",
        "echo {000000001..100000000}",
        "echo x{1..1000}{1..1000}",
        "x=({1..100000000})",
        "cat < {1..100000000}",
        &"echo {1..9999} ".repeat(20),
    ] {
        let found = steps(text);
        assert!(!found.doubts.is_empty(), "{text}: {:?}", shown(&found));
    }
    for text in
        ["echo {1..1000}", "for i in {1..100}; do echo $i; done", "ls {a,b}/{c,d}", "echo {a..z}"]
    {
        let found = steps(text);
        assert!(found.only_reads(), "{text}: {:?} {:?}", shown(&found), found.doubts);
    }
    // What it would run is looked at all the same.
    assert!(
        shown(&steps("ls {1..100000000}$(sudo id)")).iter().any(|line| line.contains("sudo id"))
    );
}

#[test]
fn umask_and_ulimit_only_print_without_a_value() {
    for text in ["umask", "umask -S", "ulimit -a"] {
        assert!(steps(text).only_reads(), "{text}");
    }
    for text in
        ["umask 0", "umask -S 0", "umask $x", "ulimit -n 1", "ulimit -c unlimited", "ulimit $x"]
    {
        assert!(!steps(text).only_reads(), "{text}");
    }
}
