//! Every construct, in a short notation.

use super::read;
use super::show::show;
use crate::{agreed, parse};
use ostler_policy::script::*;
use proptest::prelude::*;

const READ: &[(&str, &str)] = &[
    ("", ""),
    ("# only a note", ""),
    ("ls", "ls"),
    ("ls -la src", "ls -la src"),
    ("l's' \"a b\" c\\ d", "ls a_b c_d"),
    ("ls \\\n -l", "ls -l"),
    ("'a\\b' \"a\\b\" \"\\$\\`\\\"\\\\\"", "a\\\\b a\\\\b $`\\\"\\\\"),
    ("$'\\x72\\155\\u0041\\n' $\"a b\" $'\\'' $'a\\qb'", "rmA\\n a_b ' a\\\\qb"),
    ("a $'\\xff' b", "a <Bytes other[<Bytes >]> b"),
    ("a x$ \"x$\" $ \"$'a'\"", "a x$ x$ $ $'a'"),
    ("'' \"\" ''''", "  "),
    ("a; b & c\nd", "a; b &; c; d"),
    ("a && b || c \\\n&& d", "a && b || c && d"),
    ("a | b |& c", "a | b 2DuplicateOutput 1 | c"),
    ("! a | b", "! a | b"),
    ("time -p a; time; ! ! a", "time a; time ; a"),
    ("a | time b", "a | time b"),
    ("*.rs [ab] [ a] '*'*.rs \\* [a'-'z]", "glob:*.rs glob:[ab] [ a] glob:\\**.rs * glob:[a\\-z]"),
    (
        "~ ~/x ~root a=~ a:~ x=a:~ \\~ ''~ HEAD~3",
        "<Tilde ~> <Tilde ~ \"/x\"> <Tilde ~root> <Tilde \"a=\" ~> a:~ <Tilde \"x=a:\" ~> ~ ~ HEAD~3",
    ),
    (
        "{a,b} a{1..3} {c..a} {01..3} a{b,{c,d}}e {a,} {} {a} a{,}b {a}b,c} HEAD@{1} {'a,b'} '{a,b}' {a,b",
        "a b a1 a2 a3 c b a 01 02 03 abe ace ade a {} {a} ab ab <Brace \"{a}b,c}\"> HEAD@{1} {a,b} {a,b} {a,b",
    ),
    (
        "a {x..y..2} {a..Z} {1..a} \"$x\"{a,b} ${f}{,.bak}",
        "a <Brace \"{x..y..2}\"> <Brace \"{a..Z}\"> <Brace \"{1..a}\"> <Parameter q$x:Value \"a\"> <Parameter q$x:Value \"b\"> <Parameter $f:Value> <Parameter $f:Value \".bak\">",
    ),
    (
        "$x \"$x\" $1 $@ $$ ${x} ${1} ${@} $_",
        "<Parameter $x:Value> <Parameter q$x:Value> <Parameter $1:Value> <Parameter $@:Value> <Parameter $$:Value> <Parameter $x:Value> <Parameter $1:Value> <Parameter $@:Value> <Parameter $_:Value>",
    ),
    (
        "${x:-a} ${x:=a} ${#x} ${x@P} ${!x} ${x:1:2} ${x:a} ${x: -1} ${a[0]} ${a[@]} ${a[i]} ${x@Q} ${x//a/b} ${x^^} ${!x*}",
        "<Parameter $x:Made> <Parameter $x:Set> <Parameter $x:Made> <Parameter $x:Evaluated> <Parameter $x:Evaluated> <Parameter $x:Made> <Parameter $x:Evaluated> <Parameter $x:Made> <Parameter $a:Value> <Parameter $a:Value> <Parameter $a:Evaluated> <Parameter $x:Made> <Parameter $x:Made> <Parameter $x:Made> <Parameter $x:Evaluated>",
    ),
    (
        "${x:-$(a)} \"${x:-`b`}\" ${x:-${y@P}} ${x:-${y:=z}} ${a[$(b)]} ${x:$(a)}",
        "<Parameter $x:Made <a>> <Parameter q$x:Made <b>> <Parameter $x:Evaluated> <Parameter $x:Evaluated> <Parameter $a:Evaluated <b>> <Parameter $x:Evaluated <a>>",
    ),
    (
        "$(a b) \"c $(d 'e f') g\" `h i` \"`j`\"",
        "<CommandSubstitution $(a b)> <CommandSubstitution \"c \" q$(d e_f) \" g\"> <CommandSubstitution $(h i)> <CommandSubstitution q$(j)>",
    ),
    ("$(<f) $()", "<CommandSubstitution $( Read f)> <CommandSubstitution $()>"),
    (
        "a <(b) >(c) d<(e)",
        "a <ProcessSubstitution <(b)> <ProcessSubstitution <(c)> <ProcessSubstitution \"d\" <(e)>",
    ),
    (
        "$((1+2)) $((x)) $(( $(a) + 1 )) $[3] \"$((1))\"",
        "<Arithmetic $((1+2 plain))> <Arithmetic $((x))> <Arithmetic $(( $(a) + 1  <a>))> <Arithmetic $((3 plain))> <Arithmetic q$((1 plain))>",
    ),
    ("x=1 y=a* z={a,b} cmd", "x=1 y=a* z={a,b} cmd"),
    ("x= y+=b cmd x=c", "x= y+=b cmd x=c"),
    ("a[1]=b a[x]+=c a[$(d)]=e", "a[1 plain]=b a[x]+=c a[$(d) <d>]=e"),
    ("a=(b \"c d\" [3]=e\n # note\n {f,g} *.h) c", "a=(b c_d [3]=e f g glob:*.h) c"),
    (
        "declare -a x=(1 $(a)) y=2",
        "declare -a <Array \"x=\" other[1 <CommandSubstitution $(a)>]> y=2",
    ),
    ("export x=* y", "export glob:x=* y"),
    ("[ -f x ]", "[ -f x ]"),
    ("a[1] b", "glob:a[1] b"),
    (
        ">a <b 2>c >>d >|e <>f <&3 >&2 2>&1 >&- <&-x &>g &>>h <<<i >&j",
        "x Write a Read b 2Write c Append d Clobber e ReadWrite f DuplicateInput 3 DuplicateOutput 2 2DuplicateOutput 1 DuplicateOutput - DuplicateInput - Both g BothAppend h HereString i DuplicateOutput j",
    ),
    ("cmd 2 >a 2>b", "cmd 2 Write a 2Write b"),
    ("cmd <<< \"a $x\"", "cmd HereString <Parameter \"a \" q$x:Value>"),
    (
        "cat <<E\na $x `b` \\$ \\\" \"c\"\nE\nd",
        "cat HereDocument <Parameter \"a \" q$x:Value \" \" q$(b) \" $ \\\\\\\" \\\"c\\\"\\n\">; d",
    ),
    ("cat <<'E' | b\n$x\nE\n", "cat HereDocument $x\\n | b"),
    ("cat <<A <<-B\n1\nA\n\t2\n\tB\nc", "cat HereDocument 1\\n HereDocument 2\\n; c"),
    ("cat <<E\nx\\\ny\nE\n", "cat HereDocument xy\\n"),
    ("cat <<\"A B\"\nx\nA B\n", "cat HereDocument x\\n"),
    ("if cat <<E; then\nx\nE\nb; fi", "if[cat HereDocument x\\n ? b]"),
    ("$(cat <<E\nx\nE\n)", "<CommandSubstitution $(cat HereDocument x\\n)>"),
    ("(a; b) >c", "(a; b) Write c"),
    ("{ a; b; } 2>&1 | c", "{a; b} 2DuplicateOutput 1 | c"),
    ("( (a) ; b )", "((a); b)"),
    ("{ (a) }", "{(a)}"),
    ("if a; then b; elif c; then d; else e; fi", "if[a ? b : c ? d : e]"),
    ("while a; do b; done <c", "while[a ? b] Read c"),
    ("until a\ndo\nb\ndone", "until[a ? b]"),
    ("l\\\ns c\\\nu\\\nrl", "ls curl"),
    ("d\\\nocker a", "docker a"),
    ("for x in a $b {1..2}; do c; done", "for[x in a <Parameter $b:Value> 1 2 : c]"),
    ("for x; do a; done", "for[x in @ : a]"),
    ("for x do a; done", "for[x in @ : a]"),
    ("for x\nin a\ndo b; done", "for[x in a : b]"),
    ("for x in a; { b; }", "for[x in a : b]"),
    ("select x in a b; do c; done", "for[x in a b : c]"),
    ("for ((i=0; i<3; i++)); do a; done", "for[i=0 ,  i<3 ,  i++ : a]"),
    ("for ((;;)) do a; done", "for[ plain ,  plain ,  plain : a]"),
    (
        "case $x in a|b) c;; (d*) e;& *) ;; esac",
        "case[<Parameter $x:Value> : a b -> c , glob:d* -> e , glob:* -> ]",
    ),
    ("case a in (esac) b; esac", "case[a : esac -> b]"),
    ("case a in\n  b)\n    c\n    ;;\n  *) d\nesac", "case[a : b -> c , glob:* -> d]"),
    ("f() { a; }", "f()={a}"),
    ("f () (a)", "f()=(a)"),
    ("function f { a; } >b", "f()={a} Write b"),
    ("function f() if a; then b; fi", "f()=if[a ? b]"),
    ("coproc a b", "coproc[- a b]"),
    ("coproc { a; }", "coproc[- {a}]"),
    ("coproc N { a; }", "coproc[N {a}]"),
    (
        "[[ -f x && ! ( $a == b* || c =~ ^(d|e)$ ) ]] && f",
        "test[-f x && ! ( <Parameter $a:Value> == glob:b* || c =~ ^(d|e)$ )] && f",
    ),
    ("[[ x ]]", "test[x]"),
    ("[[ a -eq b ]]", "test[a -eq b]"),
    ("[[ $x == @(a|b) ]]", "test[<Parameter $x:Value> == @(a|b)]"),
    ("[[ a < b ]]", "test[a < b]"),
    ("((x+1)); (( 1 < 2 ))", "math[x+1]; math[ 1 < 2  plain]"),
    ("echo 'a[$(id)]'", "echo a[$(id)]"),
    ("echo if then fi", "echo if then fi"),
    ("a#b c#d # e", "a#b c#d"),
    ("echo é日本", "echo é日本"),
    (
        "git log --format=\"%h %s\" -n 5 HEAD@{1}..HEAD",
        "git log --format=%h_%s -n 5 HEAD@{1}..HEAD",
    ),
    ("x() { y; }; x", "x()={y}; x"),
    ("a &> b & c", "a Both b &; c"),
    ("echo a>b", "echo a Write b"),
    ("echo 2>&1>b", "echo 2DuplicateOutput 1 Write b"),
    ("%1", "%1"),
    ("!(a)", "! (a)"),
    ("a {1..3}{x,y} {~,a}/x {*,b}.c", "a 1x 1y 2x 2y 3x 3y <Tilde ~ \"/x\"> a/x glob:*.c b.c"),
];

