use super::*;
use crate::test_ground::ConfigGround;
use std::fs;
use std::os::unix::fs::PermissionsExt;

fn rule(text: &str, ground: &ConfigGround) -> Rule {
    let SettingsPlaces { cwd, user_home, tools, .. } = &ground.places;
    let anchors = Anchors { cwd, home: user_home, settings: cwd, tools };
    Rule::parse_at(text, anchors, Source { tier: Tier::Approval, ..Source::default() }).unwrap()
}

fn bound(ground: &ConfigGround) -> Bound {
    Bound {
        folder: ground.places.cwd.clone(),
        files: vec![
            (ground.path("ws/run.sh"), "ab".repeat(32)),
            (ground.path("ws/b"), "cd".into()),
        ],
    }
}

fn keep(ground: &ConfigGround, rules: &[Rule]) -> Result<(), String> {
    FileApprovals::new(ground.places.clone()).keep(rules)
}

fn approved(ground: &ConfigGround) -> Vec<Rule> {
    let allow = ground.load().policy.allow;
    allow.into_iter().filter(|rule| rule.source.tier == Tier::Approval).collect()
}

fn the_file(ground: &ConfigGround) -> PathBuf {
    file(&ground.places, &ground.path("ws"))
}

#[test]
fn what_is_kept_comes_back() {
    let ground = ConfigGround::new();
    let plain = rule("Bash(cargo test:*)", &ground);
    let files = rule("Edit(./src/**)", &ground);
    let mut tied = rule("Bash(./run.sh)", &ground);
    tied.bound = Some(bound(&ground));
    keep(&ground, &[plain.clone(), files.clone()]).unwrap();
    let stamped = FileApprovals::new(ground.places.clone()).stamped(|| "today".into());
    stamped.keep(&[tied.clone(), plain.clone()]).unwrap();

    let rules = approved(&ground);
    for (found, wanted) in rules.iter().zip([&plain, &files, &tied]) {
        assert_eq!(
            (found.text(), &found.tool, &found.matcher, &found.bound),
            (wanted.text(), &wanted.tool, &wanted.matcher, &wanted.bound)
        );
        assert_eq!(found.source.file, Some(the_file(&ground)));
    }
    assert_eq!(rules.len(), 3, "the same rule is kept once");
    let lines = std::fs::read_to_string(the_file(&ground)).unwrap();
    let line = lines.lines().nth(rules[2].source.line.unwrap() - 1).unwrap();
    assert!(line.contains("Bash(./run.sh)"), "{line}");

    let kept = list(&ground.places).unwrap();
    assert_eq!(
        kept.iter().map(|kept| kept.when.as_deref()).collect::<Vec<_>>(),
        [None, None, Some("today")]
    );
    assert_eq!(kept[2].bound, Some(bound(&ground)));
}

#[test]
fn it_is_kept_privately_and_outside_the_project() {
    let ground = ConfigGround::new();
    keep(&ground, &[rule("Bash(ls)", &ground)]).unwrap();
    let file = the_file(&ground);
    assert!(file.starts_with(ground.path("home/.ostler/projects")));
    let folder = file.parent().unwrap().file_name().unwrap().to_str().unwrap();
    assert!(folder.starts_with("ws-") && folder.len() == 11, "{folder}");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    let left: Vec<_> = fs::read_dir(file.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().ends_with(".new")), "{left:?}");
}

#[test]
fn a_project_has_its_own_approvals() {
    let mut ground = ConfigGround::new();
    keep(&ground, &[rule("Bash(ls)", &ground)]).unwrap();
    fs::create_dir_all(ground.path("out/ws")).unwrap();
    ground.places.project = ground.path("out/ws");
    assert!(approved(&ground).is_empty());
    ground.link("ws", "out/link");
    ground.places.project = ground.path("out/link");
    assert_eq!(approved(&ground).len(), 1);
}

#[test]
fn a_path_means_what_it_meant_and_a_bound_rule_stays_in_its_folder() {
    let mut ground = ConfigGround::new();
    let mut tied = rule("Bash(./run.sh)", &ground);
    tied.bound = Some(bound(&ground));
    let files = rule("Edit(./src/**)", &ground);
    keep(&ground, &[tied, files.clone()]).unwrap();
    fs::create_dir(ground.path("ws/sub")).unwrap();
    ground.places.cwd = ground.path("ws/sub");
    let rules = approved(&ground);
    assert_eq!(rules.len(), 1);
    assert_eq!(rules[0].matcher, files.matcher);
}

#[test]
fn a_rule_that_would_come_back_as_another_is_not_kept() {
    let ground = ConfigGround::new();
    let elsewhere = Anchors {
        cwd: Path::new("/elsewhere"),
        home: Path::new("/nobody"),
        settings: Path::new("/elsewhere"),
        tools: &ground.places.tools,
    };
    let foreign = Rule::parse_at("Edit(./src/**)", elsewhere, Source::default()).unwrap();
    let regex = Rule::regex("Bash", "ls", Source::default()).unwrap();
    let mut loose = rule("Bash(./x)", &ground);
    loose.bound = Some(Bound { folder: "relative".into(), files: Vec::new() });
    for rule in [foreign, regex, loose] {
        let said = keep(&ground, &[rule]).unwrap_err();
        assert!(
            said.contains("cannot be saved") && said.ends_with("to this session only"),
            "{said}"
        );
    }
    assert!(!the_file(&ground).exists());
}

