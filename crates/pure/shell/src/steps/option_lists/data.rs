//! Databases, and languages for data. Not plain: commands of the client that start a shell or write files, start-up
//! files, changes in place.

use super::{LIST, OptionList, Style};

fn contains(text: &str, words: &[&str]) -> bool {
    let text = text.to_ascii_lowercase();
    words.iter().any(|word| text.contains(word))
}

/// A dot command, or SQL that reads or writes files or loads code.
fn of_sqlite(text: &str) -> bool {
    let dots = text.lines().any(|line| {
        let line = line.trim_start();
        line.starts_with('.') && !line.starts_with("./") && !line.starts_with("../") && line != "."
    });
    let reaches = [
        "load_extension",
        "writefile",
        "readfile",
        "edit(",
        "attach",
        "into '",
        "into \"",
        "copy ",
        "install ",
        "vacuum",
        "fsdir",
        "zipfile",
        "csv(",
        "glob(",
        "tokenizer",
        "export database",
        "from '",
        "read_",
    ];
    // Blanks may stand between a name and what it is given.
    let spaced: Vec<&str> = text.split_whitespace().collect();
    let (single, dense) = (spaced.join(" "), spaced.concat());
    dots || contains(&single, &reaches) || contains(&dense, &reaches)
}

/// A backslash begins a command of the client; a program runs on the server.
fn of_psql(text: &str) -> bool {
    text.contains('\\')
        || contains(text, &["program", "pg_read_file", "lo_import", "lo_export", "copy "])
}

fn of_mysql(text: &str) -> bool {
    text.contains('\\')
        || contains(
            text,
            &[
                "system",
                "source",
                "tee ",
                "pager",
                "outfile",
                "dumpfile",
                "load_file",
                "infile",
                "edit",
            ],
        )
}

/// Operators that read further files or the environment.
fn of_yq(text: &str) -> bool {
    let reaches = ["load", "env", "import", "include", "split_doc", "filename", "input", "system"];
    let is_file = [".yml", ".yaml", ".json"].iter().any(|end| text.ends_with(end));
    let is_program = text.contains(['(', '|', '$', '"', ' ']) || text.contains('.') && !is_file;
    contains(text, &reaches) && !text.starts_with('-') && is_program
}

fn of_redis(text: &str) -> bool {
    let word = text.to_ascii_lowercase();
    [
        "config",
        "eval",
        "evalsha",
        "module",
        "debug",
        "script",
        "slaveof",
        "replicaof",
        "flushall",
        "flushdb",
        "shutdown",
        "save",
        "bgsave",
        "migrate",
        "function",
        "acl",
    ]
    .contains(&word.as_str())
}

pub(super) static LISTS: &[OptionList] = &[
    OptionList {
        commands: &["sqlite3", "duckdb"],
        style: Style::OneDash,
        plain: "-header -noheader -csv -json -jsonlines -line -list -column -table -box -markdown -html -quote -tabs \
            -ascii -separator: -nullvalue: -newline: -readonly -bail -batch -echo -stats -safe -nofollow -version -help",
        refused: of_sqlite,
        least: 2,
        ..LIST
    },
    OptionList {
        commands: &["psql", "pgcli"],
        plain: "-wtAqxX1EeabnlHz0V -h: -p: -U: -d: -F: -R: -P: -T: -v: -c: --host= --port= --username= --dbname= \
            --tuples-only --no-align --quiet --expanded --no-psqlrc --single-transaction --list --csv --command= \
            --field-separator= --record-separator= --pset= --set= --variable= --echo-all --echo-errors --echo-queries \
            --echo-hidden --html --no-password --version --help",
        refused: of_psql,
        needs: &["-c", "--command", "-l", "--list", "-V", "--version", "--help"],
        ..LIST
    },
    OptionList {
        commands: &["mysql", "mariadb"],
        plain: "-NBstEHXvV -h: -P: -u: -p? -D: -e: --host= --port= --user= --password= --database= --execute= \
            --skip-column-names --batch --silent --table --vertical --html --xml --raw --protocol= --verbose --version \
            --help",
        refused: of_mysql,
        needs: &["-e", "--execute", "-V", "--version", "--help"],
        ..LIST
    },
    OptionList {
        commands: &[
            "pg_dump",
            "pg_dumpall",
            "pg_isready",
            "mysqldump",
            "mysqladmin",
            "createdb",
            "dropdb",
        ],
        plain: "-wsacOxvCbB -h: -p: -U: -d: -t: -n: -N: -T: -F: -Z: -u: -P: --host= --port= --username= --dbname= \
            --schema-only --data-only --no-owner --no-privileges --no-acl --clean --if-exists --create --inserts \
            --table= --schema= --exclude-table= --format= --no-password --quiet --single-transaction --no-data \
            --user= --version --help",
        ..LIST
    },
    OptionList {
        commands: &["redis-cli", "valkey-cli"],
        style: Style::OneDash,
        plain: "-h: -p: -n: -a: -u: -r: -i: -3 -c -e --raw --no-raw --csv --json --user: --pass: --scan --pattern: \
            --no-auth-warning --bigkeys --version --help",
        refused: of_redis,
        least: 1,
        ..LIST
    },
    OptionList {
        commands: &["yq", "xq", "tomlq"],
        plain: "-ryYcneMCPjNSaA0 -o: -p: -I: --raw-output --yaml-output --yaml-roundtrip --json-output --compact-output \
            --null-input --exit-status --no-colors --colors --prettyPrint --output-format= --input-format= --indent= \
            --no-doc --unwrapScalar= --tojson --sort-keys --version --help",
        refused: of_yq,
        ..LIST
    },
    OptionList {
        commands: &[
            "gojq", "jaq", "dasel", "jless", "fx", "mlr", "xsv", "qsv", "csvcut", "csvlook",
            "csvgrep",
        ],
        plain: "-rcneSMCsjaJ -d: -f: -p: -w: -r: --raw-output --compact-output --null-input --slurp --exit-status --icsv \
            --ojson --ijson --ocsv --opprint --c2p --c2j --from= --version --help",
        ..LIST
    },
    OptionList {
        commands: &["xmllint"],
        style: Style::OneDash,
        plain: "-noout -format -xpath: -nonet -recover -valid -wellformed -pretty: -encode: -html -huge -quiet -c14n \
            -nowarning -version",
        ..LIST
    },
    OptionList {
        commands: &["xsltproc"],
        style: Style::OneDash,
        plain: "-nonet -novalid -version -nowrite",
        ..LIST
    },
];