#[test]
fn every_construct() {
    for (text, expected) in READ {
        let shown = parse(text).map(|script| show(&script));
        assert_eq!(shown.as_deref(), Ok(*expected), "{text:?}");
    }
}

const REFUSED: &[&str] = &[
    "a '",
    "a \"",
    "a `",
    "a $(",
    "a ${",
    "a $((",
    "a $'",
    "a \\",
    "a &&",
    "a |",
    "| a",
    "; a",
    "a ;; b",
    "a & ; b",
    "&",
    "(",
    ")",
    "()",
    "( )",
    "{ a }",
    "{ }",
    "}",
    "fi",
    "if a; fi",
    "if a; then; fi",
    "if a; then b",
    "for x in a; b; done",
    "for 1 in a; do b; done",
    "for x in a do b; done",
    "case a b) c;; esac",
    "case a in b c;; esac",
    "while a; done",
    "do",
    "then",
    "esac",
    "in",
    "]]",
    "[[ a",
    "[[ ]]",
    "[[ -f ]]",
    "[[ a b ]]",
    "[[ a == (b) ]]",
    "((a)",
    "((a) )",
    "((a); b)",
    "$((a) b)",
    "a $((1) + (2))",
    "$(( 'a' ))",
    "((a\\b))",
    "cat <<E",
    "cat <<E\nx",
    "cat <<''\n\n",
    "cat <<$x\n$x\n",
    "cat <<`E`\n",
    "$(cat <<E)\nx\nE\n",
    "$(cat <<E\nx\nE)",
    "$(cat <<E\nE x)\nE\n)",
    "cat <<E $(a\nb)\nx\nE\n",
    "{fd}>a b",
    "a {fd}>b",
    "a 99999999999>b",
    "a > 2>b",
    "a >",
    "a > ;",
    "a <",
    "a | ! b",
    "a (b)",
    "a b () { c; }",
    "a=1 f() { b; }",
    "f()",
    "f() a",
    "'f'() { a; }",
    "$f() { a; }",
    "a=(b",
    "echo a=(b)",
    "a[1]=(b)",
    "a=(b;c)",
    "a=([1]={b,c})",
    "$(cat <<E\nx\nE\na; b)",
    "a[1 2] b",
    "a[\"x y\"] b",
    "${x",
    "${}",
    "${ a; }",
    "${|a; }",
    "${x@Z}",
    "${x!}",
    "\"${x:-'}\"",
    "\"${x:-\"a\"}\"",
    "${x:-<(a)}",
    "${#x:-a}",
    "$x{a,b}",
    "\"`a \"b\"`\"",
    "`a \\\nb`",
    "a $\\\n(b)",
    "a &\\\n& b",
    "a <\\\n(b)",
    "$(\\\n(a))",
    "i\\\nf a; then b; fi",
    "x\\\ny=1 a",
    "x=\\\n(a)",
    "$(coproc a)",
    "$(>a time b)",
    "coproc f (a)",
    "echo @(a|b)",
    "a\rb",
    "a\0",
    "d\\\no",
    "ti\\\nm\\\ne a",
    "P\\\nATH=x a",
    "P\\\nAT\\\nH+=x a",
    "a\\\nb[1]=x",
];

