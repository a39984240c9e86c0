//! The list, and what becomes of it when there is not enough room.

use super::*;
use crate::expansion::tests::skill;
use proptest::prelude::*;

fn named(name: &str, description: &str) -> Skill {
    Skill { name: name.into(), description: description.into(), ..skill("x") }
}

fn of(skills: &[Skill], budget: usize) -> String {
    listing(skills.iter(), budget)
}

#[test]
fn one_line_each() {
    let mut second = named("b", "Does b.");
    second.when_to_use = Some("When b.".into());
    second.paths = vec!["*.rs".into()];
    let skills = [named("a", "Does a."), second, named("c", "")];
    assert_eq!(of(&skills, 8000), "- a: Does a.\n- b: Does b. When b. (for *.rs)\n- c");
    assert_eq!(of(&[], 8000), "");
}

#[test]
fn one_skill_does_not_take_it_all() {
    let long = named("a", &"ä".repeat(4000));
    assert_eq!(of(&[long], 8000).chars().count(), 1536);
}

#[test]
fn too_much_is_shortened_longest_first_then_names_then_fewer() {
    let skills = [
        named("long", &"x".repeat(1000)),
        named("short", "Brief."),
        named("more", &"y".repeat(900)),
    ];
    let tight = of(&skills, 400);
    assert!(tight.chars().count() <= 400, "{tight}");
    assert!(tight.contains("- short: Brief.\n"), "what is short stays whole: {tight}");
    assert!(tight.matches("xx…").count() == 1 && tight.matches("yy…").count() == 1, "{tight}");
    let rows: Vec<usize> = tight.lines().map(|line| line.chars().count()).collect();
    assert!(rows[0].abs_diff(rows[2]) <= 1, "{rows:?}");
    assert_eq!(of(&skills, 60), "- long\n- short\n- more");
    assert_eq!(of(&skills, 21), "- long\n- and 2 more");
    assert_eq!(of(&skills, 3), "- and 3 more", "the rest is always said");
}

proptest! {
    #[test]
    fn never_more_than_the_budget(
        rows in prop::collection::vec(("[a-z]{1,20}", ".{0,200}"), 0..40),
        budget in 30usize..4000,
    ) {
        let skills: Vec<Skill> = rows.iter().map(|(name, text)| named(name, &text.replace('\n', " "))).collect();
        let text = of(&skills, budget);
        prop_assert!(text.chars().count() <= budget, "{}", text);
        let all = text.lines().count() == skills.len();
        prop_assert!(all || text.contains(" more"));
    }
}
