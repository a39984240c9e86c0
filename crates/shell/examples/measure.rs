use std::time::Instant;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let n: usize = args[2].parse().unwrap();
    let stack: usize = args[3].parse().unwrap();
    let text = match args[1].as_str() {
        "brace" => format!("{}ls{}", "{ ".repeat(n), "; }".repeat(n)),
        "paren" => format!("{}ls{}", "( ".repeat(n), " )".repeat(n)),
        "parensemi" => format!("{}ls;pwd{}", "( ".repeat(n), " )".repeat(n)),
        "parenopen" => "( ".repeat(n),
        "case" => format!("{}ls{}", "case a in a) ".repeat(n), " ; esac".repeat(n)),
        "if" => format!("{}ls{}", "if ls; then ".repeat(n), " ; fi".repeat(n)),
        "while" => format!("{}ls{}", "while ls; do ".repeat(n), " ; done".repeat(n)),
        "ifcond" => format!("{}ls{}", "if ".repeat(n), " ; then ls; fi".repeat(n)),
        "func" => format!("{}ls{}", "f() { ".repeat(n), " ; }".repeat(n)),
        "func2" => format!("{}ls{}", "function f { ".repeat(n), " ; }".repeat(n)),
        "coproc" => format!("{}ls", "coproc ".repeat(n)),
        "testnot" => format!("[[ {} a ]]", "! ".repeat(n)),
        "testand" => format!("[[ {} a ]]", "a && ".repeat(n)),
        "testor" => format!("[[ {} a ]]", "a && a || ".repeat(n)),
        "testparen" => format!("[[ {} a {} ]]", "( ".repeat(n), ") ".repeat(n)),
        "procsub" => format!("{}ls{}", "cat <(".repeat(n), ")".repeat(n)),
        "sub" => format!("echo {}ls{}", "$(".repeat(n), ")".repeat(n)),
        "subq" => format!("echo {}ls{}", "\"$(".repeat(n), ")\"".repeat(n)),
        "param" => format!("echo {}x{}", "${a:-".repeat(n), "}".repeat(n)),
        "arith" => format!("echo {}x{}", "$((".repeat(n), "))".repeat(n)),
        "flat" => "git status; ".repeat(n),
        "flatw" => format!("ls {}", "a ".repeat(n)),
        "and" => format!("{}ls", "ls && ".repeat(n)),
        "bad" => format!("{} )", "ls a b c;".repeat(n)),
        _ => panic!(),
    };
    let raw = args.get(4).is_some();
    let h = std::thread::Builder::new().stack_size(stack * 1024).spawn(move || {
        let t = Instant::now();
        let r = if raw {
            let o = brush_parser::ParserOptions { enable_extended_globbing: false, ..Default::default() };
            match brush_parser::uncached_tokenize_str(&text, &o.tokenizer_options()) {
                Ok(tokens) => match brush_parser::parse_tokens(&tokens, &o) { Ok(p) => { drop(p); "ok".to_string() } Err(e) => e.to_string() },
                Err(e) => e.to_string(),
            }
        } else {
            match ostler_shell::parse(&text) { Ok(_) => "ok".into(), Err(e) => e.to_string() }
        };
        println!("{r} {:?} len {}", t.elapsed(), text.len());
    }).unwrap();
    h.join().unwrap();
}