#[test]
fn refused() {
    for text in REFUSED {
        assert!(parse(text).is_err(), "{text:?}: {:?}", parse(text).map(|script| show(&script)));
    }
}

/// Read by us, and by the other parser in another way or not at all.
const ALONE: &[&str] =
    &["select x in a b; do c; done", "\\$'a'", "$$'a'", "( ( a ) )", "cat <<E\nx\\\ny\nE\n"];

#[test]
fn without_agreement() {
    for text in ALONE {
        assert!(parse(text).is_ok(), "{text:?}: {:?}", parse(text));
        assert!(agreed(text).is_err(), "{text:?}");
    }
}

#[test]
fn too_deep() {
    for (open, close) in [
        ("{ ", "; }"),
        ("$(", ")"),
        ("( ", " )"),
        ("${x:-", "}"),
        ("if ", "; then b; fi"),
        ("<(", ")"),
    ] {
        let text = |levels: usize| format!("{}a{}", open.repeat(levels), close.repeat(levels));
        assert!(parse(&text(90)).is_ok(), "{:?}", parse(&text(90)).err());
        assert_eq!(parse(&text(101)), Err(Opaque::TooDeep), "{open}");
    }
}

#[test]
fn each_byte_belongs_to_one_level() {
    let inner = "$(a b $(c 'd e') f)";
    let text = format!("x {inner} `y {inner}` <<E\n{inner}\nE\n");
    let reading = read(&text).unwrap();
    let levels: Vec<&str> = reading.levels.iter().map(|level| level.text.as_str()).collect();
    assert_eq!(levels.len(), 8, "{levels:?}");
    let commands = levels.iter().filter(|level| **level == "c 'd e'").count();
    assert_eq!(commands, 3, "{levels:?}");
    assert!(levels.iter().filter(|level| **level == "a b $(x) f").count() == 3, "{levels:?}");
}

