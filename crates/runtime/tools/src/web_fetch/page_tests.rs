//! Pages become Markdown, whatever they contain.

use super::*;
use proptest::prelude::*;

const MOST: usize = 100_000;

fn html(page: &str) -> String {
    page_text("text/html; charset=utf-8", page.as_bytes(), "https://a.example/docs/x", MOST)
        .unwrap()
        .text
}

#[test]
fn what_is_read_stays_and_what_only_acts_goes() {
    for (page, expected) in [
        ("<p>one</p><p>two <b>bold</b> and <i>not</i></p>", "one\n\ntwo **bold** and *not*"),
        ("<h1>Title</h1>text<h3> Sub </h3>", "# Title\n\ntext\n\n### Sub"),
        (
            "<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul><ol><li>x<li>y</ol>",
            "- a\n- b\n  - c\n\n1. x\n2. y",
        ),
        ("a<script>if (a < b) { '</p>' }</script>b<style>p{}</style>", "ab"),
        ("<svg><path/><text>x</text></svg>seen<!-- <p>not</p> -->", "seen"),
        (
            "<pre><code>fn main() {\n    x &lt; y\n}</code></pre>",
            "```\nfn main() {\n    x < y\n}\n```",
        ),
        ("use <code>a &amp; b</code> &mdash; now&nbsp;&#x41;&#66;", "use `a & b` — now AB"),
        ("<blockquote>said<p>twice</blockquote>after", "> said\n> \n> twice\n\nafter"),
        (
            "<table><tr><th>A</th><th>B</th></tr><tr><td>1<td>2</tr></table>",
            "| A | B |\n|---|---|\n| 1 | 2 |",
        ),
        ("1 < 2 and <3 <unknown>kept</unknown>", "1 < 2 and <3 kept"),
        ("<img alt=' a  cat ' src=x.png><img src=y.png>", "![a cat]"),
        ("a<br>b<hr>c", "a\nb\n\n---\n\nc"),
    ] {
        assert_eq!(html(page), expected, "{page}");
    }
}

#[test]
fn links_are_absolute() {
    for (to, expected) in [
        ("/a?b=1", "[x](https://a.example/a?b=1)"),
        ("y/z", "[x](https://a.example/docs/y/z)"),
        ("../up", "[x](https://a.example/up)"),
        ("../../../up", "[x](https://a.example/up)"),
        ("?page=2", "[x](https://a.example/docs/x?page=2)"),
        ("//b.example/", "[x](https://b.example/)"),
        ("http://c.example", "[x](http://c.example)"),
        ("#here", "x"),
        ("javascript:alert(1)", "x"),
        ("mailto:a@b", "x"),
        ("", "x"),
    ] {
        assert_eq!(html(&format!("<a class=k href='{to}'>x</a>")), expected, "{to}");
    }
    assert_eq!(html("a <a href=/b></a>c"), "a c");
}

#[test]
fn the_title_and_the_encoding_are_found() {
    let read = |kind: &str, body: &[u8]| page_text(kind, body, "https://a.example/", MOST);
    let page = read("text/html", b"<head><title> A \n B</title></head><body>x").unwrap();
    assert_eq!((page.title.as_deref(), page.text.as_str()), (Some("A B"), "x"));
    let latin = read("text/plain; charset=ISO-8859-1", b"caf\xe9").unwrap();
    assert_eq!(latin.text, "café");
    let declared = b"<html><meta charset=\"windows-1251\"><p>\xcf\xf0\xe8\xe2\xe5\xf2";
    assert_eq!(read("text/html", declared).unwrap().text, "Привет");
    assert_eq!(read("", b"<!DOCTYPE html><p>x").unwrap().text, "x");
    assert_eq!(read("application/json", b"{\"a\": \"<p>\"}").unwrap().text, "{\"a\": \"<p>\"}");
    for (kind, body) in
        [("image/png", &b"x"[..]), ("text/plain", b"a\0b"), ("application/pdf", b"%PDF")]
    {
        assert!(read(kind, body).unwrap_err().contains("not shown as text"), "{kind}");
    }
}

/// Time and size grow with the page, not with its nesting.
#[test]
fn a_hostile_page_is_bounded() {
    for page in [
        "<div>".repeat(40_000),
        "<ul><li>".repeat(100_000),
        "<blockquote>x".repeat(50_000),
        "<a href=x>".repeat(100_000),
        "<".repeat(100_000),
        "</".repeat(300_000),
        format!("<a b={}", "'".repeat(300_000)),
        "<script>".repeat(100_000),
        "<a ".repeat(300_000),
        "<!".repeat(300_000),
        "&".repeat(100_000),
        "<table><tr>".to_owned() + &"<td>".repeat(200_000) + "</tr>",
    ] {
        assert!(html(&page).len() <= 20 * MOST, "{}", page.get(..20).unwrap());
    }
}

proptest! {
    #[test]
    fn no_page_is_too_strange(parts in prop::collection::vec("(<|</|>|a|li|ul|pre|table|td|tr|script|title| href=|\"|'|&|#|;|x|\\PC|\n){1,6}", 0..40)) {
        let page = parts.concat();
        let text = html(&page);
        prop_assert!(text.len() <= 100 + 20 * page.len());
    }
}
