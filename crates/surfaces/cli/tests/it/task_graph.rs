//! `ostler tasks graph`: the same graph as text, for Graphviz, as a picture and as JSON.

use crate::tasks::{add, object, tasks, world};

#[test]
fn every_format_shows_every_task_and_every_edge() {
    let world = world();
    assert_eq!(tasks(&world, &["graph"]).stdout, "No tasks.\n");
    let a = add(&world, &["Base & <core>"]);
    let b = add(&world, &["Side \"quoted\""]);
    let c = add(&world, &["On top", "--depends-on", &a, "--depends-on", &b]);
    let d = add(&world, &["Last", "--depends-on", &c]);
    let text = tasks(&world, &["graph"]).stdout;
    let expected = format!(
        "○ {a} Base & <core>\n○ {b} Side \"quoted\"\n  ○ {c} On top  ← {a}, {b}\n    ○ {d} Last  ← {c}\n"
    );
    assert_eq!(text, expected);

    let dot = tasks(&world, &["graph", "--format", "dot"]).stdout;
    assert!(dot.starts_with("digraph tasks {") && dot.ends_with("}\n"), "{dot}");
    for (from, to) in [(&a, &c), (&b, &c), (&c, &d)] {
        assert!(dot.contains(&format!("\"{from}\" -> \"{to}\";")), "{dot}");
    }
    assert!(dot.contains(r#"Side \"quoted\""#) && dot.matches(" -> ").count() == 3, "{dot}");

    let svg = tasks(&world, &["graph", "--format", "svg"]).stdout;
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
    assert!(svg.contains("Base &amp; &lt;core&gt;") && !svg.contains("<core>"), "{svg}");
    assert_eq!((svg.matches("<path ").count(), svg.matches("rx=\"6\"").count()), (3, 4), "{svg}");

    let json = object(&world, &["graph"]);
    assert_eq!(json["tasks"][2]["depends_on"], serde_json::json!([a, b]));
    object(&world, &["claim", "--worker", "me"]);
    assert!(tasks(&world, &["graph"]).stdout.starts_with(&format!("◐ {a} ")));
}
