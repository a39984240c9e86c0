//! Only the bytes of what changes are others afterwards.

use super::*;

/// As Jupyter writes it, with an odd order of keys, a long float and a space at the end of a line.
const PRETTY: &str = r##"{
 "metadata": {"kernelspec": {"name": "python3"}, "x": 1.10}, 
 "cells": [
  {
   "id": "intro",
   "cell_type": "markdown",
   "metadata": {},
   "source": [
    "# Größe\n",
    "text"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 7,
   "id": "calc",
   "metadata": {"tags": [ "a" ]},
   "outputs": [
    {"name": "stdout", "output_type": "stream", "text": ["3\n"]}
   ],
   "source": "1 + 2"
  }
 ],
 "nbformat": 4,
 "nbformat_minor": 5
}
"##;
const COMPACT: &str = r#"{"cells":[{"cell_type":"code","execution_count":1,"metadata":{},"outputs":[{"output_type":"stream","name":"stdout","text":"x"}],"source":["a\n","b"]}],"metadata":{},"nbformat":4,"nbformat_minor":4}"#;

fn notebook(text: &str) -> Notebook<'_> {
    Notebook::parse(text).unwrap()
}

#[test]
fn a_replaced_cell_keeps_everything_but_its_source_and_outputs() {
    let after = notebook(PRETTY).replaced(0, "# New\n\nlines", None).unwrap();
    let expected = PRETTY.replace(
        "    \"# Größe\\n\",\n    \"text\"\n",
        "    \"# New\\n\",\n    \"\\n\",\n    \"lines\"\n",
    );
    assert_eq!(after, expected);
    let after = notebook(PRETTY).replaced(1, "2 + 2\n", None).unwrap();
    let expected = PRETTY
        .replace("\"1 + 2\"", "\"2 + 2\\n\"")
        .replace("\"execution_count\": 7", "\"execution_count\": null")
        .replace("[\n    {\"name\": \"stdout\", \"output_type\": \"stream\", \"text\": [\"3\\n\"]}\n   ]", "[]");
    assert_eq!(after, expected);
    let after = notebook(COMPACT).replaced(0, "c", None).unwrap();
    assert_eq!(
        after,
        r#"{"cells":[{"cell_type":"code","execution_count":null,"metadata":{},"outputs":[],"source":["c"]}],"metadata":{},"nbformat":4,"nbformat_minor":4}"#
    );
    assert_eq!(
        notebook(PRETTY).replaced(0, "", None).map(|text| notebook(&text).cells.len()),
        Some(2)
    );
}

#[test]
fn a_cell_can_become_another_kind() {
    let after = notebook(PRETTY).replaced(1, "words", Some(CellType::Markdown)).unwrap();
    let cells = notebook(&after).cells;
    assert_eq!((cells[1].kind.as_str(), cells[1].id.as_deref()), ("markdown", Some("calc")));
    assert!(!after.contains("execution_count") && after.contains("\"tags\""), "{after}");
    let after = notebook(PRETTY).replaced(0, "x = 1", Some(CellType::Code)).unwrap();
    assert!(after.contains(
        "   \"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"id\": \"intro\",\n"
    ));
    // Naming the kind that it has changes nothing else.
    assert_eq!(
        notebook(PRETTY).replaced(0, "x", Some(CellType::Markdown)),
        notebook(PRETTY).replaced(0, "x", None)
    );
}

#[test]
fn cells_are_inserted_and_deleted_anywhere() {
    for text in [PRETTY, COMPACT] {
        let count = notebook(text).cells.len();
        for at in 0..=count {
            let with = notebook(text).inserted(at, "new\ncell", CellType::Code).unwrap();
            let cells = notebook(&with).cells;
            assert_eq!(
                (cells.len(), cells[at].source.as_str()),
                (count + 1, "new\ncell"),
                "{with}"
            );
            assert_eq!(notebook(&with).deleted(at).unwrap(), text, "and gone again");
        }
        assert!(notebook(text).inserted(count, "", CellType::Markdown).is_some());
    }
    let with = notebook(PRETTY).inserted(1, "x", CellType::Markdown).unwrap();
    let id = notebook(&with).cells[1].id.clone().unwrap();
    let new = format!(
        "  {{\n   \"cell_type\": \"markdown\",\n   \"id\": \"{id}\",\n   \"metadata\": {{}},\n   \"source\": [\n    \"x\"\n   ]\n  }},\n"
    );
    assert_eq!(
        with,
        PRETTY.replace(
            "  {\n   \"cell_type\": \"code\"",
            &format!("{new}  {{\n   \"cell_type\": \"code\"")
        )
    );
    // A second one of the same words has another id.
    let twice = notebook(&with).inserted(1, "x", CellType::Markdown).unwrap();
    assert_ne!(notebook(&twice).cells[1].id, notebook(&twice).cells[2].id);
    let one = notebook(COMPACT).deleted(0).unwrap();
    assert_eq!(notebook(&one).cells.len(), 0);
    let filled = notebook(&one).inserted(0, "y", CellType::Code).unwrap();
    assert_eq!(notebook(&filled).cells[0].source, "y");
    assert!(notebook(&filled).cells[0].id.is_none(), "version 4.4 has no ids");
}

#[test]
fn cells_are_found_by_id_and_by_index() {
    let notebook = notebook(PRETTY);
    for (name, expected) in [
        ("intro", Some(0)),
        ("calc", Some(1)),
        ("1", Some(1)),
        ("cell-0", Some(0)),
        ("2", None),
        ("cell-2", None),
        ("nothing", None),
        ("-1", None),
    ] {
        assert_eq!(notebook.find(name), expected, "{name}");
    }
}

#[test]
fn what_is_no_notebook_is_said() {
    for (text, why) in [
        ("", "not a valid notebook"),
        ("[]", "not a valid notebook"),
        ("{\"nbformat\": 3, \"worksheets\": []}", "not a notebook of format 4"),
        ("{\"nbformat\": 4}", "no cells"),
        ("{\"nbformat\": 4, \"cells\": {}}", "not a valid notebook"),
        ("{\"nbformat\": 4, \"cells\": [1]}", "not an object"),
        ("{\"nbformat\": 4, \"cells\": [{}]}", "no source"),
    ] {
        assert!(Notebook::parse(text).err().unwrap().contains(why), "{text}");
    }
}