#[test]
fn revoking_removes_exactly_that_rule() {
    let ground = ConfigGround::new();
    assert!(!revoke(&ground.places, "Bash(ls)").unwrap());
    assert!(!the_file(&ground).exists());
    keep(&ground, &[rule("Bash(ls)", &ground), rule("Bash(ls:*)", &ground)]).unwrap();
    assert!(!revoke(&ground.places, "Bash").unwrap());
    assert!(revoke(&ground.places, " Bash(ls) ").unwrap());
    assert!(!revoke(&ground.places, "Bash(ls)").unwrap());
    assert_eq!(approved(&ground).iter().map(Rule::text).collect::<Vec<_>>(), ["Bash(ls:*)"]);
}

#[test]
fn a_broken_file_stops_the_start_and_is_left_as_it_is() {
    let ground = ConfigGround::new();
    let mut tied = rule("Bash(./run.sh)", &ground);
    tied.bound = Some(bound(&ground));
    keep(&ground, &[tied]).unwrap();
    let file = the_file(&ground);
    let good = fs::read_to_string(&file).unwrap();
    let project = ground.path("ws").display().to_string();
    for (text, line, wanted) in [
        ("{\n".to_owned(), 2, "this is not JSON"),
        ("[]".to_owned(), 1, "the file must be an object"),
        ("{\"version\": 1}".to_owned(), 1, "\"project\" is missing"),
        (good.replace("\"version\": 1", "\"version\": 9"), 2, "unknown version 9"),
        (good.replace("\"version\": 1", "\"version\": \"1\""), 2, "version must be a whole number"),
        (
            good.replace(&format!("\"project\": \"{project}\""), "\"project\": \"/x\""),
            3,
            "another project",
        ),
        (good.replace("\"rules\": [", "\"rulez\": ["), 4, "unknown key \"rulez\""),
        (good.replace("\"rule\":", "\"role\":"), 6, "unknown key \"role\""),
        (good.replace("Bash(./run.sh)", "Bash("), 6, "is not a rule"),
        (good.replace("Bash(./run.sh)", "Bash(a\\u0007)"), 6, "invisible character"),
        (good.replace("\"Bash(./run.sh)\"", "7"), 6, "rule must be a string"),
        (
            good.replacen(&format!("\"folder\": \"{project}\""), "\"folder\": \"x\"", 1),
            7,
            "absolute",
        ),
        (good.replace("\"files\":", "\"filez\":"), 10, "unknown key \"filez\""),
        (good.replace(&"ab".repeat(32), "").replace("\"\"", "5"), 11, "a hash must be a string"),
    ] {
        fs::write(&file, &text).unwrap();
        let error = ground.try_load().expect_err(&text);
        assert_eq!((error.line, &error.file), (Some(line), &file), "{error}");
        assert!(error.what.contains(wanted), "{error}");
        assert!(
            revoke(&ground.places, "x").is_err() && list(&ground.places).is_err()
                || wanted == "is not a rule"
        );
        if wanted != "is not a rule" {
            assert!(keep(&ground, &[rule("Bash(ls)", &ground)]).is_err());
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
        fs::write(&file, &good).unwrap();
        if wanted == "is not a rule" {
            assert!(revoke(&ground.places, "Bash(./run.sh)").unwrap());
        }
    }
}

#[test]
fn a_bound_to_nothing_is_refused() {
    let ground = ConfigGround::new();
    let project = ground.path("ws");
    let project = project.display();
    for bound in ["{}".to_owned(), format!("{{\"folder\": \"{project}\", \"files\": {{}}}}")] {
        let text = format!(
            "{{\"version\": 1, \"project\": \"{project}\", \"rules\": [\n{{\"rule\": \"Bash(x)\", \"folder\": \"{project}\",\n\
             \"bound\": {bound}}}]}}"
        );
        let file = the_file(&ground);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(ground.try_load().unwrap_err().line, Some(3));
    }
}

#[test]
fn two_sessions_keep_both_their_rules() {
    let ground = ConfigGround::new();
    std::thread::scope(|scope| {
        for session in 0..4 {
            let ground = &ground;
            scope.spawn(move || {
                for n in 0..5 {
                    keep(ground, &[rule(&format!("Bash(run {session} {n})"), ground)]).unwrap();
                }
            });
        }
    });
    assert_eq!(approved(&ground).len(), 20);
}

#[test]
fn the_number_of_rules_is_bounded() {
    let ground = ConfigGround::new();
    let many: Vec<Rule> = (0..=MOST).map(|n| rule(&format!("Bash(x{n})"), &ground)).collect();
    assert!(keep(&ground, &many).unwrap_err().contains("more than 1000 rules; revoke some"));
    keep(&ground, &many[..MOST]).unwrap();
    assert_eq!(approved(&ground).len(), MOST);
}

proptest::proptest! {
    #[test]
    fn any_file_is_read_or_refused_with_a_line(text in crate::test_ground::jsonish()) {
        if let Err(error) = read(&text, Path::new("approvals.json"), Path::new("/ws")) {
            proptest::prop_assert!(error.line.is_some());
        }
    }
}
