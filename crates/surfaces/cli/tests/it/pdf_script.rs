//! The script of the pdf skill, on files made here: what it reads, merges, cuts and refuses.

use std::path::Path;
use std::process::{Command, Output};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../skills/pdf/scripts/pdf.py");

/// A file with one page a text. Its table of places is left empty: the script goes by what stands there.
fn pdf(pages: &[&str]) -> Vec<u8> {
    let kids: Vec<String> = (0..pages.len()).map(|n| format!("{} 0 R", 10 + 2 * n)).collect();
    let mut out = format!(
        "%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n<< /Type /Pages /Count {} /MediaBox [0 0 200 100] /Kids [{}] /Resources << /Font << /F1 3 0 R >> >> >>\nendobj\n3 0 obj\n<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding << /Differences [1 /fi 2 /adieresis] >> >>\nendobj\n",
        pages.len(),
        kids.join(" ")
    );
    for (n, text) in pages.iter().enumerate() {
        let content = format!("BT /F1 12 Tf 10 50 Td {text} ET");
        out += &format!(
            "{} 0 obj\n<< /Type /Page /Parent 2 0 R /Contents {} 0 R >>\nendobj\n{} 0 obj\n<< /Length {} >>\nstream\n{content}\nendstream\nendobj\n",
            10 + 2 * n,
            11 + 2 * n,
            11 + 2 * n,
            content.len()
        );
    }
    out += "4 0 obj\n<< /Title (A \\(small\\) file) >>\nendobj\ntrailer\n<< /Root 1 0 R /Info 4 0 R >>\n%%EOF\n";
    out.into_bytes()
}

#[allow(clippy::print_stderr, reason = "a test that could not be made says so")]
fn run(folder: &Path, args: &[&str]) -> Option<Output> {
    let ran = Command::new("python3").arg(SCRIPT).args(args).current_dir(folder).output();
    if ran.is_err() {
        eprintln!("python3 is missing: the script of the pdf skill is not tested");
    }
    ran.ok()
}

#[test]
fn it_reads_merges_cuts_and_refuses() {
    let world = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(world.path().join(name), bytes).unwrap();
    write(
        "a.pdf",
        &pdf(&["(Hello) Tj 0 -14 Td (W\\157rld \\(1\\)) Tj", "[(Fast) -300 (\\001sh) 20 (es)] TJ"]),
    );
    write("b.pdf", &pdf(&["<4869> Tj T* (second \\002) Tj", "", "(last) Tj"]));
    write("locked.pdf", &[&pdf(&["(x) Tj"])[..], b"trailer\n<< /Encrypt 9 0 R >>\n"].concat());
    write("no.pdf", b"hello");
    write("cut.pdf", &pdf(&["(x) Tj"])[..120]);
    let out = |args: &[&str]| {
        let ran = run(world.path(), args)?;
        let said = format!(
            "{}{}",
            String::from_utf8_lossy(&ran.stdout),
            String::from_utf8_lossy(&ran.stderr)
        );
        Some((ran.status.code(), said))
    };
    let Some((code, info)) = out(&["info", "a.pdf"]) else { return };
    assert_eq!(
        (code, info.as_str()),
        (Some(0), "pages: 2\nsize: 0 0 200 100\nTitle: A (small) file\n")
    );
    let text = |args: &[&str]| out(args).unwrap().1;
    assert_eq!(
        text(&["text", "a.pdf"]),
        "--- page 1 ---\nHello\nWorld (1)\n--- page 2 ---\nFast fishes\n"
    );
    assert!(text(&["text", "b.pdf", "1"]).contains("Hi\nsecond ä"));
    assert!(text(&["text", "b.pdf", "2-2"]).contains("no text on this page"));
    assert_eq!(text(&["merge", "m.pdf", "a.pdf", "b.pdf"]), "m.pdf: 5 pages\n");
    let merged = text(&["text", "m.pdf"]);
    for says in ["page 1 ---\nHello\nWorld (1)", "page 2 ---\nFast fishes", "page 5 ---\nlast"] {
        assert!(merged.contains(says), "{says}\n{merged}");
    }
    assert_eq!(text(&["pages", "m.pdf", "5,1-2", "p.pdf"]), "p.pdf: 3 pages\n");
    assert!(text(&["text", "p.pdf", "1"]).contains("last"));
    assert!(
        text(&["info", "p.pdf"]).contains("size: 0 0 200 100"),
        "what a page inherits goes along"
    );
    for (args, says) in [
        (&["text", "locked.pdf"][..], "encrypted"),
        (&["text", "no.pdf"], "not a PDF"),
        (&["text", "gone.pdf"], "gone.pdf"),
        (&["text", "cut.pdf"], "no pages"),
        (&["text", "a.pdf", "3"], "has 2 pages"),
        (&["text", "a.pdf", "x"], "is not a page range"),
        (&["merge", "a.pdf", "b.pdf", "b.pdf"], "File exists"),
        (&["frobnicate"], "usage:"),
    ] {
        let (code, said) = out(args).unwrap();
        assert!(
            code == Some(1) && said.contains(says) && !said.contains("Traceback"),
            "{args:?}: {said}"
        );
    }
    assert_eq!(std::fs::read(world.path().join("a.pdf")).unwrap()[..8], *b"%PDF-1.4");
}