#[test]
fn many_braces_are_not_worked_out() {
    let count = |text: &str| match parse(text) {
        Ok(script) => match &script.items[0].first.stages[0] {
            PipelineStage::Simple(command) => command.words.len(),
            PipelineStage::Compound { .. } => 0,
        },
        Err(_) => 0,
    };
    assert_eq!(count("a {1..255}"), 256);
    assert_eq!(count("a {1..257}"), 2);
    assert_eq!(count("a {0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}"), 257);
    assert_eq!(count("a {0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}"), 2);
    assert_eq!(count(&format!("a {}{}", "{a,".repeat(40), "}".repeat(40))), 2);
    assert_eq!(count("a {b,c}$(d)"), 2);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in "([ -~]|\n|é|\\$\\(|\\$\\{|<<E\n|\nE\n){0,60}") {
        let first = parse(&text);
        prop_assert_eq!(&first, &parse(&text));
        if let Ok(script) = agreed(&text) {
            prop_assert_eq!(Ok(script), first);
        }
    }

    #[test]
    fn a_quoted_word_is_itself(word in "[ -&(-~\n\té]{0,30}", more in "[ -&(-~]{0,10}") {
        let expected = Script { items: vec![Item {
            first: Pipeline { negated: false, timed: false, stages: vec![PipelineStage::Simple(Command {
                words: vec![Word::Literal("a".into()), Word::Literal(word.clone() + &more)], ..Command::default()
            })] },
            rest: vec![],
            background: false,
        }] };
        prop_assert_eq!(agreed(&format!("a '{word}''{more}'")), Ok(expected));
    }
}
