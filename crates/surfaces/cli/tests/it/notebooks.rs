//! Notebooks: read as cells, changed cell by cell, and undone like every other file.

use crate::support::World;
use ostler_model_server::{Script, calls, text};
use serde_json::{Value, json};

const NOTEBOOK: &str = r#"{
 "cells": [
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "calc",
   "metadata": {},
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": [
      "old output\n"
     ]
    }
   ],
   "source": [
    "print(1)"
   ]
  }
 ],
 "metadata": {},
 "nbformat": 4,
 "nbformat_minor": 5
}
"#;

fn edit(input: Value) -> (&'static str, Value) {
    let mut call = json!({"notebook_path": "a.ipynb"});
    call.as_object_mut().unwrap().extend(input.as_object().unwrap().clone());
    ("NotebookEdit", call)
}

#[test]
fn a_cell_is_changed_after_it_was_read_and_the_change_can_be_undone() {
    let replace = || edit(json!({"cell_id": "calc", "new_source": "print(2)"}));
    let script = Script::new()
        .answer(calls([replace()]))
        .answer(calls([("Read", json!({"file_path": "a.ipynb"}))]))
        .answer(calls([replace()]))
        .answer(calls([edit(json!({"cell_id": "9", "new_source": "", "edit_mode": "delete"}))]))
        .answer(text("Done."));
    let world = World::new(script);
    world.file("a.ipynb", NOTEBOOK);
    let before = world.read("a.ipynb");
    let ran = world.run(&["-p", "go", "--permission-mode", "acceptEdits"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let requests = world.server.requests();
    let result = |n: usize| {
        requests[n].tool_results().last().unwrap()["content"].as_str().unwrap().to_owned()
    };
    assert!(result(1).contains("you have not read it"), "{}", result(1));
    let cells = result(2);
    assert!(
        cells.contains("<cell index=\"0\" id=\"calc\" type=\"code\">\nprint(1)\n</cell>"),
        "{cells}"
    );
    assert!(cells.contains("<output>\nold output\n</output>"), "{cells}");
    assert!(result(3).contains("Replaced cell 0 of a.ipynb"), "{}", result(3));
    assert!(result(4).contains("there is no cell \"9\""), "{}", result(4));
    let after = world.read("a.ipynb");
    assert!(after.contains("print(2)") && !after.contains("old output"), "{after}");
    assert!(after.contains("   \"execution_count\": null,\n") && after.ends_with("}\n"), "{after}");
    let undone = world.run(&["undo", "--yes"]);
    assert_eq!((undone.code, world.read("a.ipynb")), (Some(0), before), "{}", undone.stderr);
}

/// The same rules as for every tool that changes files.
#[test]
fn rules_on_edits_cover_notebooks() {
    let create = edit(json!({"new_source": "x", "edit_mode": "insert"}));
    let world = World::new(Script::new().answer(calls([create])).answer(text("Done.")));
    world.file("a.ipynb", r#"{"cells":[],"metadata":{},"nbformat":4,"nbformat_minor":5}"#);
    world.run(&[
        "-p",
        "go",
        "--permission-mode",
        "acceptEdits",
        "--disallowedTools",
        "Edit(*.ipynb)",
    ]);
    let result = world.server.requests()[1].tool_results()[0]["content"].to_string();
    assert!(result.contains("the deny rule Edit(*.ipynb) covers it"), "{result}");
}
